/* Values of arguments and of nodes' parameters as text. */
#ifndef BG_DEBUG_VALUE_TEXT_H
#define BG_DEBUG_VALUE_TEXT_H

#include <breakgraph/op.h>

#define BG__MAYBE_PADDING "; those bytes may be padding" /* ends a message about a difference in doubt */

enum { BG__VALUE_TEXT = 64 }; /* bytes for the text of a value */

/* The text of a value of unknown type: 4 and 8 bytes as a floating-point number if that is plausible ("1.5 (as integer
 * 1069547520)"), otherwise as an integer; other sizes, and pointers, in hexadecimal. Returns text. */
const char *bg__value_text(const void *value, size_t bytes, bool pointer, char *text, size_t room);
/* The text of a BG_VALUE field by its declared type, if that is an arithmetic type of C. Returns text. */
const char *bg__field_value_text(const bg_field *field, const void *value, char *text, size_t room);

/* Writes the texts of two differing values of a BG_VALUE field. For a larger value of an unknown type, writes the first
 * int that differs, preferably one that is not padding. `where` gets "factor", or "config (12 bytes) at offset 8".
 * Returns `where`. */
const char *bg__field_difference_text(const bg_field *field, const void *a, const void *b, char *where, size_t room,
                                      char texts[2][BG__VALUE_TEXT]);

bool bg__field_is_pointer(const bg_field *field);
/* Whether two values of a BG_VALUE field are equal now: their bytes, or the strings that they point to. */
bool bg__field_values_equal(const bg_field *field, const void *a, const void *b);
/* Whether two values certainly differ: the difference is not only padding of a struct, and they are not host
 * addresses. */
bool bg__field_values_differ_surely(const bg_field *field, const void *a, const void *b);

#endif
