/* Padding rows have slot -1, and the write to the cache takes a negative slot for one that is counted from the end: it
 * overwrites the last slot, which belongs to a live request. (As ops/padding_slot.c, with CUDA calls alone.)
 *
 * expect: padding
 * culprit: scatter#0
 * innocent: scale#0
 * source: vllm-project/vllm#43810
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { ROWS = 4, SLOTS = 8 };

typedef struct model {
    float *x, *keys, *cache;
    int *slots;
} model;

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    CHECK(zoo_scale(m->keys, m->x, 2, ROWS, stream));
    /* CULPRIT */
    CHECK(zoo_scatter(m->cache, m->keys, m->slots, ROWS, zoo.correct ? 0 : SLOTS, stream));
}

static void run(const zoo_graph *graph, const model *m, const float *x, const int *slots, int live)
{
    CHECK(cudaMemcpyAsync(m->x, x, ROWS * sizeof *x, cudaMemcpyHostToDevice, zoo.stream));
    CHECK(cudaMemcpyAsync(m->slots, slots, ROWS * sizeof *slots, cudaMemcpyHostToDevice, zoo.stream));
    zoo_rows(m->x, sizeof(float), ROWS, live, true);
    zoo_rows(m->keys, sizeof(float), ROWS, live, true);
    zoo_rows(m->slots, sizeof(int), ROWS, live, false);
    zoo_rows(m->cache, sizeof(float), SLOTS, SLOTS, true);
    zoo_replay(graph);
}

int main(int argc, char **argv)
{
    static const float first[ROWS] = {5, 6, 7, 8}, second[ROWS] = {1, 2, 3, 0};
    static const int high[ROWS] = {4, 5, 6, 7}, low[ROWS] = {0, 1, 2, -1};
    static const float expected[SLOTS] = {2, 4, 6, 0, 10, 12, 14, 16};
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.x, ROWS * sizeof(float)));
    CHECK(cudaMalloc((void **)&m.keys, ROWS * sizeof(float)));
    CHECK(cudaMalloc((void **)&m.cache, SLOTS * sizeof(float)));
    CHECK(cudaMalloc((void **)&m.slots, ROWS * sizeof(int)));
    CHECK(zoo_fill(m.cache, 0, SLOTS, zoo.stream));
    zoo_capture(&graph, forward, &m);
    run(&graph, &m, first, high, ROWS);
    run(&graph, &m, second, low, ROWS - 1);
    result = zoo_end_with(m.cache, expected, SLOTS);
    zoo_destroy(&graph);
    return result;
}
