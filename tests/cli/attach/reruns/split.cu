/* Graphs of a program that knows nothing of breakgraph, for splitting them at nodes. split WHAT: which nodes they have;
 * the output is the same with and without the tools. What a launch computes depends on the order of all its nodes. */
#include "kernels/device.h"
#include "kernels/launch.h"
#include "tests/cli/attach/programs/cuda_check.h"

#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

enum { N = 1 << 12, LAUNCHES = 6, BUFFERS = 8, BYTES = N * sizeof(unsigned) };

__global__ void mix(unsigned *y, const unsigned *x, unsigned more)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = y[i] * 31 + x[i] + more;
}

__global__ void turn(unsigned *y, const unsigned *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = (y[i] << 7 | y[i] >> 25) ^ x[i];
}

/* A kernel of NCCL's, by its name: what it waits for is there. */
__global__ void ncclDevKernel_Sum(unsigned *y, const unsigned *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] += x[i];
}

/* Each block reads what another one has written; on the host device there is one. */
#ifndef __HOSTCUDA_CC__
#define WAIT_FOR_GRID() cooperative_groups::this_grid().sync()
enum { TOGETHER = N / 64 }; /* blocks */
#else
#define WAIT_FOR_GRID() (void)0
enum { TOGETHER = 1 };
#endif
__global__ void shift(unsigned *y, unsigned *between)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    between[i] = y[i] * 3;
    WAIT_FOR_GRID();
    y[i] = between[(i + 64) % (TOGETHER * 64)] + 1;
}

static const dim3 blocks(N / 64), threads(64);
static cudaStream_t stream, side, third;
static cudaEvent_t forked, joined, marked;
static unsigned *memory, *host, *pageable;

static unsigned *buffer(int index)
{
    return memory + static_cast<size_t>(index) * N;
}

template <class... Parameters, class... Arguments>
static void launch(cudaStream_t on, void (*kernel)(Parameters...), Arguments... arguments)
{
    CUDA(bgk::launch(kernel, blocks, threads, 0, on, arguments...));
}

static void mix_into(cudaStream_t on, int to, int from, unsigned more)
{
    launch(on, mix, buffer(to), static_cast<const unsigned *>(buffer(from)), more);
}

static void turn_into(cudaStream_t on, int to, int from)
{
    launch(on, turn, buffer(to), static_cast<const unsigned *>(buffer(from)));
}

static void fork_from(cudaStream_t from, cudaStream_t to, cudaEvent_t event)
{
    CUDA(cudaEventRecord(event, from));
    CUDA(cudaStreamWaitEvent(to, event, 0));
}

static void CUDART_CB add_one(void *user)
{
    unsigned *at = static_cast<unsigned *>(user);
    for (int i = 0; i < N; i++)
        at[i] = at[i] * 5 + 1;
}

/* ---- the work of a graph ---------------------------------------------------------------------------------------- */

static void chain(void)
{
    for (unsigned i = 0; i < 6; i++) {
        mix_into(stream, 0, 1, i);
        turn_into(stream, 1, 0);
    }
}

/* Two branches, each of which forks once more. */
static void forks(void)
{
    mix_into(stream, 0, 1, 1);
    fork_from(stream, side, forked);
    mix_into(stream, 2, 0, 2);
    turn_into(side, 3, 0);
    fork_from(side, third, joined);
    mix_into(third, 4, 3, 3);
    mix_into(side, 5, 1, 4);
    fork_from(third, side, forked);
    turn_into(side, 3, 4);
    fork_from(side, stream, joined);
    turn_into(stream, 0, 3);
    mix_into(stream, 0, 2, 5);
}

static void copies(void)
{
    mix_into(stream, 0, 1, 1);
    CUDA(cudaMemcpyAsync(host, buffer(0), BYTES, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaLaunchHostFunc(stream, add_one, host));
    CUDA(cudaMemcpyAsync(buffer(2), host, BYTES, cudaMemcpyHostToDevice, stream));
    CUDA(cudaMemcpyAsync(buffer(3), buffer(2), BYTES, cudaMemcpyDeviceToDevice, stream));
    CUDA(cudaMemcpy2DAsync(buffer(4), 256, buffer(3), 512, 128, 16, cudaMemcpyDeviceToDevice, stream));
    turn_into(stream, 0, 3);
    mix_into(stream, 1, 4, 7);
}

static void fills(void)
{
    mix_into(stream, 0, 1, 1);
    CUDA(cudaMemsetAsync(buffer(2), 0x5a, BYTES / 2, stream));
    CUDA(cudaMemset2DAsync(buffer(3), 256, 0x17, 100, 40, stream));
    turn_into(stream, 0, 2);
    mix_into(stream, 1, 3, 2);
}

static void cooperative(void)
{
    unsigned *y = buffer(0), *between = buffer(5);
    void *arguments[] = {&y, &between};
    cudaLaunchAttribute together = {};
    cudaLaunchConfig_t config = {};
    together.id = cudaLaunchAttributeCooperative;
    together.val.cooperative = 1;
    config.gridDim = dim3(TOGETHER);
    config.blockDim = threads;
    config.stream = stream;
    config.attrs = &together;
    config.numAttrs = 1;
    mix_into(stream, 0, 1, 1);
    CUDA(cudaLaunchKernelExC(&config, bgk::function(shift), arguments));
    turn_into(stream, 1, 0);
}

static void host_copies(void)
{
    mix_into(stream, 0, 1, 1);
    CUDA(cudaMemcpyAsync(buffer(2), pageable, BYTES, cudaMemcpyHostToDevice, stream));
    turn_into(stream, 0, 2);
    mix_into(stream, 1, 0, 2);
}

static void event(void)
{
    mix_into(stream, 0, 1, 1);
    CUDA(cudaEventRecordWithFlags(marked, stream, cudaEventRecordExternal));
    turn_into(stream, 1, 0);
}

/* Kernels that wait for each other, beside and behind others. */
static void collective(void)
{
    mix_into(stream, 0, 1, 1);
    fork_from(stream, side, forked);
    launch(stream, ncclDevKernel_Sum, buffer(2), static_cast<const unsigned *>(buffer(0)));
    turn_into(side, 4, 0);
    launch(side, ncclDevKernel_Sum, buffer(3), static_cast<const unsigned *>(buffer(0)));
    fork_from(side, stream, joined);
    mix_into(stream, 0, 2, 3);
    mix_into(stream, 0, 3, 3);
}

static void allocate(void)
{
    unsigned *own;
    mix_into(stream, 0, 1, 1);
    CUDA(cudaMallocAsync(reinterpret_cast<void **>(&own), BYTES, stream));
    CUDA(cudaMemcpyAsync(own, buffer(0), BYTES, cudaMemcpyDeviceToDevice, stream));
    launch(stream, mix, buffer(1), static_cast<const unsigned *>(own), 3u);
    CUDA(cudaFreeAsync(own, stream));
}

static unsigned kept = 77;
static void CUDART_CB use_kept(void *user)
{
    host[0] = *static_cast<unsigned *>(user);
}

static void CUDART_CB drop_kept(void *user)
{
    *static_cast<unsigned *>(user) = 0;
}

/* What its host function uses is the graph's own. */
static void use_object(void)
{
    mix_into(stream, 0, 1, 1);
    CUDA(cudaLaunchHostFunc(stream, use_kept, &kept));
    CUDA(cudaMemcpyAsync(buffer(1), host, BYTES, cudaMemcpyHostToDevice, stream));
}

static cudaGraph_t capture(void (*work)(void))
{
    cudaGraph_t graph;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    work();
    CUDA(cudaStreamEndCapture(stream, &graph));
    return graph;
}

/* chain, in a child graph between two kernels. */
static cudaGraph_t build_parent(void)
{
    cudaGraph_t graph = capture([] { mix_into(stream, 0, 1, 9); }), behind = capture([] { turn_into(stream, 1, 0); });
    cudaGraphNode_t first, second, last;
    size_t one = 1;
    CUDA(cudaGraphGetNodes(graph, &first, &one));
    CUDA(cudaGraphAddChildGraphNode(&second, graph, &first, 1, capture(forks)));
    CUDA(cudaGraphAddChildGraphNode(&last, graph, &second, 1, behind));
    return graph;
}

/* Elements of two and four bytes have no calls of the runtime. */
static cudaGraph_t build_fills(void)
{
    cudaGraph_t graph = capture(fills);
    struct cudaMemsetParams wide = {}, narrow = {};
    cudaGraphNode_t nodes[8], four, two;
    size_t count = 8;
    wide.dst = buffer(4), wide.value = 0x12345678, wide.elementSize = 4, wide.width = 50, wide.height = 20;
    wide.pitch = 512;
    narrow.dst = buffer(5), narrow.value = 0xbeef, narrow.elementSize = 2, narrow.width = 1000, narrow.height = 1;
    CUDA(cudaGraphGetNodes(graph, nodes, &count));
    CUDA(cudaGraphAddMemsetNode(&four, graph, &nodes[count - 1], 1, &wide));
    CUDA(cudaGraphAddMemsetNode(&two, graph, &four, 1, &narrow));
    return graph;
}

static cudaGraph_t build_owner(void)
{
    cudaGraph_t graph = capture(use_object);
    cudaUserObject_t object;
    CUDA(cudaUserObjectCreate(&object, &kept, drop_kept, 1, cudaUserObjectNoDestructorSync));
    CUDA(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    return graph;
}

static cudaGraph_t build(const std::string &what)
{
    if (what == "forks" || what == "streams")
        return capture(forks);
    if (what == "copies")
        return capture(copies);
    if (what == "fills")
        return build_fills();
    if (what == "cooperative")
        return capture(cooperative);
    if (what == "pageable")
        return capture(host_copies);
    if (what == "event")
        return capture(event);
    if (what == "collective")
        return capture(collective);
    if (what == "memory")
        return capture(allocate);
    if (what == "owner")
        return build_owner();
    if (what == "child")
        return build_parent();
    return capture(chain);
}

/* ---- launches --------------------------------------------------------------------------------------------------- */

/* The graph's third kernel adds another number, or the fifth, or one does not run. */
static void change(const std::string &what, cudaGraph_t graph, cudaGraphExec_t exec, unsigned launch)
{
    unsigned *y = buffer(0);
    const unsigned *x = buffer(1);
    unsigned more = 100 + launch;
    void *arguments[] = {&y, &x, &more};
    cudaGraphNode_t nodes[16];
    size_t count = 16;
    cudaGraphExecUpdateResultInfo info;
    struct cudaKernelNodeParams params;

    CUDA(cudaGraphGetNodes(graph, nodes, &count));
    if (what == "set" || what == "set-streams") {
        CUDA(cudaGraphKernelNodeGetParams(nodes[2], &params));
        params.kernelParams = arguments;
        CUDA(cudaGraphExecKernelNodeSetParams(exec, nodes[2], &params));
    } else if (what == "update") {
        CUDA(cudaGraphKernelNodeGetParams(nodes[4], &params));
        params.kernelParams = arguments;
        CUDA(cudaGraphKernelNodeSetParams(nodes[4], &params));
        CUDA(cudaGraphExecUpdate(exec, graph, &info));
    } else if (what == "disabled" && launch >= LAUNCHES / 2) {
        CUDA(cudaGraphNodeSetEnabled(exec, nodes[launch % 3], launch % 2));
    }
}

/* Each launch of "streams" and of these in another one: CUDA runs them one after the other. */
static cudaStream_t stream_of(const std::string &what, unsigned launch)
{
    const cudaStream_t streams[] = {side, stream, third};
    return what == "streams" || what == "set-streams" || what == "disabled" ? streams[launch % 3] : stream;
}

/* Another device is current, as no launch needs the stream's; or the stream, too, is of another device. */
static void launch_elsewhere(const std::string &what, cudaGraphExec_t exec)
{
    cudaStream_t other;
    if (what != "device" && what != "other-device")
        return;
    CUDA(cudaSetDevice(1));
    CUDA(cudaStreamCreate(&other));
    CUDA(cudaGraphLaunch(exec, what == "device" ? stream : other));
    CUDA(cudaStreamSynchronize(what == "device" ? stream : other));
    CUDA(cudaSetDevice(0));
}

static void print_digest(unsigned number)
{
    std::vector<unsigned> all(static_cast<size_t>(BUFFERS) * N);
    unsigned long long digest = 0xcbf29ce484222325;
    CUDA(cudaDeviceSynchronize());
    CUDA(cudaMemcpy(all.data(), memory, all.size() * 4, cudaMemcpyDeviceToHost));
    for (unsigned word : all)
        digest = (digest ^ word) * 0x100000001b3;
    printf("launch %u: %016llx\n", number, digest);
}

static void prepare(void)
{
    std::vector<unsigned> first(static_cast<size_t>(BUFFERS) * N);
    for (size_t i = 0; i < first.size(); i++)
        first[i] = static_cast<unsigned>(i * 2654435761u);
    for (cudaStream_t *s : {&stream, &side, &third})
        CUDA(cudaStreamCreateWithFlags(s, cudaStreamNonBlocking));
    for (cudaEvent_t *e : {&forked, &joined, &marked})
        CUDA(cudaEventCreateWithFlags(e, cudaEventDisableTiming));
    CUDA(cudaMalloc(reinterpret_cast<void **>(&memory), first.size() * 4));
    CUDA(cudaMallocHost(reinterpret_cast<void **>(&host), BYTES));
    pageable = static_cast<unsigned *>(malloc(BYTES));
    for (int i = 0; i < N; i++)
        host[i] = pageable[i] = static_cast<unsigned>(i);
    CUDA(cudaMemcpy(memory, first.data(), first.size() * 4, cudaMemcpyHostToDevice));
}

int main(int argc, char **argv)
{
    const std::string what = argc > 1 ? argv[1] : "chain";
    cudaGraphExec_t exec;
    cudaGraph_t graph;

    prepare();
    graph = build(what);
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (unsigned i = 0; i < LAUNCHES; i++) {
        change(what, graph, exec, i);
        launch_elsewhere(what, exec);
        CUDA(cudaGraphLaunch(exec, stream_of(what, i)));
        if (stream_of(what, 0) == stream && what != "owner")
            print_digest(i);
        if (what == "owner")
            break;
    }
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    print_digest(LAUNCHES);
    return 0;
}
