/* What a kernel has written, looked at within a graph: nodes that count in memory as the graph runs. */
#ifndef BG_KERNELS_PROBE_H
#define BG_KERNELS_PROBE_H
#include <cuda_runtime_api.h>

#include "count.h"
#ifdef __cplusplus
extern "C" {
#endif

/* Begins as zeros. */
typedef struct bgk_probe {
    unsigned long long digest, nan, inf;
} bgk_probe;

enum { BGK_NO_FLOATS = -1 };

/* Adds to *result, in device memory, a digest of x, and the NaN and infinities among its elements of that format, a
 * bgk_float; BGK_NO_FLOATS counts none. x may begin within a word of 8 bytes, whose first bytes are then read and not
 * looked at. cudaErrorInvalidValue for bytes = 0 and for a format that is none. */
cudaError_t bgk_probe_memory(bgk_probe *result, const void *x, size_t bytes, int format, cudaStream_t stream);

/* Ends a turn: moves the results into the row of the turn in ring, which has `rows` of them, sets the results to 0,
 * and counts the turn in *turns, in device memory, and then in *told. ring and *told lie in memory of the host that the
 * device can reach: what *told counts is there. */
cudaError_t bgk_probe_end(bgk_probe *ring, size_t rows, unsigned long long *told, bgk_probe *results, size_t count,
                          unsigned long long *turns, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
