/* A graph reads x. The program drops x after the capture, and its caching allocator gives the block to z: the address
 * stays mapped, and the replay reads z without an error.
 *
 * expect: [freed] | [reused]
 * culprit: add#0
 * innocent: fill#0
 * source: pytorch/pytorch#170646
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 256, BYTES = N * sizeof(float) };

typedef struct model {
    float *x, *y;
} model;

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    /* CULPRIT */
    CHECK(zoo_add(m->y, m->x, m->x, N, stream));
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m;
    float *z;
    int result;

    zoo_begin(argc, argv);
    m.x = zoo_alloc(BYTES, "x");
    m.y = zoo_alloc(BYTES, "y");
    CHECK(zoo_fill(m.x, 1, N, zoo.stream));
    zoo_capture(&graph, forward, &m);
    if (!zoo.correct)
        zoo_free(m.x);
    z = zoo_alloc(BYTES, "z");
    CHECK(zoo_fill(z, 7, N, zoo.stream));
    zoo_replay(&graph);
    result = zoo_end(m.y, N, 2);
    zoo_destroy(&graph);
    return result;
}
