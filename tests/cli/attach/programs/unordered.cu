/* A program that knows nothing of breakgraph: a graph, and work around it that uses the same memory. unordered WHAT:
 * what orders them, or does not. What it computes is of no interest. */
#include "kernels/device.h"
#include "tests/cli/attach/programs/cuda_check.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <semaphore.h>
#include <unistd.h>

enum { N = 256, BYTES = N * sizeof(float), ROUNDS = 3 };

__global__ void fill(float *y, float value)
{
    y[threadIdx.x] = value;
}

__global__ void scale(float *y, const float *x)
{
    y[threadIdx.x] = 2 * x[threadIdx.x];
}

/* Only the source tells that it reads x. */
__global__ void add_to(float *y, float *x)
{
    y[threadIdx.x] += x[threadIdx.x];
}

extern "C" __global__ void plain(float *y)
{
    y[threadIdx.x] = 1;
}

/* One row of a cache. */
__global__ void put(float *cache, const float *row, int slot)
{
    cache[slot * 8 + threadIdx.x] = row[threadIdx.x];
}

struct output {
    float *memory;
    int n;
};

/* What it writes is not what its one pointer points to. */
__global__ void read_to(float *x, output to)
{
    to.memory[threadIdx.x] = x[threadIdx.x];
}

__global__ void increase(float *y)
{
    y[threadIdx.x] += 1;
}

__global__ void set_flag(int *flag, int value)
{
    *static_cast<volatile int *>(flag) = value;
}

/* On the host device, which ends a kernel that spins, it sleeps. */
__global__ void wait_flag(const volatile int *flag)
{
    while (*flag == 0) {
#ifndef __HOSTCUDA_CC__
        __nanosleep(1000);
#else
        (void)usleep(1000);
#endif
    }
}

static cudaStream_t stream, side, blocking, other_blocking;
static sem_t told, asked;
static cudaGraph_t kept; /* of exec */
static cudaEvent_t event, second;
static float *x, *y, *z, *pinned;
static int *flag;
static cudaGraphExec_t exec, reader;

static cudaGraphExec_t capture(void (*pass)(cudaStream_t))
{
    cudaGraphExec_t made;
    cudaGraph_t graph;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    pass(stream);
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&made, graph, 0));
    if (kept == nullptr)
        kept = graph;
    return made;
}

/* Reads x, writes y. */
static void forward(cudaStream_t s)
{
    scale<<<1, N, 0, s>>>(y, x);
}

static void read_output(cudaStream_t s)
{
    scale<<<1, N, 0, s>>>(z, y);
}

static void copy_in(cudaStream_t s)
{
    CUDA(cudaMemcpyAsync(x, pinned, BYTES, cudaMemcpyHostToDevice, s));
}

static void take_float_pointers(cudaStream_t s)
{
    add_to<<<1, N, 0, s>>>(y, x);
}

static void tell_host(void *)
{
    sem_post(&told);
}

static void ask_host(void *)
{
    sem_wait(&asked);
}

static void callback(cudaStream_t, cudaError_t, void *)
{
    sem_post(&told);
}

static void forward_and_tell(cudaStream_t s)
{
    forward(s);
    CUDA(cudaLaunchHostFunc(s, tell_host, nullptr));
}

static void forward_and_set(cudaStream_t s)
{
    forward(s);
    set_flag<<<1, 1, 0, s>>>(flag, 1);
}

static void wait_and_forward(cudaStream_t s)
{
    wait_flag<<<1, 1, 0, s>>>(flag);
    forward(s);
}

static void ask_and_forward(cudaStream_t s)
{
    CUDA(cudaLaunchHostFunc(s, ask_host, nullptr));
    forward(s);
}

static void put_first(cudaStream_t s)
{
    put<<<1, 8, 0, s>>>(y, x, 0);
}

static void copy_columns(cudaStream_t s)
{
    CUDA(cudaMemcpy2DAsync(y, 64, z, 32, 32, 4, cudaMemcpyDeviceToDevice, s));
}

/* The device writes what it copies back. */
static void bounce(cudaStream_t s)
{
    increase<<<1, N, 0, s>>>(y);
    CUDA(cudaMemcpyAsync(pinned, y, BYTES, cudaMemcpyDeviceToHost, s));
    CUDA(cudaMemcpyAsync(x, pinned, BYTES, cudaMemcpyHostToDevice, s));
}

static void launch(cudaStream_t s)
{
    CUDA(cudaGraphLaunch(exec, s));
}

static void wait(cudaStream_t waits, cudaEvent_t for_event, cudaStream_t of)
{
    CUDA(cudaEventRecord(for_event, of));
    CUDA(cudaStreamWaitEvent(waits, for_event, 0));
}

static void do_nothing(void *)
{
}

/* A graph whose last node records the event. */
static cudaGraphExec_t with_event_node(void)
{
    cudaGraphNode_t kernel, record;
    cudaKernelNodeParams params = {};
    cudaGraphExec_t made;
    cudaGraph_t graph;
    void *arguments[] = {&y, &x};

    params.func = reinterpret_cast<void *>(static_cast<void (*)(float *, const float *)>(scale));
    params.gridDim = dim3(1);
    params.blockDim = dim3(N);
    params.kernelParams = arguments;
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphAddKernelNode(&kernel, graph, nullptr, 0, &params));
    CUDA(cudaGraphAddEventRecordNode(&record, graph, &kernel, 1, event));
    CUDA(cudaGraphInstantiate(&made, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    return made;
}

/* ---- what nothing orders ------------------------------------------------------------------------------------------
 */

static void written_before(void)
{
    fill<<<1, N, 0, side>>>(x, 1);
    launch(stream);
}
static void read_after(void)
{
    launch(stream);
    scale<<<1, N, 0, side>>>(z, y);
}
static void overwritten(void)
{
    wait(stream, event, side);
    launch(stream);
    CUDA(cudaMemcpyAsync(x, z, BYTES, cudaMemcpyDeviceToDevice, side));
}
static void cleared(void)
{
    launch(stream);
    CUDA(cudaMemset(y, 0, BYTES));
}
static void two_graphs(void)
{
    launch(stream);
    CUDA(cudaGraphLaunch(reader, side));
}
static void event_too_early(void)
{
    CUDA(cudaEventRecord(event, side));
    fill<<<1, N, 0, side>>>(x, 1);
    CUDA(cudaStreamWaitEvent(stream, event, 0));
    launch(stream);
}
static void other_event(void)
{
    CUDA(cudaEventRecord(second, stream));
    fill<<<1, N, 0, side>>>(x, 1);
    CUDA(cudaEventRecord(event, side));
    CUDA(cudaStreamWaitEvent(stream, second, 0));
    launch(stream);
}
static void rows(void)
{
    launch(stream);
    CUDA(cudaMemcpy2DAsync(x, 64, z, 64, 64, 4, cudaMemcpyDeviceToDevice, side));
}
static void read_back(void)
{
    launch(stream);
    CUDA(cudaMemcpyAsync(pinned, y, BYTES, cudaMemcpyDeviceToHost, side));
    CUDA(cudaStreamSynchronize(side));
}
static void in_the_middle(void)
{
    launch(stream);
    CUDA(cudaMemsetAsync(y, 0, BYTES, side)); /* begins where the graph writes */
}

static void slices(void)
{
    cudaMemcpy3DParms copy = {};
    launch(stream);
    copy.srcPtr = make_cudaPitchedPtr(z, BYTES, N, 1);
    copy.dstPtr = make_cudaPitchedPtr(x, BYTES, N, 1);
    copy.extent = make_cudaExtent(BYTES, 1, 1);
    copy.kind = cudaMemcpyDeviceToDevice;
    CUDA(cudaMemcpy3DAsync(&copy, side));
}
static void new_event(void)
{
    cudaEvent_t never;
    fill<<<1, N, 0, side>>>(x, 1);
    CUDA(cudaEventCreate(&never));
    CUDA(cudaStreamWaitEvent(stream, never, 0)); /* nobody has recorded it */
    launch(stream);
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaEventDestroy(never));
}

/* ---- what something orders ----------------------------------------------------------------------------------------
 */

static void one_stream(void)
{
    fill<<<1, N, 0, stream>>>(x, 1);
    launch(stream);
    scale<<<1, N, 0, stream>>>(z, y);
}
static void events(void)
{
    fill<<<1, N, 0, side>>>(x, 1);
    wait(stream, event, side);
    launch(stream);
    wait(side, second, stream);
    scale<<<1, N, 0, side>>>(z, y);
}
static void through_a_third(void)
{
    launch(stream);
    wait(blocking, event, stream);
    wait(side, second, blocking);
    scale<<<1, N, 0, side>>>(z, y);
    CUDA(cudaStreamSynchronize(side));
}
static void stream_waited(void)
{
    launch(stream);
    CUDA(cudaStreamSynchronize(stream));
    scale<<<1, N, 0, side>>>(z, y);
    CUDA(cudaStreamSynchronize(side));
}
static void event_waited(void)
{
    launch(stream);
    CUDA(cudaEventRecord(event, stream));
    CUDA(cudaEventSynchronize(event));
    fill<<<1, N, 0, side>>>(x, 1);
    CUDA(cudaDeviceSynchronize());
}
static void event_polled(void)
{
    launch(stream);
    CUDA(cudaEventRecord(event, stream));
    while (cudaEventQuery(event) == cudaErrorNotReady)
        continue;
    fill<<<1, N, 0, side>>>(x, 1);
    while (cudaStreamQuery(side) == cudaErrorNotReady)
        continue;
}
static void legacy(void)
{
    launch(blocking);
    CUDA(cudaMemset(y, 0, BYTES));
    scale<<<1, N, 0, other_blocking>>>(z, y);
    CUDA(cudaMemset(z, 0, BYTES));
}
static void copied_and_waited(void)
{
    float host[N];
    launch(stream);
    CUDA(cudaMemcpyAsync(host, y, BYTES, cudaMemcpyDeviceToHost, stream)); /* pageable: the call waits */
    fill<<<1, N, 0, side>>>(x, 1);
    CUDA(cudaDeviceSynchronize());
}
static void only_read(void)
{
    launch(stream);
    scale<<<1, N, 0, side>>>(z, x);
}
static void other_memory(void)
{
    launch(stream);
    fill<<<1, N, 0, side>>>(z, 1);
    CUDA(cudaMemsetAsync(y + N / 2, 0, BYTES / 2, side)); /* the graph may write less than that */
}
static void itself(void)
{
    launch(stream);
    launch(side); /* launches of one executable graph are ordered */
}
static void host_function(void)
{
    launch(stream);
    CUDA(cudaLaunchHostFunc(stream, do_nothing, nullptr)); /* may tell the host */
    fill<<<1, N, 0, side>>>(x, 1);
    CUDA(cudaDeviceSynchronize());
}
static void allocated_anew(void)
{
    CUDA(cudaDeviceSynchronize());
    launch(stream);
    CUDA(cudaFree(z));
    CUDA(cudaMalloc(reinterpret_cast<void **>(&z), BYTES));
    scale<<<1, N, 0, side>>>(z, y); /* cudaFree has waited */
    CUDA(cudaDeviceSynchronize());
}
static void event_node(void)
{
    launch(stream);
    CUDA(cudaStreamWaitEvent(side, event, 0));
    scale<<<1, N, 0, side>>>(z, y);
    CUDA(cudaDeviceSynchronize());
}
static void callback_tells(void)
{
    launch(stream);
    CUDA(cudaStreamAddCallback(stream, callback, nullptr, 0));
    sem_wait(&told);
    fill<<<1, N, 0, side>>>(x, 1);
    CUDA(cudaDeviceSynchronize());
}
static void node_tells(void)
{
    launch(stream);
    sem_wait(&told);
    fill<<<1, N, 0, side>>>(x, 1);
    CUDA(cudaDeviceSynchronize());
}
static void wait_and_fill(void)
{
    wait_flag<<<1, 1, 0, side>>>(flag);
    fill<<<1, N, 0, side>>>(x, 1);
    CUDA(cudaMemsetAsync(flag, 0, sizeof *flag, side));
    CUDA(cudaDeviceSynchronize());
}
static void kernel_sets(void)
{
    launch(stream);
    set_flag<<<1, 1, 0, stream>>>(flag, 1);
    wait_and_fill();
}
static void node_sets(void)
{
    launch(stream);
    wait_and_fill();
}
static void node_waits(void)
{
    set_flag<<<1, 1, 0, side>>>(flag, 1);
    launch(stream);
    CUDA(cudaDeviceSynchronize());
}
static void node_asks(void)
{
    launch(stream);
    fill<<<1, N, 0, side>>>(x, 1);
    CUDA(cudaStreamSynchronize(side));
    sem_post(&asked);
    CUDA(cudaDeviceSynchronize());
}
static void function_asks(void)
{
    CUDA(cudaLaunchHostFunc(side, ask_host, nullptr));
    fill<<<1, N, 0, side>>>(x, 1); /* comes behind the graph, which is launched later */
    launch(stream);
    CUDA(cudaStreamSynchronize(stream));
    sem_post(&asked);
    CUDA(cudaDeviceSynchronize());
}
static void parameters_set(void)
{
    cudaKernelNodeParams params;
    cudaGraphNode_t node;
    size_t count = 1;
    launch(stream);
    CUDA(cudaGraphGetNodes(kept, &node, &count));
    CUDA(cudaGraphKernelNodeGetParams(node, &params));
    CUDA(cudaGraphExecKernelNodeSetParams(exec, node, &params));
    launch(side); /* still the same executable graph */
}
static void updated(void)
{
    cudaGraphExecUpdateResultInfo info;
    launch(stream);
    CUDA(cudaGraphExecUpdate(exec, kept, &info));
    launch(side);
}
static void columns(void)
{
    launch(stream);
    CUDA(cudaMemset2DAsync(y + 8, 64, 0, 32, 4, side)); /* the other ones */
}
static void other_slot(void)
{
    launch(stream);
    put<<<1, 8, 0, side>>>(y, x, 1);
}
static void read_by_struct(void)
{
    launch(stream);
    read_to<<<1, N, 0, side>>>(x, output{z, N});
}
static void streams_made(void)
{
    cudaStream_t made;
    CUDA(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
    fill<<<1, N, 0, made>>>(z, 1);
    CUDA(cudaStreamSynchronize(made));
    CUDA(cudaStreamDestroy(made));
    for (int i = 0; i < 100; i++) { /* one may get the handle of the other */
        CUDA(cudaStreamCreate(&made));
        CUDA(cudaMemset(x, 0, BYTES));
        launch(made);
        CUDA(cudaStreamSynchronize(made));
        CUDA(cudaStreamDestroy(made));
    }
}
static void bounced(void)
{
    launch(stream);
    launch(stream);
}
static void unknown_pointers(void)
{
    launch(stream);
    add_to<<<1, N, 0, side>>>(z, x); /* nobody can tell that it only reads x */
    plain<<<1, N, 0, side>>>(x);     /* nor what this one does */
    CUDA(cudaDeviceSynchronize());
}

/* ---- staging memory ------------------------------------------------------------------------------------------------
 */

static void refilled(void)
{
    pinned[0] += 1;
    launch(stream);
}
static void refilled_waited(void)
{
    refilled();
    CUDA(cudaStreamSynchronize(stream));
}
static void not_refilled(void)
{
    launch(stream);
}

static const struct {
    const char *name;
    void (*round)(void);
    void (*pass)(cudaStream_t);
} cases[] = {
    {"written-before", written_before, forward},
    {"read-after", read_after, forward},
    {"overwritten", overwritten, forward},
    {"cleared", cleared, forward},
    {"two-graphs", two_graphs, forward},
    {"event-too-early", event_too_early, forward},
    {"other-event", other_event, forward},
    {"rows", rows, forward},
    {"read-back", read_back, forward},
    {"in-the-middle", in_the_middle, forward},
    {"slices", slices, forward},
    {"new-event", new_event, forward},
    {"callback-tells", callback_tells, forward},
    {"node-tells", node_tells, forward_and_tell},
    {"kernel-sets", kernel_sets, forward},
    {"node-sets", node_sets, forward_and_set},
    {"node-waits", node_waits, wait_and_forward},
    {"node-asks", node_asks, ask_and_forward},
    {"function-asks", function_asks, forward},
    {"parameters-set", parameters_set, forward},
    {"updated", updated, forward},
    {"columns", columns, copy_columns},
    {"other-slot", other_slot, put_first},
    {"read-by-struct", read_by_struct, forward},
    {"streams-made", streams_made, forward},
    {"bounced", bounced, bounce},
    {"one-stream", one_stream, forward},
    {"events", events, forward},
    {"through-a-third", through_a_third, forward},
    {"stream-waited", stream_waited, forward},
    {"event-waited", event_waited, forward},
    {"event-polled", event_polled, forward},
    {"legacy", legacy, forward},
    {"copied-and-waited", copied_and_waited, forward},
    {"only-read", only_read, forward},
    {"other-memory", other_memory, forward},
    {"itself", itself, forward},
    {"host-function", host_function, forward},
    {"allocated-anew", allocated_anew, forward},
    {"event-node", event_node, nullptr},
    {"unknown-pointers", unknown_pointers, take_float_pointers},
    {"refilled", refilled, copy_in},
    {"refilled-waited", refilled_waited, copy_in},
    {"not-refilled", not_refilled, copy_in},
};

static void prepare(void)
{
    if (sem_init(&told, 0, 0) != 0 || sem_init(&asked, 0, 0) != 0)
        std::exit(3);
    for (cudaStream_t *made : {&stream, &side})
        CUDA(cudaStreamCreateWithFlags(made, cudaStreamNonBlocking));
    for (cudaStream_t *made : {&blocking, &other_blocking})
        CUDA(cudaStreamCreate(made));
    CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CUDA(cudaEventCreateWithFlags(&second, cudaEventDisableTiming));
    for (float **memory : {&x, &y, &z}) {
        CUDA(cudaMalloc(reinterpret_cast<void **>(memory), BYTES));
        CUDA(cudaMemset(*memory, 0, BYTES));
    }
    CUDA(cudaMalloc(reinterpret_cast<void **>(&flag), sizeof *flag));
    CUDA(cudaMemset(flag, 0, sizeof *flag));
    CUDA(cudaMallocHost(reinterpret_cast<void **>(&pinned), BYTES));
    std::memset(pinned, 0, BYTES);
    CUDA(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
    for (const auto &c : cases) {
        if (argc < 2 || std::strcmp(c.name, argv[1]) != 0)
            continue;
        prepare();
        exec = c.pass != nullptr ? capture(c.pass) : with_event_node();
        reader = capture(read_output);
        for (int i = 0; i < ROUNDS; i++)
            c.round();
        CUDA(cudaDeviceSynchronize());
        CUDA(cudaGraphExecDestroy(exec));
        CUDA(cudaGraphExecDestroy(reader));
        return 0;
    }
    for (const auto &c : cases)
        std::puts(c.name);
    return 2;
}
