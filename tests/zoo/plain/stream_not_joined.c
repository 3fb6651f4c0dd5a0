/* A reduction is captured in parts, on two streams. The second stream waits for the first one, but the first one never
 * waits for the second: the capture cannot end.
 *
 * expect: unjoined | not joined
 * culprit: scale#1
 * innocent: scale#0 | add#0
 * source: NVIDIA/TransformerEngine#808
 * symptom: error
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float) };

typedef struct model {
    float *x, *parts[2], *y;
    cudaEvent_t begun, done;
} model;

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    CHECK(cudaEventRecord(m->begun, stream));
    CHECK(cudaStreamWaitEvent(zoo.side, m->begun, 0));
    CHECK(zoo_scale(m->parts[0], m->x, 2, N, stream));
    /* CULPRIT */
    CHECK(zoo_scale(m->parts[1], m->x, 3, N, zoo.side));
    if (zoo.correct) {
        CHECK(cudaEventRecord(m->done, zoo.side));
        CHECK(cudaStreamWaitEvent(stream, m->done, 0));
    }
    CHECK(zoo_add(m->y, m->parts[0], m->parts[1], N, stream));
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaEventCreateWithFlags(&m.begun, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&m.done, cudaEventDisableTiming));
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.parts[0], BYTES));
    CHECK(cudaMalloc((void **)&m.parts[1], BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(zoo_fill(m.x, 1, N, zoo.stream));
    zoo_capture(&graph, forward, &m);
    zoo_replay(&graph);
    result = zoo_end(m.y, N, 5);
    zoo_destroy(&graph);
    return result;
}
