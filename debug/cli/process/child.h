/* Starts a program and waits for it. */
#ifndef BG_CLI_CHILD_H
#define BG_CLI_CHILD_H

#include "keeper.h"

/* After cli_signals_hold: a signal that was held ends the child (CLI_STOPPED), also one that came before it. All that
 * it has started ends with it. */
void cli_child_run(const cli_child *child, cli_end *end);

/* A shell, which ends with 128 + N where a signal N ended its program, counts as ended by it; 255, the status of
 * exit(-1), is no signal's. */
bool cli_is_crash(const cli_end *end, int *signal);

#endif
