/* A kernel that sums what the ranks sent gets the mask of active ranks by value. A rank dies, and the mask changes on
 * the host; replays go on with the mask of the capture, and add what the dead rank left in its inbox.
 *
 * expect: [frozen-value]
 * culprit: scale#1
 * innocent: add#0
 * source: NVIDIA/TensorRT-LLM#16200
 * symptom: wrong
 * needs: vary=3,1 */
#include "tests/zoo/zoo.h"

enum { N = 64, RANKS = 2, BYTES = N * sizeof(float) };

typedef struct model {
    float *inbox[RANKS], *active[RANKS], *y;
    int *limits;   /* the twin's, in device memory: how much it takes of each inbox */
    unsigned mask; /* a bit for each active rank */
} model;

static bool is_active(const model *m, int rank)
{
    return (m->mask >> rank & 1) != 0;
}

static void take(const model *m, int rank, cudaStream_t stream)
{
    if (zoo.correct) {
        CHECK(zoo_fill(m->active[rank], 0, N, stream));
        CHECK(zoo_copy_below(m->active[rank], m->inbox[rank], m->limits + rank, N, stream));
    } else {
        /* CULPRIT */
        CHECK(zoo_scale(m->active[rank], m->inbox[rank], is_active(m, rank) ? 1 : 0, N, stream));
    }
}

static void combine(void *user, cudaStream_t stream)
{
    model *m = user;
    for (int rank = 0; rank < RANKS; rank++)
        take(m, rank, stream);
    CHECK(zoo_add(m->y, m->active[0], m->active[1], N, stream));
}

static void set_mask(model *m, unsigned mask)
{
    m->mask = mask;
    for (int rank = 0; rank < RANKS; rank++)
        CHECK(zoo_set_flag(m->limits + rank, is_active(m, rank) ? N : 0, zoo.stream));
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.limits, RANKS * sizeof *m.limits));
    set_mask(&m, (unsigned)zoo_value(3));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    for (int rank = 0; rank < RANKS; rank++) {
        CHECK(cudaMalloc((void **)&m.inbox[rank], BYTES));
        CHECK(cudaMalloc((void **)&m.active[rank], BYTES));
        CHECK(zoo_fill(m.inbox[rank], (float)(rank + 1), N, zoo.stream));
    }
    zoo_capture(&graph, combine, &m);
    zoo_replay(&graph);
    result = zoo_end(m.y, N, (float)m.mask); /* the first rank sends 1, the second 2 */
    set_mask(&m, 1);
    zoo_replay(&graph);
    if (result == ZOO_RIGHT)
        result = zoo_end(m.y, N, 1);
    zoo_destroy(&graph);
    return result;
}
