/* A random op takes its seed by value, and its offset from device memory. A new seed sets the offset back, but the
 * graph draws with the seed of the capture.
 *
 * expect: [frozen-value] seed | [frozen-argument] seed
 * culprit: draw#0
 * innocent: noise#0
 * source: pytorch/pytorch#84967
 * symptom: wrong
 * needs: vary=20,30 */
#include "tests/zoo/zoo_ops.h"

enum { N = 64, BYTES = N * sizeof(float) };

/* In place of random numbers: those of a seed begin with it, and each draw has the next one. The twin reads the seed
 * from device memory. */
BG_OP(draw, BG_IN(seeds), BG_IN(offset), BG_OUT(y), BG_VALUE(int, seed))
{
    cudaError_t error = zoo.correct ? zoo_scale(args->y.data, args->seeds.data, 1, N, stream)
                                    : zoo_fill(args->y.data, (float)args->seed, N, stream);
    return checked(error != cudaSuccess ? error : zoo_add(args->y.data, args->y.data, args->offset.data, N, stream));
}

BG_OP(noise, BG_IN(x), BG_INOUT(y))
{
    return checked(zoo_add(args->y.data, args->y.data, args->x.data, N, stream));
}

typedef struct model {
    float *x, *seeds, *offset, *y;
    int seed;
} model;

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    /* CULPRIT */
    BG_CALL(draw, stream, .seeds = floats(m->seeds, N), .offset = floats(m->offset, N), .y = floats(m->y, N),
            .seed = zoo.correct ? 0 : m->seed);
    return BG_CALL(noise, stream, .x = floats(m->x, N), .y = floats(m->y, N));
}

static void set_seed(model *m, int seed)
{
    m->seed = seed;
    CHECK(zoo_fill(m->seeds, (float)seed, N, zoo.stream));
    CHECK(zoo_fill(m->offset, 0, N, zoo.stream));
}

int main(int argc, char **argv)
{
    bg_graph *graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.seeds, BYTES));
    CHECK(cudaMalloc((void **)&m.offset, BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(zoo_fill(m.x, 1000, N, zoo.stream));
    set_seed(&m, zoo_value(20));
    zoo_capture_ops(&graph, forward, &m);
    zoo_replay_ops(graph);
    set_seed(&m, 500);
    zoo_replay_ops(graph);
    CHECK(zoo_fill(m.offset, 1, N, zoo.stream));
    zoo_replay_ops(graph);
    result = zoo_end(m.y, N, 1501);
    bg_graph_destroy(graph);
    return result;
}
