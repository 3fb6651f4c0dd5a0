/* The job that this process is a rank of. */
#ifndef BG_COMM_COMM_JOB_H
#define BG_COMM_COMM_JOB_H

#include <breakgraph/comm.h>

typedef struct bg__job {
    int rank, size, local_rank;
    int port; /* 0: none is set, and none is needed for one rank */
    double timeout, watchdog;
    const char *socket;                 /* the environment's; NULL: they meet at address and port */
    const char *address, *bind, *token; /* the caller's, or the environment's; `bind` and `token` may be NULL */
} bg__job;

/* Reads the job from the options. Reads what the options leave open from the environment. */
bg_status bg__job_read(bg__job *job, const bg_comm_options *options);

#endif
