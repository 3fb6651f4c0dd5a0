/* A graph with several branches is replayed many times without a wait between. A driver of 2021 then mixed up the
 * replays: kernels ran out of order, or not at all. With a right driver it is right; the program is kept to try new
 * ones.
 *
 * expect: none
 * culprit: add | scale
 * innocent: fill#0
 * source: pytorch/pytorch#57556
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 1 << 12, BYTES = N * sizeof(float), BRANCHES = 4, DEPTH = 8, REPLAYS = 1000 };

typedef struct model {
    float *x, *parts[BRANCHES], *y;
    cudaStream_t branches[BRANCHES];
    cudaEvent_t begun, done[BRANCHES];
} model;

/* y += x for each branch: a branch takes x, doubles and halves it, and adds it to y after the branch before. */
static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    CHECK(cudaEventRecord(m->begun, stream));
    for (int i = 0; i < BRANCHES; i++) {
        cudaStream_t branch = m->branches[i];
        CHECK(cudaStreamWaitEvent(branch, m->begun, 0));
        /* CULPRIT */
        CHECK(zoo_scale(m->parts[i], m->x, 1, N, branch));
        for (int k = 0; k < DEPTH; k++)
            /* CULPRIT */
            CHECK(zoo_scale(m->parts[i], m->parts[i], k % 2 == 0 ? 2 : 0.5F, N, branch));
        if (i > 0)
            CHECK(cudaStreamWaitEvent(branch, m->done[i - 1], 0));
        /* CULPRIT */
        CHECK(zoo_add(m->y, m->y, m->parts[i], N, branch));
        CHECK(cudaEventRecord(m->done[i], branch));
        CHECK(cudaStreamWaitEvent(stream, m->done[i], 0));
    }
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(cudaEventCreateWithFlags(&m.begun, cudaEventDisableTiming));
    for (int i = 0; i < BRANCHES; i++) {
        CHECK(cudaMalloc((void **)&m.parts[i], BYTES));
        CHECK(cudaStreamCreateWithFlags(&m.branches[i], cudaStreamNonBlocking));
        CHECK(cudaEventCreateWithFlags(&m.done[i], cudaEventDisableTiming));
    }
    CHECK(zoo_fill(m.x, 1, N, zoo.stream));
    CHECK(zoo_fill(m.y, 0, N, zoo.stream));
    zoo_capture(&graph, forward, &m);
    for (int i = 0; i < REPLAYS; i++) {
        zoo_replay(&graph);
        if (zoo.correct) /* the way around it */
            CHECK(cudaStreamSynchronize(zoo.stream));
    }
    result = zoo_end(m.y, N, (float)REPLAYS * BRANCHES);
    zoo_destroy(&graph);
    return result;
}
