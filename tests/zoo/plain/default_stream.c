/* A solver is captured on a non-blocking stream. Its preconditioner launches on the default stream: it runs while the
 * solver is captured, and is in no replay.
 *
 * expect: [leak]
 * culprit: scale#0
 * innocent: add#0
 * source: spiriMirror/libuipc#472
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float) };

typedef struct model {
    float *residual, *z, *x;
} model;

static void precondition(model *m, cudaStream_t stream)
{
    /* CULPRIT */
    CHECK(zoo_scale(m->z, m->residual, 0.5F, N, zoo.correct ? stream : cudaStreamLegacy));
}

static void iterate(void *user, cudaStream_t stream)
{
    model *m = user;
    precondition(m, stream);
    CHECK(zoo_add(m->x, m->x, m->z, N, stream));
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.residual, BYTES));
    CHECK(cudaMalloc((void **)&m.z, BYTES));
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(zoo_fill(m.x, 0, N, zoo.stream));
    CHECK(zoo_fill(m.residual, 8, N, zoo.stream));
    CHECK(cudaStreamSynchronize(zoo.stream));
    zoo_capture(&graph, iterate, &m);
    CHECK(cudaDeviceSynchronize());
    zoo_replay(&graph);
    CHECK(zoo_fill(m.residual, 4, N, zoo.stream));
    zoo_replay(&graph);
    result = zoo_end(m.x, N, 6);
    zoo_destroy(&graph);
    return result;
}
