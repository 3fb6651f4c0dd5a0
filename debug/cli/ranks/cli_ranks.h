/* Starts a program once for each rank of a job, forwards what they print, and ends all when one fails. */
#ifndef BG_CLI_RANKS_H
#define BG_CLI_RANKS_H

#include "debug/cli/process/child.h"
#include "plan.h"

typedef struct cli_ranks_end {
    cli_end end; /* how the first rank that failed ended; EXITED with 0: none failed */
    pid_t pid;
    int others;      /* how many other ranks were ended */
    char still[256]; /* TIMED_OUT: the ranks that still ran, "0, 2" */
} cli_ranks_end;

/* Runs all ranks. Call it after cli_signals_catch. If several ranks fail at once, or within patience, a signal counts
 * before an exit status, and status 125 (no verdict) counts last. */
void cli_ranks_run(const cli_ranks *ranks, cli_ranks_end *end);

#endif
