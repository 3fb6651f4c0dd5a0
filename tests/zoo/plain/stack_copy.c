/* An upload copies from an array on the stack of a function that has returned when the graph runs: each replay copies
 * what other functions left there.
 *
 * expect: [stack-copy]
 * culprit: memcpy#0
 * innocent: add#0
 * source: PaddlePaddle/Paddle#78568
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float), LARGEST = 1 << 14 };

typedef struct model {
    float *x, *y, *pinned;
} model;

static void upload(model *m, float value, cudaStream_t stream)
{
    float local[LARGEST], *from = zoo.correct ? m->pinned : local; /* the twin's belongs to the model */
    for (int i = 0; i < N; i++)
        from[i] = value;
    /* CULPRIT */
    CHECK(cudaMemcpyAsync(m->x, from, BYTES, cudaMemcpyHostToDevice, stream));
}

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    upload(m, 3, stream);
    CHECK(zoo_add(m->y, m->x, m->x, N, stream));
}

/* What any later call does with the stack. */
static void use_stack(void)
{
    volatile char other[1 << 17];
    for (size_t i = 0; i < sizeof other; i++)
        other[i] = 1;
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(cudaMallocHost((void **)&m.pinned, BYTES));
    zoo_capture(&graph, forward, &m);
    use_stack();
    zoo_replay(&graph);
    result = zoo_end(m.y, N, 6);
    zoo_destroy(&graph);
    return result;
}
