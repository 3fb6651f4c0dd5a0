/* Starts a program and waits for it. */
#ifndef BG_CLI_CHILD_H
#define BG_CLI_CHILD_H

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
    bool apart; /* in a process group of its own, all of which is ended with it; killed with the command */
} cli_child;

typedef enum cli_how { CLI_EXITED, CLI_KILLED, CLI_TIMED_OUT, CLI_STOPPED, CLI_UNSTARTED } cli_how;

typedef struct cli_end {
    cli_how how;
    int code; /* exit status; signal; -; -; errno */
    double seconds;
    int rank; /* that it is of, where several ranks were started */
} cli_end;

/* Both after cli_signals_hold: a signal that was held ends the child (CLI_STOPPED), also one that came before it.
 * The process, whose end the caller waits for; -1 with errno. */
pid_t cli_child_start(const cli_child *child);
void cli_child_run(const cli_child *child, cli_end *end);

/* Processes whose parents are gone become the command's, which cli_child_end_strays ends, in whatever group or session;
 * but those that are ours (NULL: none). */
void cli_child_adopt(void);
void cli_child_end_strays(bool (*is_ours)(const void *user, pid_t pid), const void *user);

/* Seconds of a clock that only goes on. */
double cli_now(void);

/* A shell, which ends with 128 + N where a signal N ended its program, counts as ended by it; 255, the status of
 * exit(-1), is no signal's. */
bool cli_is_crash(const cli_end *end, int *signal);

#endif
