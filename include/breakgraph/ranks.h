/* Ranks: several processes that run the same passes, each on a GPU of its own, with collectives between them. A capture
 * or runner that is given a bg_ranks does in step with the others what it does: a rank that does something else is an
 * error on every rank, and not a hang. breakgraph/comm.h makes one over NCCL; another transport may make its own. */
#ifndef BREAKGRAPH_RANKS_H
#define BREAKGRAPH_RANKS_H

#include <breakgraph/status.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

BG_BEGIN_C_

/* How a rank talks to the others. All functions are called by all ranks in the same order, each with the same what, a
 * phrase for messages ("before the capture of bucket 8"). Their failure is BG_ERROR_RANKS on every rank, with
 * bg_last_error() that names the ranks and what each was at. user is given to each. Whoever takes a table copies it;
 * user must outlive the graphs that were made with it, unless retain and release see to that. */
typedef struct bg_ranks {
    size_t struct_size; /* set by BG_RANKS_INIT */
    int rank, size;
    void *user;
    /* Returns when all ranks have come here. */
    bg_status (*barrier)(void *user, const char *what);
    /* Whether all ranks say the same; a failure tells both texts. */
    bg_status (*agree)(void *user, const char *what, const char *text);
    /* *any: some rank says so. */
    bg_status (*any)(void *user, const char *what, bool mine, bool *any);
    /* NULL, or: a graph that holds collectives keeps what they need (retain), and lets go of it when it is destroyed
     * (release). */
    void (*retain)(void *user);
    void (*release)(void *user);
    /* NULL, or around each replay, and each eager run of a runner: what runs, where it is, for a watchdog. enter and
     * leave come in pairs: leave after each enter that returned OK, also where a step failed. step: the replay's step
     * of that number (segment, eager call, copy) has been queued on stream. A failure of enter or step is the replay's.
     * The texts live until leave. */
    bg_status (*enter)(void *user, const char *graph, uint64_t replay, int steps);
    bg_status (*step)(void *user, int step, const char *text, cudaStream_t stream);
    void (*leave)(void *user);
    bool compare_choices; /* each choice of a runner is compared before it runs. bg_comm's enter compares each replay,
                           * too, by the graph's name */
} bg_ranks;

#define BG_RANKS_INIT                                                                                                  \
    {                                                                                                                  \
        sizeof(bg_ranks), 0, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false                            \
    }

BG_END_C_

#endif
