/* Right threads, each with a stream and memory of its own, that capture, instantiate, update, set nodes, launch, free
 * and destroy side by side: side_by_side SEED [exit]. One asks for checks, one graph is launched by all. A child is
 * forked meanwhile. exit: the program ends while its threads run; else each thread's sum is compared, and the last line
 * printed is "right". */
#include "program.h"

#include <breakgraph/attach.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, TURNS = 25 };

static unsigned seed;
static atomic_bool stop;
static atomic_int turns;
static cudaGraphExec_t shared;
static float *shared_y, *shared_x;

static cudaGraph_t capture(float *y, float *x, int nodes, cudaStream_t stream)
{
    cudaGraph_t graph;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < nodes; i++)
        CUDA(launch(&y, &x, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    return graph;
}

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
    cudaGraphExec_t exec;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    return exec;
}

/* The executable graph adds x twice afterwards, whichever way. */
static void change(cudaGraphExec_t exec, cudaGraph_t graph, float *y, float *x, unsigned way, cudaStream_t stream)
{
    void *parameters[] = {&y, &x};
    const struct cudaKernelNodeParams params = node_of(parameters);
    cudaGraphExecUpdateResultInfo info;
    cudaGraphNode_t nodes[2];
    cudaGraph_t again;
    size_t count = 2;

    if (way % 3 == 0)
        return;
    if (way % 3 == 1) {
        CUDA(cudaGraphGetNodes(graph, nodes, &count));
        CUDA(cudaGraphExecKernelNodeSetParams(exec, nodes[1], &params));
        return;
    }
    again = capture(y, x, 2, stream);
    CUDA(cudaGraphExecUpdate(exec, again, &info));
    CUDA(cudaGraphDestroy(again));
}

static void *work(void *number)
{
    unsigned random = seed + (unsigned)(size_t)number;
    float *y, *x, *extra, host[FLOATS], expected = 0;
    cudaStream_t stream;

    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc((void **)&y, BYTES));
    CUDA(cudaMalloc((void **)&x, BYTES));
    CUDA(cudaMemset(y, 0, BYTES));
    for (int i = 0; i < FLOATS; i++)
        host[i] = 1;
    CUDA(cudaMemcpy(x, host, BYTES, cudaMemcpyHostToDevice));
    for (int turn = 0; turn < TURNS && !atomic_load(&stop); turn++) {
        cudaGraph_t graph = capture(y, x, 2, stream);
        cudaGraphExec_t exec = instantiate(graph);
        int launches = 1 + rand_r(&random) % 3;
        CUDA(cudaMalloc((void **)&extra, (size_t)BYTES));
        change(exec, graph, y, x, (unsigned)rand_r(&random), stream);
        for (int i = 0; i < launches; i++)
            CUDA(cudaGraphLaunch(exec, stream));
        CUDA(cudaGraphLaunch(shared, stream));
        expected += (float)(2 * launches);
        CUDA(cudaStreamSynchronize(stream));
        atomic_fetch_add(&turns, 1);
        CUDA(cudaFree(extra));
        CUDA(cudaGraphExecDestroy(exec));
        CUDA(cudaGraphDestroy(graph));
    }
    CUDA(cudaMemcpy(host, y, BYTES, cudaMemcpyDeviceToHost));
    if (!atomic_load(&stop) && host[FLOATS - 1] != expected) {
        printf("wrong: %g, not %g\n", (double)host[FLOATS - 1], (double)expected);
        exit(1);
    }
    return NULL;
}

static void *ask(void *unused)
{
    void *used;
    (void)unused;
    CUDA(cudaMalloc(&used, 64)); /* the thread has a context */
    while (!atomic_load(&stop)) {
        int findings = 0;
        (void)bg_attach_check(BG_TEXT, &findings, NULL);
        (void)bg_attach_name_graph(shared, "shared");
    }
    return NULL;
}

static int fork_child(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        exit(0); /* with all that is done at exit */
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}

int main(int count, char **words)
{
    pthread_t threads[THREADS], asks;
    cudaStream_t stream;
    cudaGraph_t graph;

    if (count < 2)
        return 2;
    seed = (unsigned)atoi(words[1]);
    printf("seed %u\n", seed);
    (void)fflush(stdout); /* else the child prints it, too */
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc((void **)&shared_y, BYTES));
    CUDA(cudaMalloc((void **)&shared_x, BYTES));
    graph = capture(shared_y, shared_x, 1, stream);
    shared = instantiate(graph);
    CUDA(cudaGraphDestroy(graph));
    if (pthread_create(&asks, NULL, ask, NULL) != 0)
        return 1;
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
            return 1;
    if (fork_child() != 0)
        return 1;
    while (count > 2 && atomic_load(&turns) < THREADS)
        (void)sched_yield();
    if (count > 2)
        return 0;
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    atomic_store(&stop, true);
    (void)pthread_join(asks, NULL);
    puts("right");
    return 0;
}
