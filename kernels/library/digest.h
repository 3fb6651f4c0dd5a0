/* Digests of memory, page by page: which of its pages have changed. */
#ifndef BG_KERNELS_DIGEST_H
#define BG_KERNELS_DIGEST_H
#include <cuda_runtime_api.h>
#ifdef __cplusplus
extern "C" {
#endif

/* Adds to digests[i], in device memory, which begins as 0, a digest of the i-th page of x; the last page may be
 * shorter. x begins at a multiple of 8, and so does each page. Memory with the same bytes has the same digest; of pages
 * that differ, two have the same one by an accident of 2^-64. cudaErrorInvalidValue for bytes = 0, and for a page of no
 * bytes or not of whole words of 8. */
cudaError_t bgk_digest_pages(unsigned long long *digests, const void *x, size_t bytes, size_t page,
                             cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
