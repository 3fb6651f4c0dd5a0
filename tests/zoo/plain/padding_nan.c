/* A padding row has length 0: its softmax has no element, and subtracts an infinite maximum from itself. The rows of a
 * group then share a scale, so that the NaN of the padding row reaches the live ones.
 *
 * expect: [nan-origin] | padding nan
 * culprit: add#0
 * innocent: gather#0
 * source: vllm-project/vllm#38436
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

#include <math.h>

enum { ROWS = 4, LIVE = 3, BYTES = ROWS * sizeof(float) };

typedef struct model {
    int *lengths;               /* of the rows: the static input */
    float *highest, *lowest;    /* of a sequence, by its length, and minus that */
    float *top, *minus_top, *x; /* of the rows */
    float *scale;               /* of the group */
    int *group;
    float *y;
} model;

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    CHECK(zoo_gather(m->top, m->highest, m->lengths, ROWS, stream));
    CHECK(zoo_gather(m->minus_top, m->lowest, m->lengths, ROWS, stream));
    /* CULPRIT */
    CHECK(zoo_add(m->x, m->top, m->minus_top, ROWS, stream));
    CHECK(zoo_row_sum(m->scale, m->x, 1, ROWS, stream));
    CHECK(zoo_gather(m->y, m->scale, m->group, ROWS, stream));
    CHECK(zoo_add(m->y, m->y, m->x, ROWS, stream));
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
    static const float highest[] = {-INFINITY, 2, 3}, lowest[] = {INFINITY, -2, -3};
    static const int groups[ROWS] = {0}, full[ROWS] = {1, 1, 2, 2};
    int batch[ROWS] = {2, 1, 2, 0};
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    batch[LIVE] = zoo.correct ? 1 : 0; /* the padding row's */
    m.lengths = upload(full, sizeof full);
    m.highest = upload(highest, sizeof highest);
    m.lowest = upload(lowest, sizeof lowest);
    m.group = upload(groups, sizeof groups);
    CHECK(cudaMalloc((void **)&m.top, BYTES));
    CHECK(cudaMalloc((void **)&m.minus_top, BYTES));
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.scale, sizeof(float)));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(cudaDeviceSynchronize());
    zoo_capture(&graph, forward, &m);
    CHECK(cudaMemcpyAsync(m.lengths, batch, sizeof batch, cudaMemcpyHostToDevice, zoo.stream));
    zoo_replay(&graph);
    result = zoo_end(m.y, LIVE, 0);
    zoo_destroy(&graph);
    return result;
}
