/* Starts a program once for each rank of a job, forwards what they print, and ends all when one fails. */
#ifndef BG_CLI_RANKS_H
#define BG_CLI_RANKS_H

#include "debug/cli/process/child.h"
#include "plan.h"

typedef struct cli_ranks_end {
    cli_end end; /* of the rank that failed first; EXITED with 0 where none did */
    pid_t pid;
    int others;      /* that were ended */
    char still[256]; /* TIMED_OUT: the ranks that still ran, "0, 2" */
} cli_ranks_end;

/* After cli_signals_hold. Of ends that are seen at once, and within patience, a signal counts before a status,
 * and 125, which tells nothing, last. */
void cli_ranks_run(const cli_ranks *ranks, cli_ranks_end *end);

#endif
