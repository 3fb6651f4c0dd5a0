/* A peer tags its data with the number of the launch, and the graph takes data whose tag fits. Each launch outside of a
 * graph has a number of its own, replays have the same: the tag of the last replay still fits, and old data is taken.
 *
 * expect: stale | reset
 * culprit: copy_below#0
 * innocent: fill#0
 * source: deepseek-ai/DeepGEMM#451
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float), ROUNDS = 2 };

typedef struct model {
    float *inbox, *y;
    int *arrived; /* how many elements of the inbox fit */
} model;

/* Takes what there is. */
static void pull(void *user, cudaStream_t stream)
{
    model *m = user;
    CHECK(zoo_fill(m->y, 0, N, stream));
    /* CULPRIT */
    CHECK(zoo_copy_below(m->y, m->inbox, m->arrived, N, stream));
}

static void push(const model *m, int round)
{
    CHECK(zoo_fill(m->inbox, (float)(round + 1), N, zoo.side));
    CHECK(zoo_set_flag(m->arrived, N, zoo.side));
    CHECK(cudaStreamSynchronize(zoo.side));
}

static int run_round(const zoo_graph *graph, const model *m, int round)
{
    float taken = 0;
    if (zoo.correct || zoo.eager) /* the twin resets the tag, before the peer may set it again */
        CHECK(cudaMemsetAsync(m->arrived, 0, sizeof(int), zoo.stream));
    for (int tries = 0; taken == 0; tries++) { /* until all of it has been taken */
        zoo_replay(graph);
        CHECK(cudaMemcpyAsync(&taken, m->y, sizeof taken, cudaMemcpyDeviceToHost, zoo.stream));
        CHECK(cudaStreamSynchronize(zoo.stream));
        if (tries == 0) /* the peer is later */
            push(m, round);
    }
    return zoo_end(m->y, N, (float)(round + 1));
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m;
    int result = ZOO_RIGHT;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.inbox, BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(cudaMalloc((void **)&m.arrived, sizeof(int)));
    CHECK(cudaMemset(m.arrived, 0, sizeof(int)));
    CHECK(cudaDeviceSynchronize());
    zoo_capture(&graph, pull, &m);
    for (int round = 0; round < ROUNDS && result == ZOO_RIGHT; round++)
        result = run_round(&graph, &m, round);
    zoo_destroy(&graph);
    return result;
}
