/* Rows of several tensors moved and padded by one kernel: what a runner does before and after each pass, where a copy
 * of its own for each tensor would cost more than the launch of all. */
#ifndef BG_KERNELS_ROWS_H
#define BG_KERNELS_ROWS_H
#include <cuda_runtime_api.h>
#ifdef __cplusplus
extern "C" {
#endif

/* How the bytes after the copied ones are filled. */
typedef enum bgk_tail { BGK_TAIL_PATTERN, BGK_TAIL_REPEAT } bgk_tail;

/* target[0 .. copied) = source[0 .. copied), then the tail: the 8 bytes of pattern over and over, from its first byte
 * at each multiple of 8 of the target (an element's size divides 8, so that each element gets the pattern's first
 * bytes), or the last row that was copied, again and again. source may be NULL where nothing is copied: a tail that
 * repeats then repeats the row before target + copied as it is. Both lie in memory that the device reaches, and do not
 * overlap; target's alignment is an element's. */
typedef struct bgk_rows {
    void *target;
    const void *source;
    size_t copied, tail; /* bytes */
    size_t row;          /* bytes of one row; used by BGK_TAIL_REPEAT */
    unsigned long long pattern;
    bgk_tail kind;
    unsigned nothing; /* 0: a kernel's parameter has no bytes that nobody sets */
} bgk_rows;

enum { BGK_ROWS_MAX = 16 };

/* All moves, 1 to BGK_ROWS_MAX, in one launch. The array is copied. cudaErrorInvalidValue for another count. */
cudaError_t bgk_move_rows(const bgk_rows *moves, int count, cudaStream_t stream);

/* To change the kernel node that bgk_move_rows left in a capture: its one parameter is an array of moves, no longer
 * than BGK_ROWS_MAX, of which those after the count-th are zero; its grid is this wide, and count high. */
unsigned bgk_rows_blocks(const bgk_rows *moves, int count);

#ifdef __cplusplus
}
#endif
#endif
