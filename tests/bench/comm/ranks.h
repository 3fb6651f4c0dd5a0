/* The benchmarks of ranks: each a process with a device of its own, all of which do the same in step. */
#ifndef BG_BENCH_RANKS_H
#define BG_BENCH_RANKS_H

#include <breakgraph/comm.h>

#include "tests/bench/bench.h"

typedef struct team {
    bg_comm *comm;
    cudaStream_t stream;
    float *meeting; /* of one float */
    report report;  /* of this rank's figures */
} team;

/* Queues a small sum over the ranks: when the device has done it, all ranks are there. */
bg_status team_meet(const team *team);
/* An NCCL result as a status. */
bg_status team_check(int result, const char *call);

bg_status bench_ranks_model(team *team); /* model.c */
bg_status bench_ranks_sum(team *team);   /* sum.c */

#endif
