/* The program holds the output of a replay, and the next replay writes its output to the same memory.
 *
 * expect: overwritten | overwrites
 * culprit: add#0
 * innocent: -
 * source: pytorch/pytorch#104435, pytorch/pytorch#144386
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 256, BYTES = N * sizeof(float) };

typedef struct model {
    float *x, *y;
    zoo_graph graph;
} model;

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    m->y = zoo_alloc(BYTES, "y"); /* in each eager pass another block */
    /* CULPRIT */
    CHECK(zoo_add(m->y, m->x, m->x, N, stream));
}

static float *run(model *m, float value)
{
    float *copy;
    CHECK(zoo_fill(m->x, value, N, zoo.stream));
    zoo_replay(&m->graph);
    if (!zoo.correct)
        return m->y;
    copy = zoo_alloc(BYTES, "copy");
    CHECK(cudaMemcpyAsync(copy, m->y, BYTES, cudaMemcpyDeviceToDevice, zoo.stream));
    return copy;
}

int main(int argc, char **argv)
{
    float *first, *second, *sum;
    model m;
    int result;

    zoo_begin(argc, argv);
    m.x = zoo_alloc(BYTES, "x");
    sum = zoo_alloc(BYTES, "sum");
    zoo_capture(&m.graph, forward, &m);
    first = run(&m, 1);
    second = run(&m, 2);
    CHECK(zoo_add(sum, first, second, N, zoo.stream));
    result = zoo_end(sum, N, 2 + 4);
    zoo_destroy(&m.graph);
    return result;
}
