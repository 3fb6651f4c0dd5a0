/* Launchers of the kernels in hostcuda_kernels.cu. All arrays are device memory. */
#ifndef HOSTCUDA_KERNELS_TEST_H
#define HOSTCUDA_KERNELS_TEST_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* out[i] = what thread i of one warp (or fewer threads) got */
cudaError_t hk_shuffles(int *out, unsigned threads, cudaStream_t stream); /* 7 x threads */
cudaError_t hk_partial_masks(int *out, cudaStream_t stream);              /* 64 */
cudaError_t hk_exited_lanes(int *out, cudaStream_t stream);               /* 64 */
cudaError_t hk_votes(unsigned *out, cudaStream_t stream);                 /* 4 x 32 */
cudaError_t hk_warps_and_barriers(int *out, unsigned threads, unsigned blocks, cudaStream_t stream);
cudaError_t hk_barrier_after_exit(int *out, cudaStream_t stream); /* 96 */
cudaError_t hk_barrier_votes(int *out, cudaStream_t stream);      /* 3 x 100 */
cudaError_t hk_shared(float *sums, const float *values, unsigned threads, unsigned blocks, cudaStream_t stream);
cudaError_t hk_dynamic_shared(int *out, unsigned ints, cudaStream_t stream); /* reverses 0..ints-1 */
cudaError_t hk_allow_dynamic_shared(unsigned bytes);
cudaError_t hk_atomics(int *ints, unsigned *words, unsigned long long *longs, float *floats, double *doubles,
                       cudaStream_t stream);
cudaError_t hk_lock(int *lock_and_count, cudaStream_t stream); /* 2 */
cudaError_t hk_indices(int *out, dim3 grid, dim3 block, cudaStream_t stream);
cudaError_t hk_bf16(float *out, float a, float b, float c, cudaStream_t stream); /* 8 */
cudaError_t hk_intrinsics(float *out, cudaStream_t stream);                      /* 12 */
struct hk_pair {
    char tag;
    double value;
};
cudaError_t hk_parameters(double *out, char a, double b, short c, struct hk_pair d, cudaStream_t stream); /* 5 */
const void *hk_parameters_function(void);
cudaError_t hk_empty(dim3 grid, dim3 block, unsigned shared_bytes, cudaStream_t stream);
cudaError_t hk_deadlock_barrier(unsigned threads, cudaStream_t stream);
cudaError_t hk_deadlock_warp(cudaStream_t stream);
cudaError_t hk_trap(cudaStream_t stream);
cudaError_t hk_spin(int *flag, cudaStream_t stream); /* until *flag is not 0: by a block that never comes */

#ifdef __cplusplus
}
#endif

#endif
