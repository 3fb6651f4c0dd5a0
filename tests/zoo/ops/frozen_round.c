/* A rank takes its peer's data if the flag of this round is set. The round is counted on the host and passed by value:
 * a replay looks at the flag of the captured round, which the last replay left set, and takes the old data.
 *
 * expect: [frozen-value] round | [frozen-argument] round
 * culprit: arrived#0
 * innocent: receive#0
 * source: ROCm/aiter#3928
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo_ops.h"

enum { N = 64, BYTES = N * sizeof(float), ROUNDS = 2 };

/* In the twin the round is in device memory. */
BG_OP(arrived, BG_IN(flags), BG_IN(current), BG_OUT(limit), BG_VALUE(int, round))
{
    if (zoo.correct)
        return checked(zoo_gather(args->limit.data, args->flags.data, args->current.data, 1, stream));
    return checked(cudaMemcpyAsync(args->limit.data, (const int *)args->flags.data + args->round, sizeof(int),
                                   cudaMemcpyDeviceToDevice, stream));
}

BG_OP(receive, BG_IN(inbox), BG_IN(limit), BG_INOUT(y))
{
    return checked(zoo_copy_below(args->y.data, args->inbox.data, args->limit.data, N, stream));
}

typedef struct model {
    float *inbox, *y;
    int *flags, *current, *limit; /* a flag is the number of elements that have arrived: 0 or N */
    int round;
} model;

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    /* CULPRIT */
    BG_CALL(arrived, stream, .flags = ints(m->flags, ROUNDS), .current = ints(m->current, 1),
            .limit = ints(m->limit, 1), .round = zoo.correct ? 0 : m->round);
    return BG_CALL(receive, stream, .inbox = floats(m->inbox, N), .limit = ints(m->limit, 1), .y = floats(m->y, N));
}

int main(int argc, char **argv)
{
    bg_graph *graph = NULL;
    model m = {.round = 0};
    int result = ZOO_RIGHT;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.inbox, BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(cudaMalloc((void **)&m.flags, ROUNDS * sizeof(int)));
    CHECK(cudaMalloc((void **)&m.current, sizeof(int)));
    CHECK(cudaMalloc((void **)&m.limit, sizeof(int)));
    CHECK(cudaMemsetAsync(m.flags, 0, ROUNDS * sizeof(int), zoo.stream));
    for (; m.round < ROUNDS && result == ZOO_RIGHT; m.round++) {
        float taken = 0;
        CHECK(zoo_set_flag(m.current, m.round, zoo.stream));
        CHECK(zoo_fill(m.y, 0, N, zoo.stream));
        if (graph == NULL)
            zoo_capture_ops(&graph, forward, &m);
        for (int tries = 0; taken == 0; tries++) { /* until the peer's data is there */
            zoo_replay_ops(graph);
            CHECK(cudaMemcpyAsync(&taken, m.y, sizeof taken, cudaMemcpyDeviceToHost, zoo.stream));
            CHECK(cudaStreamSynchronize(zoo.stream));
            if (tries == 0) { /* the peer is later */
                CHECK(zoo_fill(m.inbox, (float)(m.round + 1), N, zoo.side));
                CHECK(zoo_set_flag(&m.flags[m.round], N, zoo.side));
                CHECK(cudaStreamSynchronize(zoo.side));
            }
        }
        result = zoo_end(m.y, N, (float)(m.round + 1));
    }
    bg_graph_destroy(graph);
    return result;
}
