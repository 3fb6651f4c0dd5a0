/* Values of arguments and of nodes' parameters, as text. */
#ifndef BG_DEBUG_VALUE_TEXT_H
#define BG_DEBUG_VALUE_TEXT_H

#include <breakgraph/op.h>

#define BG__MAYBE_PADDING "; those bytes may be padding" /* ends a message about a difference that is not sure */

enum { BG__VALUE_TEXT = 64 }; /* bytes that the text of a value needs */

/* A value whose type is not known: 4 and 8 bytes as a floating-point number where that is plausible ("1.5 (as integer
 * 1069547520)"), else as an integer; others, and pointers, in hexadecimal. Return text. */
const char *bg__value_text(const void *value, size_t bytes, bool pointer, char *text, size_t room);
/* The value of a BG_VALUE field by its declared type, where that is one of C's arithmetic types. */
const char *bg__field_value_text(const bg_field *field, const void *value, char *text, size_t room);

/* Where two values of a BG_VALUE field differ, and what is there: the whole value, or for a larger one of an unknown
 * type the first int that differs, surely where any does. where: "factor", "config (12 bytes) at offset 8". Return
 * where. */
const char *bg__field_difference_text(const bg_field *field, const void *a, const void *b, char *where, size_t room,
                                      char texts[2][BG__VALUE_TEXT]);

bool bg__field_is_pointer(const bg_field *field);
/* Two values of a BG_VALUE field, as they are now: their bytes, or the strings that they point to. */
bool bg__field_values_equal(const bg_field *field, const void *a, const void *b);
/* Whether values whose bytes differ are different values: not padding of a struct, and no host addresses. */
bool bg__field_values_differ_surely(const bg_field *field, const void *a, const void *b);

#endif
