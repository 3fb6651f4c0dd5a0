/* Kernels that divide by zero. */
#ifndef DIVISION_KERNELS_H
#define DIVISION_KERNELS_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One block of `count` threads: out[2 * i] = x[i] / by[i], out[2 * i + 1] = x[i] % by[i]. */
cudaError_t dk_int(int *out, const int *x, const int *by, unsigned count, cudaStream_t stream);
cudaError_t dk_unsigned(unsigned *out, const unsigned *x, const unsigned *by, unsigned count, cudaStream_t stream);
cudaError_t dk_long(long long *out, const long long *x, const long long *by, unsigned count, cudaStream_t stream);
cudaError_t dk_unsigned_long(unsigned long long *out, const unsigned long long *x, const unsigned long long *by,
                             unsigned count, cudaStream_t stream);
cudaError_t dk_short(short *out, const short *x, const short *by, unsigned count, cudaStream_t stream);
cudaError_t dk_byte(unsigned char *out, const unsigned char *x, const unsigned char *by, unsigned count,
                    cudaStream_t stream);

/* One block of 64 threads, which share the divisor: out[i] = i / by, over a barrier. */
cudaError_t dk_shared(int *out, int by, cudaStream_t stream);

/* Only where the processor raises a signal: every form of the instruction divides by 0. out[i] is 1 where the i-th did
 * as it should, in registers and after it. Else, and on a GPU, 0 forms. */
int dk_form_count(void);
cudaError_t dk_forms(int *out, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
