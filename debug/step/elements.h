/* Which type the elements have that a kernel writes, as far as its name says, and whether bits are NaN of a type.
 * Integers are never called NaN: -1, the largest integer and packed bits are NaN patterns, too. */
#ifndef BG_DEBUG_STEP_ELEMENTS_H
#define BG_DEBUG_STEP_ELEMENTS_H

#include <breakgraph/tensor.h>

#include "base/base.h"
#include "kernels/library/changes.h"

typedef enum bg__element_source {
    BG__ELEMENTS_UNKNOWN,
    BG__ELEMENTS_NAMED,   /* the name has these types; which parameter has which is unknown */
    BG__ELEMENTS_CERTAIN, /* the parameter is a pointer to this one */
    BG__ELEMENTS_OTHER    /* no floating-point type */
} bg__element_source;

typedef struct bg__elements {
    bg__element_source source;
    unsigned formats; /* 1 << bgk_float */
    bg_dtype dtype;   /* of a pointer to a type that has one; else BG_U8 */
    bool read_only;   /* the pointer is to const */
} bg__elements;

/* name: demangled or not; NULL: unknown. parameter: the index among `count` ones; -1: unknown. */
bg__elements bg__elements_of(const char *name, int parameter, int count);

/* How many of these changed words are NaN, and the first: of a type that is certain, of any bits. */
unsigned long long bg__elements_nan(const bg__elements *elements, const bgk_words *words, unsigned long long *first);
/* Whether these changed words are NaN (or infinities) of the format. */
bool bg__elements_hold(const bg__elements *elements, const bgk_words *words, bgk_float format, bool nan);
/* The first format in which they are. false: in none. */
bool bg__elements_find(const bg__elements *elements, const bgk_changes *changes, bool nan, bgk_float *format);

/* Of the changed elements, as far as it is known; else BG_U8. */
bg_dtype bg__elements_dtype(const bg__elements *elements, const bgk_changes *changes);

/* "f32"; where types are unknown, those of 16 bits are "f16 or bf16". */
const char *bg__elements_text(const bg__elements *elements, bgk_float format);
size_t bg__float_bytes(bgk_float format);

#endif
