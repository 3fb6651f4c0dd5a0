/* Compares two arrays that should hold the same. */
#ifndef BG_KERNELS_COMPARE_H
#define BG_KERNELS_COMPARE_H
#include <cuda_runtime_api.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef enum bgk_element {
    BGK_ELEMENT_F32,
    BGK_ELEMENT_F64,
    BGK_ELEMENT_F16,
    BGK_ELEMENT_BF16,
    BGK_ELEMENT_I8,
    BGK_ELEMENT_U8,
    BGK_ELEMENT_I32,
    BGK_ELEMENT_I64
} bgk_element;

/* An element passes if it is within any of the three. All 0: only the same bits pass. */
typedef struct bgk_tolerance {
    double absolute, relative; /* |a - b|, and that by |a| */
    unsigned long long ulp;    /* steps from one number of the format to the next; of integers, |a - b| */
} bgk_tolerance;

typedef struct bgk_difference {
    unsigned long long differing; /* elements whose bits differ */
    unsigned long long beyond;    /* of those, beyond the tolerance */
    unsigned long long first;     /* the lowest index of these; ~0: there is none */
    unsigned long long nan[2], inf[2];
    unsigned long long digest[2]; /* of bits and indices, in any order */
    /* The largest among elements that differ and are finite in both. */
    double absolute, relative;
    unsigned long long ulp;
    unsigned long long lost; /* elements that differ and are not finite in one: no tolerance lets them pass, unless both
                              * are NaN */
} bgk_difference;

/* The initial value of *result for bgk_compare. */
#define BGK_DIFFERENCE_NONE                                                                                            \
    {                                                                                                                  \
        .first = ~0ull                                                                                                 \
    }

/* Adds the differences of b from a to *result, in device memory: n elements each, aligned to an element's size.
 * cudaErrorInvalidValue for n = 0 and for an unknown element. */
cudaError_t bgk_compare(bgk_difference *result, const void *a, const void *b, size_t n, bgk_element element,
                        const bgk_tolerance *tolerance, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
