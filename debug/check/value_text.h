/* Values of arguments and of nodes' parameters, as text. */
#ifndef BG_DEBUG_VALUE_TEXT_H
#define BG_DEBUG_VALUE_TEXT_H

#include <breakgraph/op.h>

enum { BG__VALUE_TEXT = 64 }; /* bytes that the text of a value needs */

/* A value whose type is not known: 4 and 8 bytes as an integer, and as a floating-point number where that is plausible;
 * others, and pointers, in hexadecimal. Return text. */
const char *bg__value_text(const void *value, size_t bytes, bool pointer, char *text, size_t room);
/* The value of a BG_VALUE field by its declared type, where that is one of C's arithmetic types. */
const char *bg__field_value_text(const bg_field *field, const void *value, char *text, size_t room);

bool bg__field_is_pointer(const bg_field *field);

#endif
