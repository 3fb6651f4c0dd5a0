/* Starts a program and waits for it. */
#ifndef BG_CLI_CHILD_H
#define BG_CLI_CHILD_H

#include "supervisor.h"

/* Starts the program and waits for its end. Call it after cli_signals_catch. A signal ends the child (CLI_STOPPED),
 * also one that came before the start; if the child passes signals, it gets the signal instead. All processes that the
 * child has started end with it. */
void cli_child_run(const cli_child *child, cli_end *end);

/* Whether a signal ended the program, or its exit status is 128 + N, which a shell returns for a program that signal N
 * ended. 255, the status of exit(-1), does not count. */
bool cli_is_crash(const cli_end *end, int *signal);

#endif
