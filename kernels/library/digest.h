/* Digests of memory, page by page: which of its pages have changed. */
#ifndef BG_KERNELS_DIGEST_H
#define BG_KERNELS_DIGEST_H
#include <cuda_runtime_api.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Adds a digest of the i-th page of x to digests[i], in device memory, which must start as 0; the last page may be
 * shorter. x and page are multiples of 8. Pages with the same bytes have the same digest; two pages that differ have
 * the same one with a probability of 2^-64. cudaErrorInvalidValue for bytes = 0, and for a page of 0 bytes or not a
 * multiple of 8. */
cudaError_t bgk_digest_pages(unsigned long long *digests, const void *x, size_t bytes, size_t page,
                             cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
