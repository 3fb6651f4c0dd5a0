/* Probes what a kernel has written: nodes of the graph itself count in memory as it runs. */
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

/* Adds to *result, in device memory, a digest of x, and the NaN and infinities among its elements. format: a bgk_float;
 * BGK_NO_FLOATS counts none. x may begin within a word of 8 bytes: the bytes before it are read, but not counted.
 * cudaErrorInvalidValue for bytes = 0 and for an unknown format. */
cudaError_t bgk_probe_memory(bgk_probe *result, const void *x, size_t bytes, int format, cudaStream_t stream);

/* Ends a turn: moves the results into the turn's row in ring, which has `rows` of them, sets the results to 0, and
 * counts the turn in *turns, in device memory, and then in *told. ring and *told are in host memory that the device can
 * access: the rows of turns that *told counts are complete. */
cudaError_t bgk_probe_end(bgk_probe *ring, size_t rows, unsigned long long *told, bgk_probe *results, size_t count,
                          unsigned long long *turns, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
