/* A replay begins with a copy from pinned memory. The host runs ahead, and fills this memory for the next step before
 * the copy of the last one has run.
 *
 * expect: unordered | host-source-changed | overwritten | overwrites
 * culprit: memcpy#0
 * innocent: add#0
 * source: lightseekorg/tokenspeed#376
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float), STEPS = 4 };

typedef struct model {
    float *staging, *x, *sum;
} model;

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    /* CULPRIT */
    CHECK(cudaMemcpyAsync(m->x, m->staging, BYTES, cudaMemcpyHostToDevice, stream));
    CHECK(zoo_add(m->sum, m->sum, m->x, N, stream));
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMallocHost((void **)&m.staging, BYTES));
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.sum, BYTES));
    CHECK(cudaMemsetAsync(m.sum, 0, BYTES, zoo.stream));
    zoo_capture(&graph, forward, &m);
    CHECK(zoo_delay(10000, zoo.stream)); /* an earlier step that still runs */
    for (int step = 1; step <= STEPS; step++) {
        for (int i = 0; i < N; i++)
            m.staging[i] = (float)step;
        zoo_replay(&graph);
        if (zoo.correct)
            CHECK(cudaStreamSynchronize(zoo.stream));
    }
    result = zoo_end(m.sum, N, 1 + 2 + 3 + 4);
    zoo_destroy(&graph);
    return result;
}
