/* The adapter comes with the request, and the graph is captured with a request that has none: the adapter's op is not
 * in the graph, and later requests run without their adapters.
 *
 * expect: [frozen-control-flow] | [frozen-argument] delta
 * culprit: adapt#0
 * innocent: project#0
 * source: huggingface/text-generation-inference#2180
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo_ops.h"

enum { N = 256, BYTES = N * sizeof(float) };

BG_OP(project, BG_IN(x), BG_OUT(y))
{
    return checked(zoo_scale(args->y.data, args->x.data, 3, N, stream));
}

BG_OP(adapt, BG_IN(delta), BG_INOUT(y))
{
    return checked(zoo_add(args->y.data, args->y.data, args->delta.data, N, stream));
}

typedef struct model {
    float *x, *y, *delta;
} model;

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    BG_CALL(project, stream, .x = floats(m->x, N), .y = floats(m->y, N));
    if (m->delta == NULL)
        return BG_OK;
    /* CULPRIT */
    return BG_CALL(adapt, stream, .delta = floats(m->delta, N), .y = floats(m->y, N));
}

/* The twin has memory for the adapter of the request, 0 for none, before the capture. */
static void set_adapter(model *m, float *delta)
{
    if (zoo.correct)
        CHECK(cudaMemcpyAsync(m->delta, delta, BYTES, cudaMemcpyDeviceToDevice, zoo.stream));
    else
        m->delta = delta;
}

int main(int argc, char **argv)
{
    bg_graph *graph;
    model m = {0};
    float *adapter;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(cudaMalloc((void **)&adapter, BYTES));
    CHECK(zoo_fill(m.x, 1, N, zoo.stream));
    CHECK(zoo_fill(adapter, 4, N, zoo.stream));
    if (zoo.correct) {
        CHECK(cudaMalloc((void **)&m.delta, BYTES));
        CHECK(cudaMemsetAsync(m.delta, 0, BYTES, zoo.stream));
    }
    zoo_capture_ops(&graph, forward, &m);
    set_adapter(&m, adapter);
    zoo_replay_ops(graph);
    result = zoo_end(m.y, N, 3 + 4);
    bg_graph_destroy(graph);
    return result;
}
