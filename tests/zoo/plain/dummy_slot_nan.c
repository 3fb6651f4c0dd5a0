/* Padding rows write to slot 0 of the cache, which no request owns, and leave a NaN there. A live row reads slot 0 in
 * place of the entries that it does not have, with weight 0: but 0 times NaN is NaN.
 *
 * expect: padding
 * culprit: scatter#0 | scale#0
 * innocent: row_sum#0
 * source: sgl-project/sglang#32477
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

#include <math.h>

enum { ROWS = 4, LIVE = 2, SLOTS = 8, ENTRIES = 4, KNOWN = 3 };

typedef struct model {
    float *x, *cache, *read, *y;
    int *slots, *index; /* where each row writes; what a row reads: KNOWN entries, and slot 0 for the others */
} model;

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    float *others = m->read + KNOWN;
    /* CULPRIT */
    CHECK(zoo_scatter(m->cache, m->x, m->slots, ROWS, 0, stream));
    CHECK(zoo_gather(m->read, m->cache, m->index, ENTRIES, stream));
    if (zoo.correct) {
        CHECK(zoo_fill(others, 0, ENTRIES - KNOWN, stream));
    } else {
        /* CULPRIT */
        CHECK(zoo_scale(others, others, 0, ENTRIES - KNOWN, stream));
    }
    CHECK(zoo_row_sum(m->y, m->read, 1, ENTRIES, stream));
}

static void *upload(const void *from, size_t bytes)
{
    void *memory;
    CHECK(cudaMalloc(&memory, bytes));
    CHECK(cudaMemcpy(memory, from, bytes, cudaMemcpyHostToDevice));
    return memory;
}

int main(int argc, char **argv)
{
    static const float cache[SLOTS] = {0, 1, 1, 1, 1, 1, 1, 1}, x[ROWS] = {5, 6, NAN, NAN};
    static const int slots[ROWS] = {3, 4}, index[ENTRIES] = {1, 2, 3};
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    m.x = upload(x, sizeof x);
    m.cache = upload(cache, sizeof cache);
    m.slots = upload(slots, sizeof slots);
    m.index = upload(index, sizeof index);
    CHECK(cudaMalloc((void **)&m.read, ENTRIES * sizeof(float)));
    CHECK(cudaMalloc((void **)&m.y, sizeof(float)));
    CHECK(cudaDeviceSynchronize());
    zoo_capture(&graph, forward, &m);
    zoo_rows(m.x, sizeof(float), ROWS, LIVE, true);
    zoo_rows(m.cache + 1, sizeof(float), SLOTS - 1, SLOTS - 1, true);
    zoo_rows(m.y, sizeof(float), 1, 1, true);
    zoo_replay(&graph);
    result = zoo_end(m.y, 1, 7);
    zoo_destroy(&graph);
    return result;
}
