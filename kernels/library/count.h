/* Counts NaN and infinities. */
#ifndef BG_KERNELS_COUNT_H
#define BG_KERNELS_COUNT_H
#include <cuda_runtime_api.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef enum bgk_float { BGK_F32, BGK_F64, BGK_F16, BGK_BF16 } bgk_float;

typedef struct bgk_specials {
    unsigned long long nan, inf;             /* how many elements */
    unsigned long long first_nan, first_inf; /* the lowest index */
    unsigned long long positive_inf;         /* how many of inf are positive */
    unsigned long long numbers;              /* not 0: some elements are finite, and not 0 */
} bgk_specials;

/* The initial value of *result for bgk_count_specials. */
#define BGK_SPECIALS_NONE                                                                                              \
    {                                                                                                                  \
        0, 0, ~0ull, ~0ull, 0, 0                                                                                       \
    }

/* Adds the NaN and infinities in x to *result, in device memory: n elements, aligned to an element's size.
 * cudaErrorInvalidValue for n = 0 and for an unknown format. */
cudaError_t bgk_count_specials(bgk_specials *result, const void *x, size_t n, bgk_float format, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
