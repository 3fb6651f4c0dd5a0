/* Text from outside the library: printing it, and reading numbers from it. */
#ifndef BG_TEXT_H
#define BG_TEXT_H

#include <breakgraph/export.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Rewrites text, which has room bytes with its end, in place: each byte that is part of no printable character becomes
 * \xNN: control characters with newlines and tabs, what is not UTF-8, and what turns the direction of writing. Where
 * that does not fit, text ends with "...". Sentences of bg__fail and lines of bg__warn went through it. */
BG_API void bg__printable(char *text, size_t room);
/* The same for a text of any length, written to out. */
void bg__print_text(FILE *out, const char *text);

/* The name of a C++ symbol as the source writes it ("scale(float*, int)"), which the caller frees. NULL: symbol is not
 * one of C++, or there is no host memory. */
char *bg__demangle(const char *symbol);

/* Bytes of the UTF-8 character that begins at text; 0: none does. */
size_t bg__utf8_bytes(const char *text);

/* Decimal, with a point whatever the program's locale writes: "-1", "2.5", "1e-3". false: text is no such number, or it
 * is too large. */
BG_API bool bg__number_read(const char *text, double *number);
/* FNV-1a of Fowler, Noll and Vo, for texts that are compared and are not hostile. */
BG_API uint64_t bg__text_hash(const char *text);

#endif
