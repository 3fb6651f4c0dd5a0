/* What the doctor learns: one line for each question, or all of them as JSON. */
#ifndef BG_CLI_ANSWERS_H
#define BG_CLI_ANSWERS_H

#include <stdbool.h>

/* WORKS; MISSING: does not work, and little needs it; BROKEN: breakgraph or the program needs it; TOLD: a fact. */
typedef enum cli_health { CLI_WORKS, CLI_MISSING, CLI_BROKEN, CLI_TOLD } cli_health;

/* Before the first answer. json: answers are kept and printed at the end; else each is printed as it comes. */
void cli_answers_open(bool json);
/* A title over the answers that follow; JSON has none. */
void cli_answers_heading(const char *text);
/* Notes an answer: what was asked, and in words what there is, or why it does not work. */
void cli_answer(const char *what, cli_health health, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Behind the last. Returns whether none is BROKEN. */
bool cli_answers_close(void);

#endif
