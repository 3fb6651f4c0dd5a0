/* Moves and pads rows of several tensors with one kernel, before and after each pass of a runner: a copy for each
 * tensor would cost more than one launch. */
#ifndef BG_KERNELS_ROWS_H
#define BG_KERNELS_ROWS_H
#include <cuda_runtime_api.h>
#ifdef __cplusplus
extern "C" {
#endif

/* How the bytes after the copied ones are filled. */
typedef enum bgk_tail { BGK_TAIL_PATTERN, BGK_TAIL_REPEAT } bgk_tail;

/* target[0 .. copied) = source[0 .. copied), then the tail: either the 8 bytes of pattern, again and again, beginning
 * at each multiple of 8 of the target (an element's size divides 8, so each element gets the pattern's first bytes), or
 * the last copied row, again and again. If nothing is copied, source may be NULL: a tail that repeats then repeats the
 * row before target + copied. The device can access both; they do not overlap; target is aligned to an element's size.
 */
typedef struct bgk_rows {
    void *target;
    const void *source;
    size_t copied, tail; /* bytes */
    size_t row;          /* bytes of one row; used by BGK_TAIL_REPEAT */
    unsigned long long pattern;
    bgk_tail kind;
    unsigned nothing; /* 0: leaves no undefined bytes in a kernel's parameter */
} bgk_rows;

enum { BGK_ROWS_MAX = 16 };

/* Does all moves, 1 to BGK_ROWS_MAX, in one launch. The array is copied. cudaErrorInvalidValue for another count. */
cudaError_t bgk_move_rows(const bgk_rows *moves, int count, cudaStream_t stream);

/* Returns the width of the grid, to change a kernel node that bgk_move_rows left in a capture. Its grid is count high;
 * its one parameter is an array of at most BGK_ROWS_MAX moves, of which those after the count-th are zero. */
unsigned bgk_rows_blocks(const bgk_rows *moves, int count);

#ifdef __cplusplus
}
#endif
#endif
