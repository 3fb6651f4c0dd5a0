/* A job of ranks: their number, and the environment of each (breakgraph/comm.h). */
#ifndef BG_CLI_JOB_H
#define BG_CLI_JOB_H

#include "debug/cli/arguments/command.h"
#include "debug/cli/output/exits.h"

enum { CLI_RANKS_MOST = 64 };

typedef struct cli_job {
    int count;
    int port;        /* MASTER_PORT, for a program's own rendezvous: rank 0 may listen on it */
    int held;        /* a socket bound to port, so that no other process gets it */
    char *directory; /* only this user may enter it */
    char *socket;    /* in directory, for the ranks of breakgraph; NULL: they use the port */
    char token[33];  /* a secret of this job's ranks */
} cli_job;

/* The flags of each command that starts a program. */
extern const cli_flag cli_job_flags[];
/* Reads --ranks into *count; 0: not given. CLI_USAGE, with a message: the number is wrong, or there are fewer devices
 * and --oversubscribe is not given. */
cli_status cli_job_read(const cli_arguments *arguments, int *count);

/* false with errno. Call cli_job_destroy also after a failure. */
bool cli_job_create(cli_job *job, int count);
void cli_job_destroy(cli_job *job);
/* Sets the variables of one rank in this process's environment. Returns an errno. */
int cli_job_set_environment(const cli_job *job, int rank);

/* The file of one rank, since ranks would overwrite a common file: "trace.rank-1.json" for "trace.json". The caller
 * frees it. NULL: out of host memory. */
char *cli_job_rank_path(const char *path, int rank);
/* "DIR/rank-N.ENDING", which the caller frees. NULL: out of host memory. */
char *cli_rank_output_path(const char *directory, int rank, const char *ending);

#endif
