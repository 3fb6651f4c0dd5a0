/* hang CASE: launches a graph four times, whose third launch does not end.
 *   kernel, grid   a kernel waits for a flag that is not set again; with more blocks than fit
 *   branch         the same in one of two branches
 *   host           a host function waits for a lock that the program holds while it waits
 *   before         what is launched before the graph does not end, and is in no graph
 *   behind         a graph waits for the one that hangs, in another stream
 *   set            the graph is changed before each launch
 *   late           a graph waits for what is in none, for half a second until the time limit of 3 s
 *   whole          the graph has memory nodes: CUDA cannot copy it
 * slow: the third launch takes a while, and ends. */
#include "program.h"

#include <pthread.h>
#include <unistd.h>

enum { LAUNCHES = 4 };

static const char *way;
static cudaStream_t stream, other;
static float *x, *y;
static int *flag;
static cudaGraph_t captured; /* of "set" */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void take_lock(void *unused)
{
    (void)unused;
    (void)pthread_mutex_lock(&lock);
    (void)pthread_mutex_unlock(&lock);
}

static void take_long(void *unused)
{
    static int runs;
    (void)unused;
    if (++runs == 3)
        (void)usleep(1500000);
}

static void capture_wait(void)
{
    const int blocks = is_case(way, "grid") ? 1 << 20 : 1;

    if (is_case(way, "host"))
        CUDA(cudaLaunchHostFunc(stream, take_lock, NULL));
    else if (is_case(way, "slow"))
        CUDA(cudaLaunchHostFunc(stream, take_long, NULL));
    else if (!is_case(way, "before"))
        CUDA(launch_wait(flag, 1, blocks, stream));
}

static void capture_branch(cudaEvent_t event)
{
    CUDA(cudaEventRecord(event, stream));
    CUDA(cudaStreamWaitEvent(other, event, 0));
    CUDA(launch_add(x, y, other));
    CUDA(cudaEventRecord(event, other));
}

static cudaGraphExec_t capture(void)
{
    cudaGraphExec_t exec;
    cudaEvent_t event;
    cudaGraph_t graph;
    void *memory;

    CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    if (is_case(way, "whole"))
        CUDA(cudaMallocAsync(&memory, BYTES, stream));
    CUDA(launch_add(y, x, stream));
    if (is_case(way, "branch"))
        capture_branch(event);
    capture_wait();
    if (is_case(way, "branch"))
        CUDA(cudaStreamWaitEvent(stream, event, 0));
    CUDA(launch_add(y, x, stream));
    CUDA(launch_add(y, x, stream));
    if (is_case(way, "whole"))
        CUDA(cudaFreeAsync(memory, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    if (is_case(way, "set"))
        captured = graph;
    else
        CUDA(cudaGraphDestroy(graph));
    CUDA(cudaEventDestroy(event));
    return exec;
}

static cudaGraphExec_t capture_behind(void)
{
    cudaGraphExec_t exec;
    cudaGraph_t graph;

    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CUDA(launch_add(x, y, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    return exec;
}

/* The graph changes before each launch. */
static void set(cudaGraphExec_t exec)
{
    struct cudaKernelNodeParams params;
    cudaGraphNode_t node;
    size_t one = 1;

    CUDA(cudaGraphGetRootNodes(captured, &node, &one));
    CUDA(cudaGraphKernelNodeGetParams(node, &params));
    CUDA(cudaGraphExecKernelNodeSetParams(exec, node, &params));
}

static void sleep_long(void *user)
{
    (void)user;
    sleep(100);
}

/* It waits for half a second when it is killed. */
static void launch_late(cudaGraphExec_t exec)
{
    usleep(2500000);
    CUDA(cudaLaunchHostFunc(stream, sleep_long, NULL));
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
}

/* In the third launch the flag is as nobody wants it. */
static void prepare(int launch)
{
    if (launch < 2)
        return;
    CUDA(cudaMemset(flag, 0, sizeof *flag));
    (void)pthread_mutex_lock(&lock);
    if (is_case(way, "before"))
        CUDA(launch_wait(flag, 1, 1, stream));
}

int main(int argc, char **argv)
{
    cudaGraphExec_t exec, behind;

    way = argv[argc - 1];
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    CUDA(cudaMalloc((void **)&x, BYTES));
    CUDA(cudaMalloc((void **)&y, BYTES));
    CUDA(cudaMalloc((void **)&flag, sizeof *flag));
    CUDA(cudaMemset(x, 0, BYTES));
    CUDA(cudaMemset(y, 0, BYTES));
    CUDA(cudaMemset(flag, 1, 1));
    exec = capture();
    behind = capture_behind();
    if (is_case(way, "late"))
        launch_late(behind);
    for (int i = 0; i < LAUNCHES; i++) {
        if (is_case(way, "set"))
            set(exec);
        if (!is_case(way, "slow"))
            prepare(i);
        CUDA(cudaGraphLaunch(exec, stream));
        if (is_case(way, "behind"))
            CUDA(cudaGraphLaunch(behind, stream));
        CUDA(cudaStreamSynchronize(stream));
        if (!is_case(way, "slow") && i >= 2)
            (void)pthread_mutex_unlock(&lock);
    }
    if (captured != NULL)
        CUDA(cudaGraphDestroy(captured));
    printf("launched %d\n", LAUNCHES);
    return 0;
}
