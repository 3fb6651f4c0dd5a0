/* A library adds kernel nodes with as much shared memory as the device has, without asking what the kernel allows. The
 * driver finds that it does not fit when the node is added, an earlier one when the graph is instantiated: as an
 * invalid argument, without the kernel's name.
 *
 * expect: scale instantiat | scale resources | scale shared memory
 * culprit: scale#0
 * innocent: add#0
 * source: ml-explore/mlx#2628, NVlabs/instant-ngp#1538
 * symptom: error
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float), SHARED = 200 << 10 };

/* All of the shared memory that the device has for a block; a kernel gets no more than 48 KiB if it has not asked. */
static void add_scale(cudaGraph_t graph, cudaGraphNode_t *node, float *y, float *x)
{
    float factor = 2;
    int n = N;
    void *arguments[] = {&y, &x, &factor, &n};
    const struct cudaKernelNodeParams params = {.func = (void *)zoo_kernel(ZOO_SCALE),
                                                .gridDim = {1, 1, 1},
                                                .blockDim = {N, 1, 1},
                                                .sharedMemBytes = SHARED,
                                                .kernelParams = arguments};
    if (zoo.correct)
        CHECK(cudaFuncSetAttribute(zoo_kernel(ZOO_SCALE), cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED));
    /* CULPRIT */
    CHECK(cudaGraphAddKernelNode(node, graph, NULL, 0, &params));
}

static void add_add(cudaGraph_t graph, const cudaGraphNode_t *after, float *y)
{
    int n = N;
    void *arguments[] = {&y, &y, &y, &n};
    const struct cudaKernelNodeParams params = {
        .func = (void *)zoo_kernel(ZOO_ADD), .gridDim = {1, 1, 1}, .blockDim = {N, 1, 1}, .kernelParams = arguments};
    cudaGraphNode_t node;
    CHECK(cudaGraphAddKernelNode(&node, graph, after, 1, &params));
}

int main(int argc, char **argv)
{
    cudaGraphNode_t scale;
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    float *x, *y;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&x, BYTES));
    CHECK(cudaMalloc((void **)&y, BYTES));
    CHECK(zoo_fill(x, 1, N, zoo.stream));
    CHECK(cudaGraphCreate(&graph, 0));
    add_scale(graph, &scale, y, x);
    add_add(graph, &scale, y);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphLaunch(exec, zoo.stream));
    return zoo_end(y, N, 4);
}
