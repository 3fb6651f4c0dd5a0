/* Ranks: the processes of a job, which run the same passes, each on its own GPU, with collectives between them.
 * The captures and runners of all ranks work together: if one rank does something else, every rank returns an error
 * instead of hanging. breakgraph/comm.h provides a bg_ranks over NCCL; another transport may provide its own. */
#ifndef BREAKGRAPH_RANKS_H
#define BREAKGRAPH_RANKS_H

#include <breakgraph/status.h>
#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

BG_BEGIN_C_

/* How a rank communicates with the others. All ranks call `barrier`, `agree` and `any` in the same order. They pass the
 * same `what`, a phrase for messages ("before the capture of bucket 8"). If one of these fails, it returns
 * BG_ERROR_RANKS on every rank, and bg_last_error() names the ranks and where each was. `user` is passed to each
 * function.
 * Functions that take a bg_ranks copy it. `user` must outlive the graphs that were made with it, unless `retain` and
 * `release` ensure that. */
typedef struct bg_ranks {
    size_t struct_size; /* set by BG_RANKS_INIT */
    int rank, size;     /* this rank, from 0; number of ranks */
    void *user;
    /* Returns when all ranks have called it. */
    bg_status (*barrier)(void *user, const char *what);
    /* Fails unless `text` is the same on all ranks; the error contains the different texts. */
    bg_status (*agree)(void *user, const char *what, const char *text);
    /* Sets *any to whether `mine` is true on some rank. */
    bg_status (*any)(void *user, const char *what, bool mine, bool *any);
    /* May be NULL. Each graph made with this bg_ranks calls `retain` when its capture begins, so that what its
     * collectives need stays valid, and `release` when it is destroyed. */
    void (*retain)(void *user);
    void (*release)(void *user);
    /* May be NULL. Called around each replay, and each eager run of a runner, so that a watchdog knows what runs, and
     * at which step. enter: replay number `replay` of the graph named `graph`, which has `steps` steps, begins.
     * step: step number `step` (a segment, eager call or copy) has been queued on `stream`; `text` describes it. leave:
     * called once after each `enter` that returned OK, also where a step failed. An error of `enter` or `step` is the
     * replay's. The strings are valid until `leave`. */
    bg_status (*enter)(void *user, const char *graph, uint64_t replay, int steps);
    bg_status (*step)(void *user, int step, const char *text, cudaStream_t stream);
    void (*leave)(void *user);
    bool compare_choices; /* true: the ranks compare their choices of a bucket before each batch of a runner. `enter` of
                           * bg_comm also compares each replay, by the graph's name */
} bg_ranks;

#define BG_RANKS_INIT                                                                                                  \
    {                                                                                                                  \
        sizeof(bg_ranks), 0, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, false                            \
    }

BG_END_C_

#endif
