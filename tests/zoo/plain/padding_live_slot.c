/* Each row of a batch updates the state in its slot. A smaller batch is padded to the size of the graph, and its
 * padding rows still have the slots of the last batch: they update the states of requests that wait outside of this
 * batch.
 *
 * expect: padding
 * culprit: scatter#0
 * innocent: add#0
 * source: NVIDIA/TensorRT-LLM#13151
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { ROWS = 4, SLOTS = 4, DUMMY = SLOTS };

typedef struct model {
    float *x, *states, *now; /* slot DUMMY belongs to no request */
    int *slots;
} model;

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    CHECK(zoo_gather(m->now, m->states, m->slots, ROWS, stream));
    CHECK(zoo_add(m->now, m->now, m->x, ROWS, stream));
    /* CULPRIT */
    CHECK(zoo_scatter(m->states, m->now, m->slots, ROWS, 0, stream));
}

static void run(const zoo_graph *graph, const model *m, const int *slots, int rows)
{
    static const int dummies[ROWS] = {DUMMY, DUMMY, DUMMY, DUMMY};
    if (zoo.correct)
        CHECK(cudaMemcpyAsync(m->slots, dummies, sizeof dummies, cudaMemcpyHostToDevice, zoo.stream));
    CHECK(cudaMemcpyAsync(m->slots, slots, (size_t)rows * sizeof *slots, cudaMemcpyHostToDevice, zoo.stream));
    zoo_rows(m->x, sizeof(float), ROWS, rows, true);
    zoo_rows(m->now, sizeof(float), ROWS, rows, true);
    zoo_rows(m->slots, sizeof(int), ROWS, rows, false);
    zoo_rows(m->states, sizeof(float), SLOTS, SLOTS, true);
    zoo_replay(graph);
}

int main(int argc, char **argv)
{
    static const int all[ROWS] = {0, 1, 2, 3}, two[] = {0, 1};
    static const float expected[SLOTS] = {2, 2, 1, 1};
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.x, ROWS * sizeof(float)));
    CHECK(cudaMalloc((void **)&m.now, ROWS * sizeof(float)));
    CHECK(cudaMalloc((void **)&m.states, (SLOTS + 1) * sizeof(float)));
    CHECK(cudaMalloc((void **)&m.slots, ROWS * sizeof(int)));
    CHECK(zoo_fill(m.x, 1, ROWS, zoo.stream));
    CHECK(zoo_fill(m.states, 0, SLOTS + 1, zoo.stream));
    zoo_capture(&graph, forward, &m);
    run(&graph, &m, all, ROWS);
    run(&graph, &m, two, 2);
    result = zoo_end_with(m.states, expected, SLOTS);
    zoo_destroy(&graph);
    return result;
}
