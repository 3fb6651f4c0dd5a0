/* Weights are updated in place, and then derived weights are computed from them, into new memory. The graph reads the
 * derived weights that there were at capture: their memory is never freed, and the output does not change.
 *
 * expect: [unstable-pointer] | [moved] | [frozen-argument] w
 * culprit: project#0
 * innocent: -
 * source: vllm-project/vllm#48941, vllm-project/vllm#48251
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo_ops.h"

enum { N = 256, BYTES = N * sizeof(float) };

BG_OP(project, BG_IN(w), BG_IN(x), BG_OUT(y))
{
    return checked(zoo_add(args->y.data, args->w.data, args->x.data, N, stream));
}

typedef struct model {
    float *weights, *derived, *x, *y;
} model;

static void load(model *m, float value)
{
    CHECK(zoo_fill(m->weights, value, N, zoo.stream));
    if (m->derived == NULL || !zoo.correct) /* the twin keeps the memory */
        CHECK(cudaMalloc((void **)&m->derived, BYTES));
    CHECK(zoo_scale(m->derived, m->weights, 2, N, zoo.stream));
}

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    /* CULPRIT */
    return BG_CALL(project, stream, .w = floats(m->derived, N), .x = floats(m->x, N), .y = floats(m->y, N));
}

int main(int argc, char **argv)
{
    bg_graph *graph;
    model m = {0};
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.weights, BYTES));
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(zoo_fill(m.x, 1, N, zoo.stream));
    load(&m, 3);
    zoo_capture_ops(&graph, forward, &m);
    zoo_replay_ops(graph);
    load(&m, 10);
    zoo_replay_ops(graph);
    result = zoo_end(m.y, N, 21);
    bg_graph_destroy(graph);
    return result;
}
