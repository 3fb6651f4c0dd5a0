/* A batch is padded with copies of the slot of its first row: the padding rows write to the slot of a live request,
 * too.
 *
 * expect: padding
 * culprit: scatter#0
 * innocent: scale#0
 * source: m0at/rvllm#32
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { ROWS = 256, LIVE = 2, SLOTS = 8 };

typedef struct model {
    float *x, *keys, *cache;
    int *slots;
} model;

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    CHECK(zoo_scale(m->keys, m->x, 2, ROWS, stream));
    /* CULPRIT */
    CHECK(zoo_scatter(m->cache, m->keys, m->slots, ROWS, 0, stream));
}

int main(int argc, char **argv)
{
    static const float expected[SLOTS] = {0, 0, 0, 10, 0, 12, 0, 0}, batch[LIVE] = {5, 6};
    int slots[ROWS] = {3, 5};
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    for (int row = LIVE; row < ROWS; row++)
        slots[row] = zoo.correct ? -1 : slots[0]; /* the kernel skips rows whose slot is -1 */
    CHECK(cudaMalloc((void **)&m.x, ROWS * sizeof(float)));
    CHECK(cudaMalloc((void **)&m.keys, ROWS * sizeof(float)));
    CHECK(cudaMalloc((void **)&m.cache, SLOTS * sizeof(float)));
    CHECK(cudaMalloc((void **)&m.slots, ROWS * sizeof(int)));
    CHECK(zoo_fill(m.cache, 0, SLOTS, zoo.stream));
    CHECK(zoo_fill(m.x, 0, ROWS, zoo.stream));
    zoo_capture(&graph, forward, &m);
    CHECK(cudaMemcpyAsync(m.x, batch, sizeof batch, cudaMemcpyHostToDevice, zoo.stream));
    CHECK(cudaMemcpyAsync(m.slots, slots, sizeof slots, cudaMemcpyHostToDevice, zoo.stream));
    zoo_rows(m.x, sizeof(float), ROWS, LIVE, true);
    zoo_rows(m.keys, sizeof(float), ROWS, LIVE, true);
    zoo_rows(m.slots, sizeof(int), ROWS, LIVE, false);
    zoo_rows(m.cache, sizeof(float), SLOTS, SLOTS, true);
    zoo_replay(&graph);
    result = zoo_end_with(m.cache, expected, SLOTS);
    zoo_destroy(&graph);
    return result;
}
