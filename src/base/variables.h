/* The environment variables of the library and the host device. This table is the only place that describes them: the
 * library reads and checks its variables by it, the command checks all of them, and help, the manual page, the
 * completions and docs/environment.md are written from it (make docs). */
#ifndef BG_VARIABLES_H
#define BG_VARIABLES_H

#include <breakgraph/export.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Limits of the table that other code needs, too. */
enum { BG__TOKENS_MAX = 1 << 24, BG__SECONDS_MAX = 1000000 };

/* The form of a value. The functions below check the first six; the code that reads a variable checks the others. */
typedef enum bg__form {
    BG__FORM_CHOICE,  /* one of `values` */
    BG__FORM_CHOICES, /* several of `values`, separated by commas; the first one only alone */
    BG__FORM_INTEGER, /* `least` to `most` */
    BG__FORM_SECONDS, /* above `least`, up to `most`, not 0 */
    BG__FORM_RATIO,   /* 0, or `least` to `most` */
    BG__FORM_RANGE,   /* "2", "2-5" or "2-" */
    BG__FORM_BYTES,
    BG__FORM_SIZES,
    BG__FORM_PATTERNS,
    BG__FORM_NODES, /* patterns of nodes */
    BG__FORM_TOLERANCES,
    BG__FORM_FILE,
    BG__FORM_DIRECTORY, /* an existing directory */
    BG__FORM_DUMP,      /* a directory without an earlier dump; it is made if it does not exist */
    BG__FORM_ADDRESS,
    BG__FORM_TEXT,
    BG__FORM_SECRET, /* text that is not shown */
    BG__FORM_HOST,   /* the host device checks it at its first call */
} bg__form;

typedef struct bg__variable {
    const char *name;  /* "BG_DEBUG" */
    const char *group; /* the section of docs/environment.md */
    bg__form form;
    const char *values;   /* what the help text shows after "=": "off|ops", "SECONDS" */
    double least, most;   /* of an integer, seconds or a ratio */
    const char *allowed;  /* allowed values in words; NULL: form, values and limits say it */
    const char *fallback; /* the default, as text; "": none */
    const char *text;     /* what it does, one line */
} bg__variable;

extern const bg__variable bg__variables[];
extern const size_t bg__variables_count;

/* Returns the row of that name, or NULL. */
const bg__variable *bg__variable_find(const char *name);

/* Returns the allowed values in words, to follow "allowed are ": "off, ops", "whole numbers from 1 to 64". value: the
 * rejected text, for a hint as in "off, ops (did you mean ops?)"; NULL: no hint. */
enum { BG__ALLOWED_BYTES = 256 };
const char *bg__variable_describe_allowed(const bg__variable *variable, const char *value,
                                          char text[BG__ALLOWED_BYTES]);

/* Returns false if value is not one of the choices. */
bool bg__variable_parse_choice(const bg__variable *variable, const char *value, int *index);
/* Parses one choice, or several separated by commas: bit i of *set stands for the choice of index i. The first choice
 * means none: it sets no bit, and must be alone. Returns false if a part of value is not a choice. */
bool bg__variable_parse_choices(const bg__variable *variable, const char *value, unsigned *set);
/* Returns false if value is not a number that the row allows. */
bool bg__variable_parse_number(const bg__variable *variable, const char *value, double *number);
/* Parses "2-5" (2 to 5), "2" (2 to 2) and "2-" (2 and above). Returns false for any other value. */
bool bg__variable_parse_range(const char *value, uint64_t *first, uint64_t *last);
/* Returns false if one of the patterns is not a valid pattern of nodes, such as "graph#0/[5". */
bool bg__variable_check_nodes(const char *value);

#endif
