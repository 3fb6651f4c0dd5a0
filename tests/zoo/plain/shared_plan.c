/* Two kinds of attention, global and with a sliding window, keep their plans in one workspace. Eagerly, each is planned
 * right before it runs. For a graph both are planned before the launch: both kernels use the plan that came last.
 *
 * expect: overwritten | overwrites
 * culprit: copy_below | memcpy
 * innocent: row_sum
 * source: NVIDIA/TensorRT-LLM#18436
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { LONGEST = 64, BYTES = LONGEST * sizeof(float), GLOBAL = 0, WINDOW = 1, KINDS = 2 };

typedef struct model {
    int *plan[KINDS], *limits; /* pinned: how many rows each kind reads */
    float *cache, *rows, *y;
} model;

static void plan(const model *m, int kind, cudaStream_t stream)
{
    /* CULPRIT */
    CHECK(cudaMemcpyAsync(m->plan[kind], &m->limits[kind], sizeof(int), cudaMemcpyHostToDevice, stream));
}

static void attention(const model *m, int kind, cudaStream_t stream)
{
    if (zoo.eager)
        plan(m, kind, stream);
    CHECK(cudaMemsetAsync(m->rows, 0, BYTES, stream));
    /* CULPRIT */
    CHECK(zoo_copy_below(m->rows, m->cache, m->plan[kind], LONGEST, stream));
    CHECK(zoo_row_sum(m->y + kind, m->rows, 1, LONGEST, stream));
}

static void forward(void *user, cudaStream_t stream)
{
    attention(user, GLOBAL, stream);
    attention(user, WINDOW, stream);
}

int main(int argc, char **argv)
{
    static const float expected[KINDS] = {48, 8};
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.plan[GLOBAL], sizeof(int)));
    m.plan[WINDOW] = m.plan[GLOBAL];
    if (zoo.correct) /* a workspace for each kind */
        CHECK(cudaMalloc((void **)&m.plan[WINDOW], sizeof(int)));
    CHECK(cudaMallocHost((void **)&m.limits, KINDS * sizeof(int)));
    CHECK(cudaMalloc((void **)&m.cache, BYTES));
    CHECK(cudaMalloc((void **)&m.rows, BYTES));
    CHECK(cudaMalloc((void **)&m.y, KINDS * sizeof(float)));
    CHECK(zoo_fill(m.cache, 1, LONGEST, zoo.stream));
    zoo_capture(&graph, forward, &m);
    m.limits[GLOBAL] = 48; /* the sequence's length */
    m.limits[WINDOW] = 8;
    plan(&m, GLOBAL, zoo.stream);
    plan(&m, WINDOW, zoo.stream);
    zoo_replay(&graph);
    result = zoo_end_with(m.y, expected, KINDS);
    zoo_destroy(&graph);
    return result;
}
