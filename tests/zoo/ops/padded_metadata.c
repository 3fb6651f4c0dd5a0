/* The offsets of the sequences are in a buffer for the largest batch. The size of a graph is rounded up beyond that:
 * its last rows read offsets that are not there.
 *
 * expect: [out-of-range] offsets | [fault]
 * culprit: attention#0
 * innocent: embed#0
 * source: xLLM-AI/xllm#1939
 * symptom: error HOSTCUDA_MEMORY=poison,fence
 * needs: - */
#include "tests/zoo/zoo_ops.h"

enum { LARGEST = 128, ROWS = 256 };

BG_OP(embed, BG_IN(x), BG_OUT(keys))
{
    return checked(zoo_scale(args->keys.data, args->x.data, 2, LARGEST, stream));
}

BG_OP(attention, BG_IN(keys), BG_IN(offsets), BG_OUT(y))
{
    return checked(zoo_gather(args->y.data, args->keys.data, args->offsets.data, ROWS, stream));
}

typedef struct model {
    float *x, *keys, *y;
    int *offsets;
} model;

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    BG_CALL(embed, stream, .x = floats(m->x, LARGEST), .keys = floats(m->keys, LARGEST));
    /* CULPRIT */
    return BG_CALL(attention, stream, .keys = floats(m->keys, LARGEST), .offsets = ints(m->offsets, ROWS),
                   .y = floats(m->y, ROWS));
}

int main(int argc, char **argv)
{
    bg_graph *graph;
    model m;
    int offsets[ROWS], result, count;

    zoo_begin(argc, argv);
    count = zoo.correct ? ROWS : LARGEST;
    for (int i = 0; i < ROWS; i++)
        offsets[i] = i < LARGEST ? i : LARGEST - 1; /* the twin's last ones repeat that of the last sequence */
    CHECK(cudaMalloc((void **)&m.keys, LARGEST * sizeof(float)));
    CHECK(cudaMalloc((void **)&m.y, ROWS * sizeof(float)));
    CHECK(cudaMalloc((void **)&m.offsets, (size_t)count * sizeof(int)));
    CHECK(cudaMalloc((void **)&m.x, LARGEST * sizeof(float))); /* on a GPU it begins where the offsets end */
    CHECK(cudaMemcpy(m.offsets, offsets, (size_t)count * sizeof(int), cudaMemcpyHostToDevice));
    CHECK(cudaDeviceSynchronize());
    CHECK(zoo_fill(m.x, 1, LARGEST, zoo.stream));
    zoo_capture_ops(&graph, forward, &m);
    zoo_replay_ops(graph);
    result = zoo_end(m.y, LARGEST, 2);
    bg_graph_destroy(graph);
    return result;
}
