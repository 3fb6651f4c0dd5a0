/* Starts a program below a keeper: a process between the command and the program. All processes that the program starts
 * stay descendants of the keeper, in any process group or session. The keeper ends them when the command asks for it,
 * or has ended, even by SIGKILL. */
#ifndef BG_CLI_KEEPER_H
#define BG_CLI_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct cli_child {
    char *const *argv;
    const char *const *set; /* NAME, VALUE, NAME, VALUE, ..., NULL; a VALUE of NULL takes NAME out */
    const char *input;      /* files; NULL: the command's own */
    const char *output, *errors;
    const int *streams; /* NULL; or descriptors that become its input, output and errors where they are not -1 */
    double timeout;     /* seconds; 0: none */
    int (*prepare)(const void *user); /* NULL; or called in the child, to set more of its environment; gives an errno */
    const void *user;
    bool apart;  /* in a process group of its own */
    bool passes; /* signals to the command go to the program, which is not ended by them; needs cli_signals_hold_all */
} cli_child;

typedef enum cli_how { CLI_EXITED, CLI_KILLED, CLI_TIMED_OUT, CLI_STOPPED, CLI_UNSTARTED } cli_how;

typedef struct cli_end {
    cli_how how;
    int code; /* exit status; signal; -; -; errno */
    double seconds;
    int rank; /* that it is of, where several ranks were started */
} cli_end;

typedef struct cli_keeper {
    pid_t pid, program; /* the program's number is no other process's before cli_keeper_close */
    int held;           /* when it is closed, the keeper ends all */
    int reports;
} cli_keeper;

/* After cli_signals_hold; a signal to the keeper counts as one to the command. false with errno: it has not started. */
bool cli_keeper_start(cli_keeper *keeper, const cli_child *child);
/* Whether the program has ended; then how and code are set, once. cli_signals_wait returns when it has. */
bool cli_keeper_ended(const cli_keeper *keeper, cli_end *end);
/* Begins to end what there is of the program, its process group if that is its own, and all that it has left. */
void cli_keeper_release(cli_keeper *keeper);
/* Waits for that, and says what goes on. false: the keeper itself was ended; what it kept may be the command's now. */
bool cli_keeper_close(cli_keeper *keeper, const char *program);

#endif
