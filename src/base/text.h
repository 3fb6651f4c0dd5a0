/* Text from outside the library: printing it, reading numbers from it, and names that are misspelt in it. */
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
/* The fewest digits, from 3 on, that are no other float (single) or double. Returns text. */
enum { BG__REAL_BYTES = 32 };
const char *bg__real_text(double real, bool single, char text[BG__REAL_BYTES]);
/* For 4 or 8 bytes of unknown type: whether they are rather a float or double than an integer or an address, which are
 * tiny, huge or NaN as one; round 4-byte integers such as 1000000000 are not. text: "1.5", "2.0", "-inf"; unchanged if
 * not. */
bool bg__real_guess(const void *value, size_t bytes, char text[BG__REAL_BYTES]);
/* FNV-1a of Fowler, Noll and Vo, for texts that are compared and are not hostile. */
BG_API uint64_t bg__text_hash(const char *text);

/* ---- nearest.c: "did you mean" ---- */

enum { BG__EDIT_BYTES = 128, BG__HINT_LONGEST = 64, BG__HINT_BYTES = BG__HINT_LONGEST + 32 };

/* How many bytes are to insert, remove, replace or swap with the next one so that a becomes b, upper and lower case
 * being the same (Damerau and Levenshtein, optimal string alignment). SIZE_MAX: one has more than BG__EDIT_BYTES. */
size_t bg__edit_distance(const char *a, size_t a_length, const char *b, size_t b_length);

/* Of the names that were added, the one that was probably meant by what was given. Borrows both. */
typedef struct bg__nearest {
    const char *given, *name; /* name NULL: none is near */
    size_t length, name_length, best;
} bg__nearest;

bg__nearest bg__nearest_to(const char *given, size_t length);
/* A name is near if no more than a third of the shorter of both has to change, or if it begins with all of what was
 * given, at least three bytes. A path that both begin with ("decode#0/") does not count: it makes no names alike. */
void bg__nearest_add(bg__nearest *nearest, const char *name, size_t length);
/* " (did you mean LEADNAME?)", to follow what was given in a sentence; "" where none is near, or it is long. lead: up
 * to 10 bytes, such as what all names begin with, which then stands in none of them. */
const char *bg__nearest_hint(const bg__nearest *nearest, const char *lead, char text[BG__HINT_BYTES]);

#endif
