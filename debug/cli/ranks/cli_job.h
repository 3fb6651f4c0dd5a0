/* A job of ranks: their number, and the environment of each (breakgraph/comm.h). */
#ifndef BG_CLI_JOB_H
#define BG_CLI_JOB_H

#include "debug/cli/arguments/command.h"
#include "debug/cli/output/exits.h"

enum { CLI_RANKS_MOST = 64 };

typedef struct cli_job {
    int count;
    int port;        /* for a program that has ranks of its own meet there: rank 0 may listen on it */
    int held;        /* a descriptor bound to it, so that no one else is given it */
    char *directory; /* that only this user may enter; NULL: they meet at the port */
    char *socket;    /* in it, where ranks of breakgraph meet; NULL: so do they */
    char token[33];  /* only ranks of this job know it */
} cli_job;

/* The flags of each command that starts a program. */
extern const cli_flag cli_job_flags[];
/* "--ranks", 0 where it is not given; and that there are so many devices, or --oversubscribe is given. */
cli_status cli_job_read(const cli_arguments *arguments, int *count);

/* false with errno; to be ended all the same. */
bool cli_job_make(cli_job *job, int count);
void cli_job_end(cli_job *job);
/* Sets this process's environment: what is one rank's own; errno. */
int cli_job_become(const cli_job *job, int rank);

/* Files of several ranks under one name would be those of the last: "trace.rank-1.json" of "trace.json", which the
 * caller frees; NULL: out of host memory. */
char *cli_job_file(const char *path, int rank);
/* "DIR/rank-N.out", which the caller frees. NULL: out of host memory. */
char *cli_rank_file(const char *directory, int rank, const char *ending);

#endif
