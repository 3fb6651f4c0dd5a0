/* Attention takes from a plan how many rows each step reads. The plan is computed from the sequence's length, on the
 * device, outside of the graph, and only once: replays for longer sequences still use it.
 *
 * expect: stale | out of date | written since
 * culprit: copy_below#0 | memcpy#0
 * innocent: row_sum#0
 * source: vllm-project/vllm#36611
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { LONGEST = 64, BYTES = LONGEST * sizeof(float) };

typedef struct model {
    int *length, *plan;
    float *cache, *rows, *y;
} model;

static void plan(model *m, cudaStream_t stream)
{
    /* CULPRIT */
    CHECK(cudaMemcpyAsync(m->plan, m->length, sizeof(int), cudaMemcpyDeviceToDevice, stream));
}

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    if (zoo.correct || zoo.eager) /* the twin captures the plan, too */
        plan(m, stream);
    CHECK(cudaMemsetAsync(m->rows, 0, BYTES, stream));
    /* CULPRIT */
    CHECK(zoo_copy_below(m->rows, m->cache, m->plan, LONGEST, stream));
    CHECK(zoo_row_sum(m->y, m->rows, 1, LONGEST, stream));
}

int main(int argc, char **argv)
{
    static const int lengths[] = {16, LONGEST};
    zoo_graph graph;
    model m;
    int result = ZOO_RIGHT;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.length, sizeof(int)));
    CHECK(cudaMalloc((void **)&m.plan, sizeof(int)));
    CHECK(cudaMalloc((void **)&m.cache, BYTES));
    CHECK(cudaMalloc((void **)&m.rows, BYTES));
    CHECK(cudaMalloc((void **)&m.y, sizeof(float)));
    CHECK(zoo_fill(m.cache, 1, LONGEST, zoo.stream));
    CHECK(zoo_set_flag(m.length, lengths[0], zoo.stream));
    plan(&m, zoo.stream);
    zoo_capture(&graph, forward, &m);
    for (int i = 0; i < 2 && result == ZOO_RIGHT; i++) {
        CHECK(zoo_set_flag(m.length, lengths[i], zoo.stream));
        zoo_replay(&graph);
        result = zoo_end(m.y, 1, (float)lengths[i]);
    }
    zoo_destroy(&graph);
    return result;
}
