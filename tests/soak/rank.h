/* A rank of soak_ranks: a pass with sums over the ranks in it, its captures, and replays that are compared with what
 * the host makes of the same inputs. Failures are told on stderr, and to the other ranks. */
#ifndef TESTS_SOAK_RANK_H
#define TESTS_SOAK_RANK_H

#ifdef BG_NCCL
#define SOAK_NCCL 1
#include <breakgraph/breakgraph.h>
#include <breakgraph/comm.h>

enum { GRAPHS = 4, BREAKS_MAX = 3, TIMES_MAX = 2 };

/* breaks + 1 sections, each of which adds 1. The sums are eager, and the breaks; or each section holds one. */
typedef struct shape {
    int breaks;
    bool eager;
} shape;

typedef struct rank {
    int rank, size;
    bg_comm *comm;
    cudaStream_t stream;
    float *memory;
    bg_tensor x, one;
    struct made {
        struct rank *rank;
        shape shape;
        bg_graph *graph;
    } made[GRAPHS];
    long round;        /* of all that was checked */
    long spoilt_round; /* whose result is made wrong, to see that it is found; -1: none */
} rank;

/* False. */
bool rank_complain(const rank *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define GOOD(call)                                                                                                     \
    do {                                                                                                               \
        bg_status status_ = (call);                                                                                    \
        if (status_ != BG_OK)                                                                                          \
            return rank_complain(r, "%s = %s: %s", #call, bg_status_name(status_), bg_last_error());                   \
    } while (0)
#define GOOD_CUDA(call)                                                                                                \
    do {                                                                                                               \
        cudaError_t error_ = (call);                                                                                   \
        if (error_ != cudaSuccess)                                                                                     \
            return rank_complain(r, "%s = %s", #call, cudaGetErrorName(error_));                                       \
    } while (0)

/* close takes what open left behind. */
bool rank_open(rank *r, const bg_comm_options *options);
void rank_close(rank *r);

/* Into a place without a graph. */
bool rank_capture(rank *r, struct made *made, shape s, bool launch);
/* So many replays at once, at most TIMES_MAX, from other inputs than before, and a look at the results. */
bool rank_replay(rank *r, const struct made *made, int times);
#endif

#endif
