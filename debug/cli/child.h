/* Starts a program and waits for it. */
#ifndef BG_CLI_CHILD_H
#define BG_CLI_CHILD_H

#include "cli.h"

typedef struct cli_child {
    char *const *argv;
    const char *const *set; /* NAME, VALUE, NAME, VALUE, ..., NULL; a VALUE of NULL takes NAME out */
    const char *input;      /* files; NULL: the command's own */
    const char *output, *errors;
    double timeout; /* seconds; 0: none */
    bool apart;     /* in a process group of its own, all of which is ended with it */
} cli_child;

typedef enum cli_how { CLI_EXITED, CLI_KILLED, CLI_TIMED_OUT, CLI_STOPPED, CLI_UNSTARTED } cli_how;

typedef struct cli_end {
    cli_how how;
    int code; /* exit status; signal; -; -; errno */
    double seconds;
} cli_end;

/* From here on SIGINT, SIGTERM, SIGQUIT and SIGHUP wait for the next child, which they end (CLI_STOPPED). */
void cli_child_hold_signals(void);
void cli_child_run(const cli_child *child, cli_end *end);

/* A shell, which ends with 128 + N where a signal N ended its program, counts as ended by it; 255, the status of
 * exit(-1), is no signal's. */
bool cli_is_crash(const cli_end *end, int *signal);

#endif
