/* Starts a program and waits for it. */
#ifndef BG_CLI_CHILD_H
#define BG_CLI_CHILD_H

#include "keeper.h"

/* Called after cli_signals_hold. A held signal ends the child (CLI_STOPPED), also one that came before; or goes to it,
 * if it passes signals. All processes that the child has started end with it. */
void cli_child_run(const cli_child *child, cli_end *end);

/* Whether a signal ended the program, or an exit status 128 + N says so, as of a shell whose program a signal N ended.
 * 255, the status of exit(-1), does not count. */
bool cli_is_crash(const cli_end *end, int *signal);

#endif
