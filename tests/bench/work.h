/* The work that is measured: segments of kernels with an eager kernel between them, each kernel adding 1 to x, so that
 * every run can be checked. As a forward pass for breakgraph, and written by hand. */
#ifndef BG_BENCH_WORK_H
#define BG_BENCH_WORK_H

#include "bench.h"

enum { OUTPUTS_MAX = 4, OUTPUT_FLOATS = 64, OUTPUT_BYTES = OUTPUT_FLOATS * 4 };

typedef struct scenario {
    int breaks, nodes; /* nodes a segment; segments = breaks + 1 */
    int outputs;       /* that the eager kernel leaves elsewhere, to be copied back; 0: it writes in place */
    bool alternate;    /* elsewhere is another place in each run */
    bool ops;          /* each kernel of a segment is an op call of its own; else it is launched as by hand */
} scenario;

/* Segments that were captured by hand: flat arrays, indexed by segment. */
typedef struct by_hand {
    cudaGraphExec_t *execs;
    cudaGraph_t *graphs;
    cudaGraphNode_t (*copies)[OUTPUTS_MAX]; /* folded: the first nodes */
    const float **sources;                  /* folded: where those read */
    int count;
} by_hand;

/* Who does it. */
enum way { OURS, PLAIN, FOLDED, WAYS };

typedef struct work {
    scenario what;
    cudaStream_t stream;
    int floats;              /* of x */
    float *x, *one;          /* device */
    float *elsewhere;        /* device: for each break and turn floats of them */
    int turn;                /* which elsewhere this run uses */
    int last_turn[WAYS];     /* each way has its own, so that it moves in each of its runs */
    bg_graph *graph;         /* breakgraph's */
    cudaGraphExec_t *shared; /* its executable graphs, as a flat array */
    by_hand plain, folded;
} work;

bg_status work_open(work *w, scenario what, cudaStream_t stream);
void work_close(work *w);

/* The forward pass; user is the work. */
bg_status work_forward(void *user, cudaStream_t stream);

/* The eager kernel of break 1 to breaks, into x or elsewhere. */
cudaError_t work_eager(const work *w, int at_break, cudaStream_t stream);
float *work_elsewhere(const work *w, int at_break);

/* Captures all segments and instantiates them; launch: and runs the pass while it does so. folded: with the copies as
 * first nodes. close takes what open left behind. */
bg_status by_hand_open(by_hand *hand, const work *w, bool folded, bool launch);
void by_hand_close(by_hand *hand);
/* The same, plain and not launching, with instantiation in that many threads while this one captures (threads.c). */
bg_status by_hand_open_in_threads(by_hand *hand, const work *w, int threads);
/* Parts of both. */
bg_status by_hand_reserve(by_hand *hand, const work *w);
bg_status by_hand_capture(by_hand *hand, const work *w, int segment, bool folded);

/* The loops that one would write; state is the work. */
bg_status loop_shared(void *state); /* the library's executable graphs, nothing to copy */
bg_status loop_plain(void *state);  /* launch, kernel, cudaMemcpyAsync for each output */
bg_status loop_folded(void *state); /* launch, kernel, new parameters where the place changed */
bg_status replay_ours(void *state);

/* Runs each contender from x = 0, and fails unless each kernel and copy did its work. */
bg_status work_check(work *w, const contender *contenders, int count);

#endif
