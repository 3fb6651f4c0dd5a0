/* Finds the type of the elements that a kernel writes from the kernel's name, and whether bits are NaN of a type.
 * Integers are never called NaN, although -1, the largest integer and packed bits are NaN patterns, too. */
#ifndef BG_DEBUG_STEP_ELEMENTS_H
#define BG_DEBUG_STEP_ELEMENTS_H

#include <breakgraph/tensor.h>

#include "base/base.h"
#include "kernels/library/changes.h"

typedef enum bg__element_source {
    BG__ELEMENTS_UNKNOWN,
    BG__ELEMENTS_NAMED,   /* the name has these types, for unknown parameters */
    BG__ELEMENTS_CERTAIN, /* the parameter is a pointer to this type */
    BG__ELEMENTS_OTHER    /* not a floating-point type */
} bg__element_source;

typedef struct bg__elements {
    bg__element_source source;
    unsigned formats; /* 1 << bgk_float */
    bg_dtype dtype;   /* of the type that the pointer points to; BG_U8: unknown */
    bool read_only;   /* the pointer is to const */
} bg__elements;

/* name: demangled or not; NULL: unknown. parameter: the index among count parameters; -1: unknown. */
bg__elements bg__elements_parse(const char *name, int parameter, int count);

/* Returns how many of these changed words are NaN. *first: the first one. If the type is certain, all NaN count. */
unsigned long long bg__elements_nan(const bg__elements *elements, const bgk_words *words, unsigned long long *first);
/* Whether these changed words are NaN (or infinities) of the format. */
bool bg__elements_contain(const bg__elements *elements, const bgk_words *words, bgk_float format, bool nan);
/* Finds the first format in which the changed words are NaN or infinities. Returns false if there is none. */
bool bg__elements_find(const bg__elements *elements, const bgk_changes *changes, bool nan, bgk_float *format);

/* Returns the type of the changed elements; BG_U8: unknown. */
bg_dtype bg__elements_dtype(const bg__elements *elements, const bgk_changes *changes);

/* Returns "f32" and so on; "f16 or bf16" for 16 bits if the types are unknown. */
const char *bg__elements_text(const bg__elements *elements, bgk_float format);
size_t bg__float_bytes(bgk_float format);

#endif
