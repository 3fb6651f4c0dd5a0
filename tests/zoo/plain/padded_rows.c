/* An operation takes the number of rows from the keys, which are padded to the graph's size. The slots have an entry
 * for each real row only: the padding rows read beyond them.
 *
 * expect: [fault] | out of range | past the end
 * culprit: scatter#0
 * innocent: scale#0
 * source: vllm-project/vllm#13418
 * symptom: error|wrong HOSTCUDA_MEMORY=poison,fence
 * needs: - */
#include "tests/zoo/zoo.h"

enum { ROWS = 128, REAL = 64, SLOTS = 256 };

typedef struct model {
    float *x, *keys, *cache;
    int *slots;
} model;

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    CHECK(zoo_scale(m->keys, m->x, 2, ROWS, stream));
    /* CULPRIT */
    CHECK(zoo_scatter(m->cache, m->keys, m->slots, zoo.correct ? REAL : ROWS, 0, stream));
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    int slots[REAL], result;
    model m;

    zoo_begin(argc, argv);
    for (int i = 0; i < REAL; i++)
        slots[i] = i;
    CHECK(cudaMalloc((void **)&m.x, ROWS * sizeof(float)));
    CHECK(cudaMalloc((void **)&m.keys, ROWS * sizeof(float)));
    CHECK(cudaMalloc((void **)&m.cache, SLOTS * sizeof(float)));
    CHECK(cudaMalloc((void **)&m.slots, REAL * sizeof(int)));
    CHECK(cudaMemcpy(m.slots, slots, sizeof slots, cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    CHECK(zoo_fill(m.x, 100, ROWS, zoo.stream));
    CHECK(zoo_fill(m.x, 1, REAL, zoo.stream));
    zoo_capture(&graph, forward, &m);
    zoo_replay(&graph);
    result = zoo_end(m.cache, REAL, 2);
    zoo_destroy(&graph);
    return result;
}
