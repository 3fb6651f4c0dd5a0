/* Kernels of planted faults. y: n floats, counter: an int, all on the device. */
#ifndef LLAMA_FAULT_KERNELS_H
#define LLAMA_FAULT_KERNELS_H
#include <cuda_runtime_api.h>
#ifdef __cplusplus
extern "C" {
#endif

/* y *= factor where *counter is not `expected`, which a graph freezes. */
cudaError_t llama_fault_scale_unless_expected(float *y, float factor, size_t n, const int *counter, int expected,
                                              cudaStream_t stream);
/* ++*counter, and y *= a factor from 1 to 2 that depends on *counter and so differs each time. */
cudaError_t llama_fault_scale_by_count(float *y, size_t n, int *counter, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
