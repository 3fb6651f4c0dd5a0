/* An executable graph whose nodes are given other parameters, one kind after the other: copy, memset, kernel, host
 * function, child graph and event. */
#include "program.h"

enum { N = 64, BYTES = N * sizeof(int) };

__global__ void add(int *sum, const int *a, const int *b, int more)
{
    sum[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x] + more;
}

__global__ void add_to_all(int *values, int more)
{
    values[threadIdx.x] += more;
}

struct work {
    int *in, *other_in, *out, *other_out, *a, *b, *other_b, *sum;
    cudaEvent_t event, other_event;
    long long found;
};

struct nodes {
    cudaGraphNode_t copy_in, fill, add, child, copy_out, host, record;
};

static void CUDART_CB read_first(void *data)
{
    work *w = static_cast<work *>(data);
    w->found = w->out[0];
}

static void CUDART_CB read_last_of_other(void *data)
{
    work *w = static_cast<work *>(data);
    w->found = w->other_out[N - 1];
}

static cudaGraph_t make_child(int *values, int more)
{
    cudaGraph_t graph;
    cudaGraphNode_t node;
    void *arguments[] = {&values, &more};
    const cudaKernelNodeParams kernel = kernel_params(add_to_all, 1, N, arguments);
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &kernel));
    return graph;
}

static cudaMemsetParams fill_with(int *memory, unsigned value)
{
    cudaMemsetParams params = {};
    params.dst = memory;
    params.value = value;
    params.elementSize = sizeof(int);
    params.width = N;
    params.height = 1;
    return params;
}

/* sum = in + b + 1; the child adds 100; out = sum; the host reads out */
static cudaGraph_t make_graph(work *w, nodes *n)
{
    cudaGraph_t graph, child = make_child(w->sum, 100);
    int more = 1;
    void *arguments[] = {&w->sum, &w->a, &w->b, &more};
    const cudaMemsetParams fill = fill_with(w->b, 10);
    const cudaKernelNodeParams kernel = kernel_params(add, 1, N, arguments);
    const cudaHostNodeParams host = {read_first, w};
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemcpyNode1D(&n->copy_in, graph, nullptr, 0, w->a, w->in, BYTES, cudaMemcpyHostToDevice));
    CHECK(cudaGraphAddMemsetNode(&n->fill, graph, nullptr, 0, &fill));
    const cudaGraphNode_t first[] = {n->copy_in, n->fill};
    CHECK(cudaGraphAddKernelNode(&n->add, graph, first, 2, &kernel));
    CHECK(cudaGraphAddChildGraphNode(&n->child, graph, &n->add, 1, child));
    CHECK(cudaGraphAddMemcpyNode1D(&n->copy_out, graph, &n->child, 1, w->out, w->sum, BYTES, cudaMemcpyDeviceToHost));
    CHECK(cudaGraphAddHostNode(&n->host, graph, &n->copy_out, 1, &host));
    CHECK(cudaGraphAddEventRecordNode(&n->record, graph, &n->host, 1, w->event));
    CHECK(cudaGraphDestroy(child));
    return graph;
}

static void expect_found(const char *name, cudaGraphExec_t exec, cudaStream_t stream, const work &w, long long wanted)
{
    launch_and_wait(exec, stream);
    EXPECT(w.found, wanted);
    std::printf("%s: %lld\n", name, w.found);
}

static void change_all(cudaGraphExec_t exec, const nodes &n, cudaStream_t stream, work *w)
{
    expect_found("as it was made", exec, stream, *w, 0 + 10 + 1 + 100);
    CHECK(cudaGraphExecMemcpyNodeSetParams1D(exec, n.copy_in, w->a, w->other_in, BYTES, cudaMemcpyHostToDevice));
    expect_found("another copy", exec, stream, *w, 1000 + 10 + 1 + 100);
    const cudaMemsetParams fill = fill_with(w->other_b, 20);
    CHECK(cudaGraphExecMemsetNodeSetParams(exec, n.fill, &fill));
    expect_found("another memset, which nothing reads", exec, stream, *w, 1000 + 10 + 1 + 100);
    int more = 2;
    void *arguments[] = {&w->sum, &w->a, &w->other_b, &more};
    const cudaKernelNodeParams kernel = kernel_params(add, 1, N, arguments);
    CHECK(cudaGraphExecKernelNodeSetParams(exec, n.add, &kernel));
    expect_found("a kernel that reads it", exec, stream, *w, 1000 + 20 + 2 + 100);
    cudaGraph_t child = make_child(w->sum, 200);
    CHECK(cudaGraphExecChildGraphNodeSetParams(exec, n.child, child));
    CHECK(cudaGraphDestroy(child));
    expect_found("another child graph", exec, stream, *w, 1000 + 20 + 2 + 200);
    const cudaHostNodeParams host = {read_last_of_other, w};
    CHECK(cudaGraphExecHostNodeSetParams(exec, n.host, &host));
    expect_found("another host function", exec, stream, *w, -1);
    CHECK(cudaGraphExecMemcpyNodeSetParams1D(exec, n.copy_out, w->other_out, w->sum, BYTES, cudaMemcpyDeviceToHost));
    expect_found("a copy to what it reads", exec, stream, *w, 1000 + N - 1 + 20 + 2 + 200);
}

/* An event that was never recorded has no time. */
static void change_event(cudaGraphExec_t exec, cudaGraphNode_t record, cudaStream_t stream, const work &w)
{
    float milliseconds = 0;
    EXPECT(cudaEventElapsedTime(&milliseconds, w.event, w.other_event), cudaErrorInvalidResourceHandle);
    (void)cudaGetLastError();
    CHECK(cudaGraphExecEventRecordNodeSetEvent(exec, record, w.other_event));
    launch_and_wait(exec, stream);
    CHECK(cudaEventElapsedTime(&milliseconds, w.event, w.other_event));
    std::printf("another event: recorded\n");
}

int main()
{
    cudaStream_t stream = make_stream();
    work w = {};
    nodes n;
    cudaGraphExec_t exec;
    for (int **memory : {&w.in, &w.other_in, &w.out, &w.other_out})
        *memory = allocate_pinned<int>(N);
    for (int **memory : {&w.a, &w.b, &w.other_b, &w.sum})
        *memory = allocate<int>(N);
    CHECK(cudaEventCreate(&w.event));
    CHECK(cudaEventCreate(&w.other_event));
    for (int i = 0; i < N; i++) {
        w.in[i] = i;
        w.other_in[i] = 1000 + i;
        w.other_out[i] = -1;
    }
    cudaGraph_t graph = make_graph(&w, &n);
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    change_all(exec, n, stream, &w);
    change_event(exec, n.record, stream, w);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    for (int *memory : {w.in, w.other_in, w.out, w.other_out})
        CHECK(cudaFreeHost(memory));
    for (int *memory : {w.a, w.b, w.other_b, w.sum})
        CHECK(cudaFree(memory));
    CHECK(cudaEventDestroy(w.event));
    CHECK(cudaEventDestroy(w.other_event));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
