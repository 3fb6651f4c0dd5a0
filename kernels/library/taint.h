/* Which bytes depend on a pattern that memory was filled with. */
#ifndef BG_KERNELS_TAINT_H
#define BG_KERNELS_TAINT_H
#include <cuda_runtime_api.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef struct bgk_taint {
    unsigned long long count, first; /* bytes, and the lowest index; ~0: none */
} bgk_taint;

/* Adds to *result, in device memory, which must start as {0, ~0}, the bytes that differ between one and other, except
 * those that both still have from the start: one began as the 8 bytes of pattern, again and again, other as 0.
 * cudaErrorInvalidValue for bytes = 0. */
cudaError_t bgk_count_taint(bgk_taint *result, const void *one, const void *other, unsigned long long pattern,
                            size_t bytes, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
