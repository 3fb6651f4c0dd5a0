/* The answers of the doctor: one line for each question, or all of them as JSON. */
#ifndef BG_CLI_ANSWERS_H
#define BG_CLI_ANSWERS_H

#include <stdbool.h>

/* WORKS: it works. MISSING: it does not work, and few programs need it. BROKEN: it does not work, and breakgraph or the
 * program needs it. FACT: a fact. */
typedef enum cli_health { CLI_WORKS, CLI_MISSING, CLI_BROKEN, CLI_FACT } cli_health;

/* Call it before the first answer. json: all answers are printed at the end, as JSON; else each is printed at once. */
void cli_answers_open(bool json);
/* Prints a title above the answers that follow; JSON has none. */
void cli_answers_heading(const char *text);
/* Adds an answer. what: the question; format: what there is, or why it does not work. */
void cli_answers_add(const char *what, cli_health health, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Call it after the last answer. Returns whether no answer is BROKEN. */
bool cli_answers_close(void);

#endif
