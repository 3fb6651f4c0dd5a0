/* Ways in which an address comes into an executable graph, to memory that is freed before the last launch. The twin
 * frees it afterwards. shapes CASE [correct] */
#include "tests/cli/attach/programs/program.h"

static cudaStream_t stream;
static float *x, *y, *host;
static cudaGraphNode_t node;

cudaGraph_t build_sum(void)
{
    void *parameters[] = {&y, &x};
    struct cudaKernelNodeParams kernel = node_of(parameters);
    cudaGraph_t graph;
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphAddKernelNode(&node, graph, NULL, 0, &kernel));
    return graph;
}

cudaGraph_t build_fill(void)
{
    struct cudaMemsetParams fill = {.dst = x, .value = 0, .elementSize = 4, .width = FLOATS, .height = 1};
    cudaGraph_t graph;
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &fill));
    return graph;
}

cudaGraph_t build_parent(cudaGraph_t child)
{
    cudaGraph_t graph;
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, child));
    return graph;
}

cudaGraph_t capture_copy(float *from, enum cudaMemcpyKind kind)
{
    cudaGraph_t graph;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CUDA(cudaMemcpyAsync(y, from, BYTES, kind, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    return graph;
}

/* The frame is gone when the graph runs. */
cudaGraph_t capture_frame(void)
{
    float frame[FLOATS];
    memset(frame, 0, sizeof frame);
    return capture_copy(frame, cudaMemcpyHostToDevice);
}

static cudaGraph_t make(const char *name, bool correct)
{
    if (is_case(name, "fill"))
        return build_fill();
    if (is_case(name, "child"))
        return build_parent(build_sum());
    if (is_case(name, "host"))
        return capture_copy(host, cudaMemcpyHostToDevice);
    if (is_case(name, "frame"))
        return correct ? capture_copy(host, cudaMemcpyHostToDevice) : capture_frame();
    return build_sum();
}

/* x becomes other memory, and the executable graph reads that. */
void change(const char *name, cudaGraphExec_t exec)
{
    void *parameters[] = {&y, &x};
    struct cudaKernelNodeParams kernel = node_of(parameters);
    cudaGraphExecUpdateResultInfo info;
    float *old = x;
    if (!is_case(name, "set") && !is_case(name, "updated"))
        return;
    CUDA(cudaMalloc((void **)&x, BYTES));
    CUDA(cudaMemset(x, 0, BYTES));
    if (is_case(name, "set"))
        CUDA(cudaGraphExecKernelNodeSetParams(exec, node, &kernel));
    else
        CUDA(cudaGraphExecUpdate(exec, build_sum(), &info));
    CUDA(cudaFree(old));
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
}

void release(const char *name)
{
    if (is_case(name, "host"))
        CUDA(cudaFreeHost(host));
    else if (!is_case(name, "frame"))
        CUDA(cudaFree(x));
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "built";
    bool correct = argc > 2;
    cudaGraphExec_t exec;

    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc((void **)&x, BYTES));
    CUDA(cudaMalloc((void **)&y, BYTES));
    CUDA(cudaMallocHost((void **)&host, BYTES));
    CUDA(cudaGraphInstantiate(&exec, make(name, correct), 0));
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    change(name, exec);
    if (!correct)
        release(name);
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    if (correct)
        release(name);
    printf("done\n");
    return 0;
}
