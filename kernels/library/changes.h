/* What a kernel has changed in memory whose element type is unknown: the bits are read as numbers of every
 * floating-point format. */
#ifndef BG_KERNELS_CHANGES_H
#define BG_KERNELS_CHANGES_H
#include <cuda_runtime_api.h>

#include "count.h"
#ifdef __cplusplus
extern "C" {
#endif

enum { BGK_FLOATS = BGK_BF16 + 1 };

/* Elements of one format, by what their bits are. Zeros and the largest finite number, with which masks are filled, are
 * not counted. */
typedef struct bgk_words {
    unsigned long long nan; /* as hardware and libraries write it: quiet, with the first bit of the fraction or all */
    unsigned long long other_nan; /* with other bits, as -1 and packed bits have */
    unsigned long long inf;
    unsigned long long positive, negative;                    /* of a magnitude that is common in computations */
    unsigned long long odd;                                   /* of another magnitude, as small integers have */
    unsigned long long first_nan, first_inf, first_other_nan; /* the lowest index */
} bgk_words;

typedef struct bgk_changes {
    bgk_words words[BGK_FLOATS];   /* of the elements that changed, by bgk_float */
    unsigned long long first, end; /* all changed bytes are in [first, end); first is ~0 if none has changed */
} bgk_changes;

/* NaN and infinities whose 256 bytes look like numbers of the format. */
typedef struct bgk_suspects {
    unsigned long long nan[BGK_FLOATS], inf[BGK_FLOATS];
    unsigned long long first_nan[BGK_FLOATS], first_inf[BGK_FLOATS]; /* the lowest index; ~0: none */
} bgk_suspects;

/* Adds the differences of now from before to *result, in device memory, which must start as bgk_changes_none(). Both
 * begin at a multiple of 8. cudaErrorInvalidValue for bytes = 0. */
cudaError_t bgk_count_changes(bgk_changes *result, const void *now, const void *before, size_t bytes,
                              cudaStream_t stream);
bgk_changes bgk_changes_none(void);

/* Adds the suspects in x to *result, in device memory, which must start as bgk_suspects_none(). x begins at a multiple
 * of 8. known: the formats that x is known to have, as bits 1 << bgk_float. Halves of wider numbers look like numbers
 * of 16 bits, so these need more common numbers around them if the format is not known. */
cudaError_t bgk_find_suspects(bgk_suspects *result, const void *x, size_t bytes, unsigned known, cudaStream_t stream);
bgk_suspects bgk_suspects_none(void);

#ifdef __cplusplus
}
#endif
#endif
