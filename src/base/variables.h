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

/* What a value looks like. The table checks the first six; the others are checked by what reads them. */
typedef enum bg__form {
    BG__FORM_CHOICE,  /* one of values */
    BG__FORM_CHOICES, /* some of values, with commas between; the first one stands alone */
    BG__FORM_INTEGER, /* least to most */
    BG__FORM_SECONDS, /* above least, up to most, not 0 */
    BG__FORM_RATIO,   /* 0, or least to most */
    BG__FORM_RANGE,   /* "2", "2-5" or "2-" */
    BG__FORM_BYTES,
    BG__FORM_SIZES,
    BG__FORM_PATTERNS,
    BG__FORM_NODES, /* patterns of nodes */
    BG__FORM_TOLERANCES,
    BG__FORM_FILE,
    BG__FORM_DIRECTORY, /* that exists */
    BG__FORM_DUMP,      /* a directory, made where there is none, without an earlier dump */
    BG__FORM_ADDRESS,
    BG__FORM_TEXT,
    BG__FORM_SECRET, /* text that is not shown */
    BG__FORM_HOST,   /* the host device checks it at its first call */
} bg__form;

typedef struct bg__variable {
    const char *name;  /* "BG_DEBUG" */
    const char *group; /* the section of docs/environment.md */
    bg__form form;
    const char *values;   /* what help shows behind "=": "off|ops", "SECONDS" */
    double least, most;   /* of an integer, seconds or a ratio */
    const char *allowed;  /* in words; NULL: as form, values and limits say */
    const char *fallback; /* the default, as text; "": none */
    const char *text;     /* what it does, one line */
} bg__variable;

extern const bg__variable bg__variables[];
extern const size_t bg__variables_count;

/* NULL where there is none of that name. */
const bg__variable *bg__variable_find(const char *name);

/* What is allowed, in words, behind "allowed are ": "off, ops", "whole numbers from 1 to 64". value: what was given
 * instead, for which "off, ops (did you mean ops?)" comes; NULL: it was no text. */
enum { BG__ALLOWED_BYTES = 256 };
const char *bg__variable_allowed(const bg__variable *variable, const char *value, char text[BG__ALLOWED_BYTES]);

/* false: value is none of the choices. */
bool bg__variable_choice(const bg__variable *variable, const char *value, int *index);
/* As one choice, or several with commas between; bit i: the value of index i. The first of values, which means none,
 * stands alone: no bit. false: one of them is none of the choices. */
bool bg__variable_choices(const bg__variable *variable, const char *value, unsigned *set);
/* false: value is no such number. */
bool bg__variable_number(const bg__variable *variable, const char *value, double *number);
/* "2-5" is from 2 to 5, "2" from 2 to 2. false: value is no such range. */
bool bg__variable_range(const char *value, uint64_t *first, uint64_t *last);
/* false: one of the patterns is none of nodes, as "graph#0/[5" is none. */
bool bg__variable_nodes(const char *value);

#endif
