/* What a kernel has changed in memory, where nothing is known of the elements' type: the bits are looked at as numbers
 * of every floating-point format at once. */
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
    unsigned long long other_nan; /* of other bits, as -1 and packed bits are */
    unsigned long long inf;
    unsigned long long positive, negative;                    /* of a magnitude that is common in computations */
    unsigned long long odd;                                   /* of another one, as small integers are */
    unsigned long long first_nan, first_inf, first_other_nan; /* the lowest index */
} bgk_words;

typedef struct bgk_changes {
    bgk_words words[BGK_FLOATS];   /* of the elements that changed, by bgk_float */
    unsigned long long first, end; /* all changed bytes are in [first, end); first is ~0 where none has changed */
} bgk_changes;

/* NaN and infinities whose 256 bytes look like numbers of the format. */
typedef struct bgk_suspects {
    unsigned long long nan[BGK_FLOATS], inf[BGK_FLOATS];
    unsigned long long first_nan[BGK_FLOATS], first_inf[BGK_FLOATS]; /* the lowest index; ~0: none */
} bgk_suspects;

/* Adds to *result, in device memory, which begins as bgk_changes_none(), how now differs from before. Both begin at a
 * multiple of 8. cudaErrorInvalidValue for bytes = 0. */
cudaError_t bgk_count_changes(bgk_changes *result, const void *now, const void *before, size_t bytes,
                              cudaStream_t stream);
bgk_changes bgk_changes_none(void);

/* Adds to *result, in device memory, which begins as bgk_suspects_none(), what is in x, which begins at a multiple
 * of 8. known: formats, as bits 1 << bgk_float, that x is known to have: halves of other numbers look like numbers of
 * 16 bits, and these must have more common ones around them where nobody knows. */
cudaError_t bgk_find_suspects(bgk_suspects *result, const void *x, size_t bytes, unsigned known, cudaStream_t stream);
bgk_suspects bgk_suspects_none(void);

#ifdef __cplusplus
}
#endif
#endif
