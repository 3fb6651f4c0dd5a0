/* A library makes its handle, which has a workspace, when it is called first. Here that is in a capture, in which no
 * memory may be allocated: the call fails, and the capture is invalidated.
 *
 * expect: [capture-broken] cudaMalloc
 * culprit: cudaMalloc
 * innocent: add#0
 * source: pytorch/pytorch#99397, paiml/entrenar#325
 * symptom: error
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float) };

typedef struct model {
    float *x, *y;
} model;

/* ---- the library ---- */

static float *workspace; /* of its only handle */

static bool make_handle(void)
{
    cudaError_t error = cudaSuccess;
    if (workspace == NULL)
        /* CULPRIT */
        error = cudaMalloc((void **)&workspace, BYTES);
    return error == cudaSuccess;
}

static bool multiply(float *y, const float *x, float factor, cudaStream_t stream)
{
    return make_handle() && zoo_scale(workspace, x, factor, N, stream) == cudaSuccess &&
           zoo_scale(y, workspace, 1, N, stream) == cudaSuccess;
}

/* ---- the program ---- */

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    CHECK(zoo_add(m->y, m->x, m->x, N, stream));
    if (!multiply(m->y, m->y, 3, stream))
        fprintf(stderr, "multiply: the library is not initialised\n");
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(zoo_fill(m.x, 1, N, zoo.stream));
    if (zoo.correct)
        forward(&m, zoo.stream); /* warms up */
    zoo_capture(&graph, forward, &m);
    zoo_replay(&graph);
    result = zoo_end(m.y, N, 6);
    zoo_destroy(&graph);
    return result;
}
