/* A cache grows: its new blocks are cleared on the default stream, and handed out at once. The graph runs on a
 * non-blocking stream, which does not wait for the default one: the blocks may be cleared after it has written to them.
 *
 * expect: unordered | not ordered
 * culprit: memset#0 | scale#0
 * innocent: add#0
 * source: kekzl/imp#1652
 * symptom: wrong HOSTCUDA_SEED=2
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float) };

typedef struct model {
    float *x, *doubled, *cache;
} model;

static void grow(model *m)
{
    CHECK(zoo_delay(1000, cudaStreamLegacy)); /* earlier work */
    /* CULPRIT */
    CHECK(cudaMemset(m->cache, 0, BYTES));
    if (zoo.correct)
        CHECK(cudaStreamSynchronize(cudaStreamLegacy));
}

static void decode(void *user, cudaStream_t stream)
{
    model *m = user;
    CHECK(zoo_add(m->doubled, m->x, m->x, N, stream));
    /* CULPRIT */
    CHECK(zoo_scale(m->cache, m->doubled, 2, N, stream));
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.doubled, BYTES));
    CHECK(cudaMalloc((void **)&m.cache, BYTES));
    CHECK(zoo_fill(m.x, 3, N, zoo.stream));
    zoo_capture(&graph, decode, &m);
    grow(&m);
    zoo_replay(&graph);
    result = zoo_end(m.cache, N, 12);
    zoo_destroy(&graph);
    return result;
}
