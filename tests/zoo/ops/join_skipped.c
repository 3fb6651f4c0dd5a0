/* The shared expert runs on a side stream, beside the routed one. A fused operation takes the place of the addition
 * that joins the streams, and reads the routed expert's result on the side stream, which has not waited for it.
 *
 * expect: [race]
 * culprit: fused_add#0 | expert#1
 * innocent: expert#0
 * source: AMD-Ecosystem/llama.cpp#71
 * symptom: wrong HOSTCUDA_SEED=1
 * needs: - */
#include "tests/zoo/zoo_ops.h"

enum { N = 256, BYTES = N * sizeof(float) };

BG_OP(expert, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    return checked(zoo_scale(args->y.data, args->x.data, args->factor, N, stream));
}

BG_OP(fused_add, BG_IN(a), BG_IN(b), BG_OUT(y))
{
    return checked(zoo_add(args->y.data, args->a.data, args->b.data, N, stream));
}

typedef struct model {
    float *x, *shared, *routed, *y;
} model;

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    bg_stream_wait_stream(zoo.side, stream);
    BG_CALL(expert, zoo.side, .x = floats(m->x, N), .y = floats(m->shared, N), .factor = 2);
    /* CULPRIT */
    BG_CALL(expert, stream, .x = floats(m->x, N), .y = floats(m->routed, N), .factor = 3);
    if (zoo.correct)
        bg_stream_wait_stream(zoo.side, stream);
    /* CULPRIT */
    BG_CALL(fused_add, zoo.side, .a = floats(m->shared, N), .b = floats(m->routed, N), .y = floats(m->y, N));
    return bg_stream_wait_stream(stream, zoo.side);
}

int main(int argc, char **argv)
{
    bg_graph *graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.shared, BYTES));
    CHECK(cudaMalloc((void **)&m.routed, BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(zoo_fill(m.x, 1, N, zoo.stream));
    zoo_capture_ops(&graph, forward, &m);
    CHECK(zoo_fill(m.x, 2, N, zoo.stream));
    zoo_replay_ops(graph);
    result = zoo_end(m.y, N, 10);
    bg_graph_destroy(graph);
    return result;
}
