/* Starts a program below a keeper: a process between the command and the program. All processes that the program starts
 * stay descendants of the keeper, in any process group or session. The keeper kills them when the command asks for it,
 * or ends, even by SIGKILL. */
#ifndef BG_CLI_SUPERVISOR_H
#define BG_CLI_SUPERVISOR_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct cli_child {
    char *const *argv;
    const char *const *set; /* NAME, VALUE, NAME, VALUE, ..., NULL; a VALUE of NULL unsets NAME */
    const char *input;      /* files; NULL: the command's own */
    const char *output, *errors;
    const int *streams; /* NULL, or three descriptors for its standard streams; -1: the stream is not replaced */
    double timeout;     /* seconds; 0: none */
    int (*prepare)(const void *user); /* NULL, or called in the child to set its environment; returns an errno */
    const void *user;
    bool apart;  /* in a process group of its own */
    bool passes; /* signals to the command go to the program, and do not end it; needs cli_signals_catch_all */
} cli_child;

typedef enum cli_end_reason { CLI_EXITED, CLI_KILLED, CLI_TIMED_OUT, CLI_STOPPED, CLI_UNSTARTED } cli_end_reason;

typedef struct cli_end {
    cli_end_reason how;
    int code; /* by `how`, in the order of cli_end_reason: exit status, signal, none, none, errno */
    double seconds;
    int rank; /* the rank that ended, if several were started */
} cli_end;

typedef struct cli_supervisor {
    pid_t pid, program; /* program: a process id that is not reused before cli_supervisor_wait */
    int held;           /* a pipe: when it is closed, the keeper ends all processes */
    int reports;
} cli_supervisor;

/* Call it after cli_signals_catch; a signal to the keeper counts as one to the command. false with errno: the program
 * has not started. */
bool cli_supervisor_start(cli_supervisor *keeper, const cli_child *child);
/* Returns true once, when the program has ended, and sets `how` and `code`. The end also wakes cli_signals_wait. */
bool cli_supervisor_poll_end(const cli_supervisor *keeper, cli_end *end);
/* Tells the keeper to kill the program, its process group (if it was started `apart`), and all processes that it has
 * left running. */
void cli_supervisor_kill_all(cli_supervisor *keeper);
/* Waits until the keeper has killed them, and prints which processes still run. false: the keeper itself was killed,
 * and its children may be the command's now. */
bool cli_supervisor_wait(cli_supervisor *keeper, const char *program);

#endif
