/* Nodes that are added and changed by the calls that take the parameters of any kind: the kind stands in the
 * parameters. */
#include "program.h"

enum { N = 64, BYTES = N * sizeof(int) };

__global__ void add(int *values, int number)
{
    values[threadIdx.x] += number + static_cast<int>(threadIdx.x);
}

static void CUDART_CB double_first(void *data)
{
    static_cast<int *>(data)[0] *= 2;
}

static cudaGraphNodeParams params_of(cudaGraphNodeType type)
{
    cudaGraphNodeParams params = {};
    params.type = type;
    return params;
}

static cudaGraphNodeParams fill_with(int *values, unsigned value)
{
    cudaGraphNodeParams params = params_of(cudaGraphNodeTypeMemset);
    params.memset.dst = values;
    params.memset.value = value;
    params.memset.elementSize = sizeof(int);
    params.memset.width = N;
    params.memset.height = 1;
    return params;
}

static cudaGraphNodeParams launch_add(void **arguments)
{
    cudaGraphNodeParams params = params_of(cudaGraphNodeTypeKernel);
    const cudaKernelNodeParams kernel = kernel_params(add, 1, N, arguments);
    params.kernel.func = kernel.func;
    params.kernel.gridDim = kernel.gridDim;
    params.kernel.blockDim = kernel.blockDim;
    params.kernel.kernelParams = kernel.kernelParams;
    return params;
}

static cudaGraphNodeParams copy_out(int *out, int *values)
{
    cudaGraphNodeParams params = params_of(cudaGraphNodeTypeMemcpy);
    cudaMemcpy3DParms *copy = &params.memcpy.copyParams;
    copy->dstPtr = make_cudaPitchedPtr(out, BYTES, N, 1);
    copy->srcPtr = make_cudaPitchedPtr(values, BYTES, N, 1);
    copy->extent = make_cudaExtent(BYTES, 1, 1);
    copy->kind = cudaMemcpyDeviceToHost;
    return params;
}

static cudaGraphNodeParams call(cudaHostFn_t function, void *data)
{
    cudaGraphNodeParams params = params_of(cudaGraphNodeTypeHost);
    params.host.fn = function;
    params.host.userData = data;
    return params;
}

static cudaGraphNode_t add_after(cudaGraph_t graph, cudaGraphNode_t before, cudaGraphNodeParams params)
{
    cudaGraphNode_t node;
    CHECK(cudaGraphAddNode(&node, graph, &before, nullptr, before != nullptr, &params));
    return node;
}

static void expect_out(const char *name, cudaGraphExec_t exec, cudaStream_t stream, const int *out, int first)
{
    launch_and_wait(exec, stream);
    EXPECT(out[0], 2 * first);
    for (int i = 1; i < N; i++)
        EXPECT(out[i], first + i);
    std::printf("%s: %d %d ... %d\n", name, out[0], out[1], out[N - 1]);
}

int main()
{
    cudaStream_t stream = make_stream();
    cudaGraph_t graph;
    cudaGraphExec_t exec, fresh;
    int *values = allocate<int>(N), *out = allocate_pinned<int>(N), *other_out = allocate_pinned<int>(N), number = 5;
    void *arguments[] = {&values, &number};
    CHECK(cudaGraphCreate(&graph, 0));
    const cudaGraphNode_t fill = add_after(graph, nullptr, fill_with(values, 100));
    const cudaGraphNode_t kernel = add_after(graph, fill, launch_add(arguments));
    const cudaGraphNode_t nothing = add_after(graph, kernel, params_of(cudaGraphNodeTypeEmpty));
    const cudaGraphNode_t copy = add_after(graph, nothing, copy_out(out, values));
    const cudaGraphNode_t host = add_after(graph, copy, call(double_first, out));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    expect_out("as it was made", exec, stream, out, 105);

    cudaGraphNodeParams params = fill_with(values, 200);
    CHECK(cudaGraphExecNodeSetParams(exec, fill, &params));
    number = 6;
    params = launch_add(arguments);
    CHECK(cudaGraphExecNodeSetParams(exec, kernel, &params));
    params = copy_out(other_out, values);
    CHECK(cudaGraphExecNodeSetParams(exec, copy, &params));
    params = call(double_first, other_out);
    CHECK(cudaGraphExecNodeSetParams(exec, host, &params));
    expect_out("the executable graph changed", exec, stream, other_out, 206);

    number = 7;
    params = launch_add(arguments);
    CHECK(cudaGraphNodeSetParams(kernel, &params));
    CHECK(cudaGraphInstantiate(&fresh, graph, 0));
    expect_out("the graph changed", fresh, stream, out, 107);
    expect_out("which the first does not see", exec, stream, other_out, 206);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphExecDestroy(fresh));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaFree(values));
    CHECK(cudaFreeHost(out));
    CHECK(cudaFreeHost(other_out));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
