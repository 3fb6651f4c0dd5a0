/* Queues the signals of the command, and starts processes whose own signals are not queued. */
#ifndef BG_CLI_SIGNALS_H
#define BG_CLI_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

#include "debug/cli/output/exits.h"

/* Queues SIGCHLD, SIGINT, SIGTERM, SIGQUIT and SIGHUP (the last two unless they were ignored) for cli_signals_pop,
 * whichever thread they reach, and ignores SIGPIPE. CLI_FAILED, with a message: no descriptors. */
cli_status cli_signals_catch(void);
/* The same, with SIGUSR1 and SIGUSR2: for a command that forwards signals to its program. */
cli_status cli_signals_catch_all(void);

/* A descriptor for poll: readable while a signal is queued. */
int cli_signals_descriptor(void);
/* Removes and returns the next signal; 0: none is queued. *terminal (may be NULL): a terminal sent it to the whole
 * process group. */
int cli_signals_pop(bool *terminal);
/* Waits until a signal is queued or seconds (-1: no limit) are over. */
void cli_signals_wait(double seconds);

/* Queues the signal, as if it had been received. */
void cli_signals_enqueue(int signal);

/* Like fork; in the child every signal is blocked until it calls cli_signals_restore. */
pid_t cli_signals_fork(void);
/* In such a child: takes its pending signals, and sends them to the process `pid`, its own child, in which every signal
 * is blocked (0: sends them to nobody). If a signal is pending in `pid` already, `pid` does not get it twice. */
void cli_signals_forward_pending(pid_t pid);
/* In such a child, which reports signals to its parent: moves the pipe to this descriptor, so that the child may close
 * all others. */
void cli_signals_move_pipe(int descriptor);
/* In such a child: waits until the descriptor is readable (true) or a signal comes (false), which its parent then
 * reads. */
bool cli_signals_poll_readable(int descriptor);
/* In a child: restores the signal actions and the mask as they were before cli_signals_catch. */
void cli_signals_restore(void);

/* Seconds of the monotonic clock. */
double cli_monotonic_seconds(void);

#endif
