/* As plain/freed_input.c, in a program whose allocator reports its blocks to the ledger: x is dropped after the
 * capture, and its block is given to z.
 *
 * expect: [freed] | [reused]
 * culprit: sum#0
 * innocent: -
 * source: pytorch/pytorch#170646
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo_ops.h"

enum { N = 256, BYTES = N * sizeof(float) };

BG_OP(sum, BG_IN(x), BG_OUT(y))
{
    return checked(zoo_add(args->y.data, args->x.data, args->x.data, N, stream));
}

typedef struct model {
    float *x, *y;
} model;

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    /* CULPRIT */
    return BG_CALL(sum, stream, .x = floats(m->x, N), .y = floats(m->y, N));
}

int main(int argc, char **argv)
{
    bg_graph *graph;
    model m;
    float *z;
    int result;

    zoo_begin(argc, argv);
    zoo_ledger();
    m.x = zoo_alloc(BYTES, "x");
    m.y = zoo_alloc(BYTES, "y");
    CHECK(zoo_fill(m.x, 1, N, zoo.stream));
    zoo_capture_ops(&graph, forward, &m);
    if (!zoo.correct)
        zoo_free(m.x);
    z = zoo_alloc(BYTES, "z");
    CHECK(zoo_fill(z, 7, N, zoo.stream));
    zoo_replay_ops(graph);
    result = zoo_end(m.y, N, 2);
    bg_graph_destroy(graph);
    return result;
}
