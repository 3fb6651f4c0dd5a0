/* Text from outside the library: printing it, reading numbers from it, and names that are misspelt in it. */
#ifndef BG_TEXT_H
#define BG_TEXT_H

#include <breakgraph/export.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Rewrites text in place: each byte that is not part of a printable character becomes \xNN. That covers control
 * characters, also newlines and tabs, bytes that are not UTF-8, and characters that change the direction of writing.
 * room: bytes of the buffer, with the final zero; a text that does not fit ends with "...". bg__fail and bg__warn apply
 * this. */
BG_API void bg__escape_unprintable(char *text, size_t room);
/* Writes text, of any length, to out with the same escapes. */
void bg__print_escaped(FILE *out, const char *text);

/* Returns the name of a C++ symbol as the source writes it ("scale(float*, int)"); the caller frees it. Returns NULL if
 * symbol is not a C++ symbol, or there is no host memory. */
char *bg__demangle(const char *symbol);

/* Returns the bytes of the UTF-8 character that begins at text; 0 if none does. */
size_t bg__utf8_bytes(const char *text);

/* Parses a decimal number, with a point in every locale: "-1", "2.5", "1e-3". Returns false if text is not such a
 * number, or the number is too large. */
BG_API bool bg__parse_number(const char *text, double *number);
/* Writes the fewest digits, at least 3, that identify this float (single) or double. Returns text. */
enum { BG__REAL_BYTES = 32 };
const char *bg__format_real(double real, bool single, char text[BG__REAL_BYTES]);
/* Guesses whether 4 or 8 bytes of unknown type are a float or double, and if so writes text ("1.5", "2.0", "-inf").
 * Integers and addresses are tiny, huge or NaN as a float; round 4-byte integers such as 1000000000 count as
 * integers. */
bool bg__format_if_real(const void *value, size_t bytes, char text[BG__REAL_BYTES]);
/* FNV-1a (Fowler, Noll and Vo), for comparing texts. It does not resist an attacker. */
BG_API uint64_t bg__text_hash(const char *text);

/* ---- nearest.c: "did you mean" ---- */

enum { BG__EDIT_BYTES = 128, BG__HINT_LONGEST = 64, BG__HINT_BYTES = BG__HINT_LONGEST + 32 };

/* Returns how many insertions, deletions, replacements and swaps of adjacent bytes turn `a` into `b`, ignoring case
 * (Damerau and Levenshtein, optimal string alignment). SIZE_MAX: one has more than BG__EDIT_BYTES. */
size_t bg__edit_distance(const char *a, size_t a_length, const char *b, size_t b_length);

/* Finds, among the added names, the one that the given text probably means. Points to both; copies neither. */
typedef struct bg__nearest {
    const char *given, *name; /* name NULL: none is near */
    size_t length, name_length, best;
} bg__nearest;

bg__nearest bg__nearest_begin(const char *given, size_t length);
/* Adds a name. It is near if at most a third of the shorter text must change, or if it begins with the whole given text
 * of at least three bytes. A path that both begin with ("decode#0/") does not count. */
void bg__nearest_add(bg__nearest *nearest, const char *name, size_t length);
/* " (did you mean LEADNAME?)", to follow the given text in a sentence; "" if no name is near, or it is long. lead: up
 * to 10 bytes to print before the name, such as a prefix of all names that the added names lack. */
const char *bg__nearest_hint(const bg__nearest *nearest, const char *lead, char text[BG__HINT_BYTES]);

#endif
