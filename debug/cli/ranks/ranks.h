/* Starts a program once for each rank of a job, forwards what they print, and ends all when one fails. */
#ifndef BG_CLI_RANKS_H
#define BG_CLI_RANKS_H

#include "debug/cli/process/child.h"

enum { CLI_RANKS_MOST = 64 };

typedef struct cli_ranks {
    int count;
    char *const *argv;
    const char *const *set; /* as cli_child's */
    double timeout;         /* seconds; 0: none */
    double patience;        /* seconds that the others get to end by themselves when one has ended with a status */
    bool input;             /* rank 0 gets the command's standard input; else none */
    bool prefix;            /* "[rank 1] " before each line */
    /* Directories for files rank-N.out and rank-N.err; NULL: lines go to the command's own. */
    const char *output, *errors;
} cli_ranks;

typedef struct cli_ranks_end {
    cli_end end; /* of the rank that failed first; EXITED with 0 where none did */
    pid_t pid;
    int others;      /* that were ended */
    char still[256]; /* TIMED_OUT: the ranks that still ran, "0, 2" */
} cli_ranks_end;

/* After cli_signals_hold. Of ends that are seen at once, and within patience, a signal counts before a status,
 * and 125, which tells nothing, last. */
void cli_ranks_run(const cli_ranks *ranks, cli_ranks_end *end);

/* "DIR/rank-N.out", which the caller frees. NULL: no host memory. */
char *cli_rank_file(const char *directory, int rank, const char *ending);

#endif
