/* Memory that a graph allocates and frees itself, first by explicit nodes, then by nodes of a stream capture. The
 * address is fixed when the node is created, and the memory exists only between the two nodes. */
#include "try.h"

#include "kernels/model/kernels.h"
#include <string.h>

enum { N = 4 };

static cudaError_t launch_and_print(cudaGraph_t graph, cudaStream_t stream, const char *name, const float *device)
{
    cudaGraphExec_t exec = NULL;
    cudaError_t error = cudaSuccess;
    float y[N];
    TRY(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 1; i <= 2; i++) {
        TRY(cudaGraphLaunch(exec, stream));
        TRY(cudaStreamSynchronize(stream));
        TRY(cudaMemcpy(y, device, sizeof y, cudaMemcpyDeviceToHost));
        printf("%s, launch %d: %g %g %g %g\n", name, i, y[0], y[1], y[2], y[3]);
    }
done:
    if (exec != NULL)
        cudaGraphExecDestroy(exec);
    return error;
}

/* allocate -> fill -> copy out -> free */
static cudaError_t run_explicit_graph(cudaStream_t stream, float *y)
{
    cudaGraph_t graph = NULL;
    cudaGraphNode_t allocate = NULL, fill = NULL, copy = NULL, release = NULL;
    struct cudaMemAllocNodeParams memory;
    struct cudaMemsetParams bytes = {NULL, N * sizeof(float), 0x3f800000, sizeof(float), N, 1}; /* 1.0f */
    cudaError_t error = cudaSuccess;
    memset(&memory, 0, sizeof memory);
    memory.poolProps.allocType = cudaMemAllocationTypePinned;
    memory.poolProps.location.type = cudaMemLocationTypeDevice;
    memory.bytesize = N * sizeof(float);
    TRY(cudaGraphCreate(&graph, 0));
    TRY(cudaGraphAddMemAllocNode(&allocate, graph, NULL, 0, &memory));
    bytes.dst = memory.dptr;
    TRY(cudaGraphAddMemsetNode(&fill, graph, &allocate, 1, &bytes));
    TRY(cudaGraphAddMemcpyNode1D(&copy, graph, &fill, 1, y, memory.dptr, N * sizeof(float), cudaMemcpyDeviceToDevice));
    TRY(cudaGraphAddMemFreeNode(&release, graph, &copy, 1, memory.dptr));
    error = launch_and_print(graph, stream, "by hand", y);
done:
    if (graph != NULL)
        cudaGraphDestroy(graph);
    return error;
}

/* y = 5 * (3 + 4), with two scratch arrays */
static cudaError_t queue_pass(cudaStream_t stream, float *y)
{
    float *a = NULL, *b = NULL;
    cudaError_t error = cudaSuccess;
    TRY(cudaMallocAsync((void **)&a, N * sizeof *a, stream));
    TRY(cudaMallocAsync((void **)&b, N * sizeof *b, stream));
    TRY(bgk_fill(a, 3, N, stream));
    TRY(bgk_fill(b, 4, N, stream));
    TRY(bgk_add(a, a, b, N, stream));
    TRY(bgk_scale(y, a, 5, N, stream));
    TRY(cudaFreeAsync(a, stream));
    TRY(cudaFreeAsync(b, stream));
done:
    return error;
}

static cudaError_t print_node_counts(cudaGraph_t graph)
{
    cudaGraphNode_t nodes[16];
    size_t count = 16, allocations = 0, frees = 0;
    cudaError_t error = cudaSuccess;
    TRY(cudaGraphGetNodes(graph, nodes, &count));
    for (size_t i = 0; i < count; i++) {
        enum cudaGraphNodeType type;
        TRY(cudaGraphNodeGetType(nodes[i], &type));
        allocations += type == cudaGraphNodeTypeMemAlloc;
        frees += type == cudaGraphNodeTypeMemFree;
    }
    printf("captured: %zu nodes, %zu allocate, %zu free\n", count, allocations, frees);
done:
    return error;
}

static cudaError_t captured(cudaStream_t stream, float *y)
{
    cudaGraph_t graph = NULL;
    cudaError_t error = cudaSuccess, ended;
    TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    error = queue_pass(stream, y);
    ended = cudaStreamEndCapture(stream, &graph);
    TRY(error ? error : ended);
    TRY(print_node_counts(graph));
    error = launch_and_print(graph, stream, "captured", y);
done:
    if (graph != NULL)
        cudaGraphDestroy(graph);
    return error;
}

int main(void)
{
    cudaStream_t stream = NULL;
    float *y = NULL;
    cudaError_t error = cudaSuccess;
    TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    TRY(cudaMalloc((void **)&y, N * sizeof *y));
    error = run_explicit_graph(stream, y);
    if (error == cudaSuccess)
        error = captured(stream, y);
done:
    cudaFree(y);
    if (stream != NULL)
        cudaStreamDestroy(stream);
    return error != cudaSuccess;
}
