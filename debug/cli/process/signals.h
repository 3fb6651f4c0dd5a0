/* Signals as numbers to read, and processes that start without them. */
#ifndef BG_CLI_SIGNALS_H
#define BG_CLI_SIGNALS_H

#include <stdbool.h>
#include <sys/types.h>

#include "debug/cli/output/exits.h"

/* From here on SIGCHLD, SIGINT, SIGTERM, SIGQUIT and SIGHUP (the last two unless they were ignored) do nothing but wait
 * to be read, whichever thread of the process they reach, and SIGPIPE does nothing. CLI_FAILED, said: no descriptors.
 */
cli_status cli_signals_hold(void);
/* The same, for SIGUSR1 and SIGUSR2, too: where signals are passed on to a program. */
cli_status cli_signals_hold_all(void);

/* To poll: readable while one waits. */
int cli_signals_descriptor(void);
/* Takes the next; 0: none waits. *terminal (NULL: not asked): a terminal has sent it, to the whole process group. */
int cli_signals_next(bool *terminal);
/* Until one waits or seconds (-1: no end) are over. */
void cli_signals_wait(double seconds);

/* As if it had come. */
void cli_signals_note(int signal);

/* As fork; the child has every signal blocked until it calls cli_signals_restore. */
pid_t cli_signals_fork(void);
/* In such a child, for its own child, which runs with every signal blocked so far: signals that wait here go to that
 * process (0: to none), and no longer wait here. A process that has one of them already does not get it twice. */
void cli_signals_give(pid_t pid);
/* In such a child, which goes on to tell its parent of signals: by this descriptor, so that it may close the rest. */
void cli_signals_move(int descriptor);
/* In such a child: waits until the descriptor is readable (true) or a signal came, which its parent then reads. */
bool cli_signals_poll(int descriptor);
/* In a child: signals do what they did before cli_signals_hold. */
void cli_signals_restore(void);

/* Seconds of a clock that only goes on. */
double cli_now(void);

#endif
