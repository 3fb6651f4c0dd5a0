/* The recorded answers: one row per observation in tests/conformance/expected.tsv. */
#ifndef CONFORMANCE_EXPECTED_H
#define CONFORMANCE_EXPECTED_H

#include "case.h"

#include <stdio.h>

#define EXPECTED_FILE       "tests/conformance/expected.tsv" /* from the repository's root, where the tests run */
#define EXPECTED_UNRECORDED "unrecorded"                     /* in place of a GPU, a driver or an answer */

enum { EXPECTED_HASH_MAX = 17, EXPECTED_PROBLEM_MAX = 1024 };

struct expected_row {
    const char *name, *hash, *call, *answer;
};

struct expected {
    char *text; /* what the rows point into */
    const char *gpu, *driver;
    struct expected_row *rows;
    size_t count;
};

/* false: problem says what is wrong with the file, where, and what to do. What no GPU recorded is wrong. */
bool expected_read(struct expected *expected, const char *path, char *problem);
void expected_free(struct expected *expected);

/* Of a case's text, 16 hexadecimal digits: answers hold for exactly that text. */
void expected_hash(const struct case_body *body, char *hash);

/* The rows of a case, which lie together. NULL: there are none. */
const struct expected_row *expected_find(const struct expected *expected, const char *name, size_t *count);

/* false: problem says how what was found (a case that has run) differs from what was recorded. */
bool expected_compare(const struct expected *expected, const struct case_rule *rule, const struct scene *found,
                      char *problem);

/* Writes the head of the file, and the rows of a case that has run. */
void expected_write_head(FILE *file, const char *gpu, const char *driver);
void expected_write(FILE *file, const struct case_body *body, const struct scene *found);

#endif
