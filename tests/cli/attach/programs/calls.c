/* What a program does with graphs, each call with its answer and the thread's last error: for the comparison of runs.
 */
#include "kernels.h"

#include <stdio.h>

#define SAY(call)                                                                                                      \
    printf("%.*s: %s, last %s\n", (int)(sizeof #call - 1), #call, cudaGetErrorName(call),                              \
           cudaGetErrorName(cudaPeekAtLastError()))

static cudaStream_t stream;
static float *x, *y, *z;

static void CUDART_CB count(void *counter)
{
    ++*(int *)counter;
}

static cudaGraph_t capture(float *to, const float *from, int *counter)
{
    cudaGraph_t graph = NULL;
    SAY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    SAY(cudaMemcpyAsync(to, from, BYTES, cudaMemcpyDeviceToDevice, stream));
    SAY(launch_add(to, from, stream));
    SAY(cudaLaunchHostFunc(stream, count, counter));
    SAY(cudaMemsetAsync(to + 1, 0, sizeof *to, stream));
    SAY(cudaStreamEndCapture(stream, &graph));
    return graph;
}

/* Built of nodes: a kernel, whose parameters are set later, and a child. */
static void build(cudaGraph_t child)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t node, other;
    void *first[] = {&y, &x}, *second[] = {&z, &x};
    struct cudaKernelNodeParams kernel = {
        (void *)(size_t)add_kernel(), {FLOATS / 128, 1, 1}, {128, 1, 1}, 0, first, NULL};

    SAY(cudaGraphCreate(&graph, 0));
    SAY(cudaGraphAddKernelNode(&node, graph, NULL, 0, &kernel));
    SAY(cudaGraphAddChildGraphNode(&other, graph, &node, 1, child));
    SAY(cudaGraphInstantiate(&exec, graph, 0));
    SAY(cudaGraphLaunch(exec, stream));
    kernel.kernelParams = second;
    SAY(cudaGraphExecKernelNodeSetParams(exec, node, &kernel));
    SAY(cudaGraphLaunch(exec, stream));
    SAY(cudaGraphNodeSetEnabled(exec, node, 0));
    SAY(cudaGraphLaunch(exec, stream));
    SAY(cudaStreamSynchronize(stream));
    SAY(cudaGraphDestroy(graph));
    SAY(cudaGraphExecDestroy(exec));
}

/* CUDA cannot copy such a graph. */
static void allocate(void)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    void *memory = NULL;
    SAY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    SAY(cudaMallocAsync(&memory, BYTES, stream));
    SAY(cudaMemcpyAsync(memory, x, BYTES, cudaMemcpyDeviceToDevice, stream));
    SAY(launch_add(z, memory, stream));
    SAY(cudaFreeAsync(memory, stream));
    SAY(cudaStreamEndCapture(stream, &graph));
    SAY(cudaGraphInstantiate(&exec, graph, 0));
    SAY(cudaGraphDestroy(graph));
    SAY(cudaGraphLaunch(exec, stream));
    SAY(cudaGraphLaunch(exec, stream));
    SAY(cudaStreamSynchronize(stream));
    SAY(cudaGraphExecDestroy(exec));
}

int main(void)
{
    float ones[FLOATS], result[4];
    int counter = 0;
    cudaGraph_t graph, other;
    cudaGraphExec_t exec = NULL;
    cudaGraphExecUpdateResultInfo info;
    void *more = NULL;

    for (int i = 0; i < FLOATS; i++)
        ones[i] = 1;
    SAY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    SAY(cudaMalloc((void **)&x, BYTES));
    SAY(cudaMalloc((void **)&y, BYTES));
    SAY(cudaMalloc((void **)&z, BYTES));
    SAY(cudaMemcpy(x, ones, BYTES, cudaMemcpyHostToDevice));
    graph = capture(y, x, &counter);
    other = capture(z, y, &counter);
    SAY(cudaMalloc(&more, (size_t)1 << 60)); /* an error that the program never asks for */
    SAY(cudaGraphInstantiate(&exec, graph, 0));
    SAY(cudaGraphLaunch(exec, stream));
    SAY(cudaMalloc(&more, BYTES));
    SAY(cudaFree(more));
    SAY(cudaGraphLaunch(exec, stream));
    SAY(cudaGraphExecUpdate(exec, other, &info));
    SAY(cudaGraphLaunch(exec, stream));
    SAY(cudaStreamSynchronize(stream));
    SAY(cudaGetLastError());
    build(graph);
    allocate();
    SAY(cudaGraphDestroy(graph));
    SAY(cudaGraphExecDestroy(exec));
    SAY(cudaGraphDestroy(other));
    SAY(cudaMemcpy(result, y, 2 * sizeof *y, cudaMemcpyDeviceToHost));
    SAY(cudaMemcpy(result + 2, z, 2 * sizeof *z, cudaMemcpyDeviceToHost));
    SAY(cudaFree(y));
    printf("%g %g %g %g, %d calls\n", result[0], result[1], result[2], result[3], counter);
    return counter;
}
