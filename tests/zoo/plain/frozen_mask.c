/* A kernel that sums what the ranks sent gets the mask of active ranks by value. A rank dies, and the mask changes on
 * the host; replays go on with the mask of the capture, and add what the dead rank left in its inbox.
 *
 * expect: [frozen-value]
 * culprit: scale#1
 * innocent: add#0
 * source: NVIDIA/TensorRT-LLM#16200
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, RANKS = 2, BYTES = N * sizeof(float) };

typedef struct model {
    float *inbox[RANKS], *active[RANKS], *y;
    unsigned mask; /* a bit for each active rank */
} model;

static void combine(void *user, cudaStream_t stream)
{
    model *m = user;
    for (int rank = 0; rank < RANKS; rank++)
        /* CULPRIT */
        CHECK(zoo_scale(m->active[rank], m->inbox[rank], (m->mask >> rank & 1) != 0 ? 1 : 0, N, stream));
    CHECK(zoo_add(m->y, m->active[0], m->active[1], N, stream));
}

static void set_mask(model *m, unsigned mask, zoo_graph *graph)
{
    m->mask = mask;
    if (zoo.correct) { /* a graph is for one mask */
        zoo_destroy(graph);
        zoo_capture(graph, combine, m);
    }
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m = {.mask = 3};
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    for (int rank = 0; rank < RANKS; rank++) {
        CHECK(cudaMalloc((void **)&m.inbox[rank], BYTES));
        CHECK(cudaMalloc((void **)&m.active[rank], BYTES));
        CHECK(zoo_fill(m.inbox[rank], (float)(rank + 1), N, zoo.stream));
    }
    zoo_capture(&graph, combine, &m);
    zoo_replay(&graph);
    result = zoo_end(m.y, N, 3);
    set_mask(&m, 1, &graph);
    zoo_replay(&graph);
    if (result == ZOO_RIGHT)
        result = zoo_end(m.y, N, 1);
    zoo_destroy(&graph);
    return result;
}
