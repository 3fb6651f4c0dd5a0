/* A pass leaves its state for the next pass, by a pointer on the host that it sets to the pass's output. A replay does
 * not set the pointer: each one begins with the state before the capture.
 *
 * expect: [unstable-pointer] | [frozen-argument] state
 * culprit: cell#0
 * innocent: -
 * source: pytorch/pytorch#114844
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo_ops.h"

enum { N = 256, BYTES = N * sizeof(float) };

BG_OP(cell, BG_IN(state), BG_OUT(y))
{
    return checked(zoo_scale(args->y.data, args->state.data, 2, N, stream));
}

BG_OP(keep, BG_IN(x), BG_OUT(y))
{
    return checked(cudaMemcpyAsync(args->y.data, args->x.data, BYTES, cudaMemcpyDeviceToDevice, stream));
}

typedef struct model {
    float *state, *next;
} model;

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    float *state = m->state;
    /* CULPRIT */
    BG_CALL(cell, stream, .state = floats(state, N), .y = floats(m->next, N));
    if (zoo.correct)
        return BG_CALL(keep, stream, .x = floats(m->next, N), .y = floats(state, N));
    m->state = m->next;
    m->next = state;
    return BG_OK;
}

int main(int argc, char **argv)
{
    bg_graph *graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.state, BYTES));
    CHECK(cudaMalloc((void **)&m.next, BYTES));
    CHECK(zoo_fill(m.state, 1, N, zoo.stream));
    zoo_capture_ops(&graph, forward, &m); /* which runs the pass once */
    zoo_replay_ops(graph);
    zoo_replay_ops(graph);
    result = zoo_end(m.state, N, 2 * 2 * 2);
    bg_graph_destroy(graph);
    return result;
}
