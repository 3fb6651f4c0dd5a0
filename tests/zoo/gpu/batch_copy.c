/* A memory library copies with cudaMemcpyBatchAsync, which cannot be captured. The call fails, but does not break the
 * capture, and nobody looks at what it returned: the graph is without the copy.
 *
 * expect: cudaMemcpyBatchAsync | cuMemcpyBatchAsync
 * culprit: cudaMemcpyBatchAsync
 * innocent: add#0
 * source: rapidsai/rmm#2518, NVIDIA/cuopt#1753
 * symptom: wrong
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float) };

typedef struct model {
    float *from, *x, *y;
} model;

static cudaError_t copy(float *to, const float *from, cudaStream_t stream)
{
    struct cudaMemcpyAttributes attributes = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    void *const destination[] = {to};
    const void *const source[] = {from};
    const size_t bytes[] = {BYTES};
    size_t first = 0;
    if (zoo.correct)
        return cudaMemcpyAsync(to, from, BYTES, cudaMemcpyDeviceToDevice, stream);
    /* CULPRIT */
    return cudaMemcpyBatchAsync(destination, source, bytes, 1, &attributes, &first, 1, stream);
}

static void forward(void *user, cudaStream_t stream)
{
    model *m = user;
    (void)copy(m->x, m->from, stream);
    CHECK(zoo_add(m->y, m->x, m->x, N, stream));
}

int main(int argc, char **argv)
{
    zoo_graph graph;
    model m;
    int result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&m.from, BYTES));
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(zoo_fill(m.from, 3, N, zoo.stream));
    CHECK(zoo_fill(m.x, 0, N, zoo.stream));
    zoo_capture(&graph, forward, &m);
    zoo_replay(&graph);
    result = zoo_end(m.y, N, 6);
    zoo_destroy(&graph);
    return result;
}
