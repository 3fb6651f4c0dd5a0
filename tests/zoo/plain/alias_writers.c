/* A compiler adds the nodes of a graph, and gives an intermediate result and the final one the same memory, since the
 * last writer wins. It looks for edges by the names of the buffers: no edge lets the last writer wait.
 *
 * expect: [race] | unordered
 * culprit: add#0 | scale#0 | fill#0
 * innocent: -
 * source: ROCm/xla#839
 * symptom: wrong HOSTCUDA_SEED=1
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 256, BYTES = N * sizeof(float) };

/* Returns a node that runs after up to two others. */
static cudaGraphNode_t launch(cudaGraph_t graph, enum zoo_kernel kernel, void **arguments, cudaGraphNode_t first,
                              cudaGraphNode_t second)
{
    const struct cudaKernelNodeParams parameters = {
        .func = (void *)zoo_kernel(kernel), .gridDim = {2, 1, 1}, .blockDim = {128, 1, 1}, .kernelParams = arguments};
    cudaGraphNode_t node, after[] = {first, second};
    /* CULPRIT */
    CHECK(cudaGraphAddKernelNode(&node, graph, after, (size_t)(first != NULL) + (second != NULL), &parameters));
    return node;
}

int main(int argc, char **argv)
{
    float *x, *intermediate, *converted, *output, one = 1, three = 3;
    cudaGraphNode_t writer, reader;
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    int n = N, microseconds = 1000, result;

    zoo_begin(argc, argv);
    CHECK(cudaMalloc((void **)&x, BYTES));
    CHECK(cudaMalloc((void **)&converted, BYTES));
    CHECK(cudaMalloc((void **)&output, BYTES));
    CHECK(zoo_fill(x, 5, N, zoo.stream));
    intermediate = output;
    CHECK(cudaGraphCreate(&graph, 0));
    writer = launch(graph, ZOO_DELAY, (void *[]){&microseconds}, NULL, NULL);
    writer = launch(graph, ZOO_FILL, (void *[]){&intermediate, &one, &n}, writer, NULL);
    reader = launch(graph, ZOO_ADD, (void *[]){&converted, &intermediate, &x, &n}, writer, NULL);
    if (zoo.correct)
        (void)launch(graph, ZOO_SCALE, (void *[]){&output, &x, &three, &n}, writer, reader);
    else
        (void)launch(graph, ZOO_SCALE, (void *[]){&output, &x, &three, &n}, NULL, NULL);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphLaunch(exec, zoo.stream));
    result = zoo_end(output, N, 15);
    if (result == ZOO_RIGHT)
        result = zoo_end(converted, N, 6);
    CHECK(cudaGraphExecDestroy(exec));
    return result;
}
