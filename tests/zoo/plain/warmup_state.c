/* A session runs its model twice before it captures it. The model updates a recurrent state in place: the first replay
 * begins with a state that has been updated two times.
 *
 * expect: warm-up | warmup
 * culprit: add#0
 * innocent: scale#0
 * source: microsoft/onnxruntime#32243
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float), WARM_UPS = 2 };

typedef struct model {
    float *x, *state, *y;
} model;

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    /* CULPRIT */
    CHECK(zoo_add(m->state, m->state, m->x, N, stream));
    CHECK(zoo_scale(m->y, m->state, 2, N, stream));
}

static void capture(zoo_graph *graph, model *m)
{
    float *saved;
    CHECK(cudaMalloc((void **)&saved, BYTES));
    if (zoo.correct)
        CHECK(cudaMemcpyAsync(saved, m->state, BYTES, cudaMemcpyDeviceToDevice, zoo.stream));
    for (int i = 0; i < WARM_UPS && !zoo.eager; i++)
        forward(m, zoo.stream);
    if (zoo.correct)
        CHECK(cudaMemcpyAsync(m->state, saved, BYTES, cudaMemcpyDeviceToDevice, zoo.stream));
    CHECK(cudaStreamSynchronize(zoo.stream));
    CHECK(cudaFree(saved));
    zoo_capture(graph, forward, m);
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.state, BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(zoo_fill(m.x, 5, N, zoo.stream));
    CHECK(zoo_fill(m.state, 0, N, zoo.stream));
    capture(&graph, &m);
    zoo_replay(&graph);
    result = zoo_end(m.y, N, 10);
    zoo_destroy(&graph);
    return result;
}
