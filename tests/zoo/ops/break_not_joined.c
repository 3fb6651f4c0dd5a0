/* An eager op queues its work on a side stream and returns: nothing lets the next segment wait for that stream, and the
 * segment reads what the side stream may not have written yet.
 *
 * expect: unordered | [race] | not joined
 * culprit: prefetch#0
 * innocent: -
 * source: vllm-project/vllm#57785
 * symptom: wrong HOSTCUDA_SEED=1
 * needs: - */
#include "tests/zoo/zoo_ops.h"

enum { N = 256, BYTES = N * sizeof(float) };

static cudaEvent_t forked, joined;

BG_EAGER_OP(prefetch, BG_IN(table), BG_OUT(row))
{
    CHECK(cudaEventRecord(forked, stream));
    CHECK(cudaStreamWaitEvent(zoo.side, forked, 0));
    CHECK(zoo_delay(1000, zoo.side));
    CHECK(zoo_scale(args->row.data, args->table.data, 2, N, zoo.side));
    if (zoo.correct) {
        CHECK(cudaEventRecord(joined, zoo.side));
        CHECK(cudaStreamWaitEvent(stream, joined, 0));
    }
    return BG_OK;
}

BG_OP(embed, BG_IN(row), BG_OUT(y))
{
    return checked(zoo_add(args->y.data, args->row.data, args->row.data, N, stream));
}

typedef struct model {
    float *table, *row, *y;
} model;

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    /* CULPRIT */
    BG_CALL(prefetch, stream, .table = floats(m->table, N), .row = floats(m->row, N));
    return BG_CALL(embed, stream, .row = floats(m->row, N), .y = floats(m->y, N));
}

int main(int argc, char **argv)
{
    bg_graph *graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming));
    CHECK(cudaMalloc((void **)&m.table, BYTES));
    CHECK(cudaMalloc((void **)&m.row, BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(zoo_fill(m.table, 1, N, zoo.stream));
    zoo_capture_ops(&graph, forward, &m);
    CHECK(cudaDeviceSynchronize());
    CHECK(zoo_fill(m.table, 5, N, zoo.stream));
    zoo_replay_ops(graph);
    result = zoo_end(m.y, N, 20);
    bg_graph_destroy(graph);
    return result;
}
