/* How graphs of a program come, change and go. life CASE. */
#include "program.h"

#include <pthread.h>
#include <signal.h>

enum { MANY = 1000 };

static cudaStream_t stream;
static void *input, *output;

static __attribute__((noinline)) cudaGraph_t build_copy(void)
{
    cudaGraph_t graph;
    cudaGraphNode_t node;
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphAddMemcpyNode1D(&node, graph, NULL, 0, output, input, BYTES, cudaMemcpyDeviceToDevice));
    return graph;
}

static cudaGraphExec_t instantiate(cudaGraph_t graph)
{
    cudaGraphExec_t exec;
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    return exec;
}

static void run_once(cudaGraphExec_t exec)
{
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
}

/* ---- a graph that waits for a thread, which makes another one meanwhile ---- */

static pthread_barrier_t running, made;

static void *make_another(void *unused)
{
    cudaGraph_t graph;
    (void)unused;
    pthread_barrier_wait(&running);
    graph = build_copy();
    CUDA(cudaGraphExecDestroy(instantiate(graph)));
    CUDA(cudaGraphDestroy(graph));
    pthread_barrier_wait(&made);
    return NULL;
}

static void wait_for_thread(void *unused)
{
    (void)unused;
    pthread_barrier_wait(&running);
    pthread_barrier_wait(&made);
}

static void run_waiting(void)
{
    struct cudaHostNodeParams host = {.fn = wait_for_thread};
    cudaGraph_t graph = build_copy();
    cudaGraphNode_t node;
    cudaGraphExec_t exec;
    pthread_t thread;

    CUDA(cudaGraphAddHostNode(&node, graph, NULL, 0, &host));
    exec = instantiate(graph);
    if (pthread_barrier_init(&running, NULL, 2) != 0 || pthread_barrier_init(&made, NULL, 2) != 0 ||
        pthread_create(&thread, NULL, make_another, NULL) != 0)
        exit(1);
    run_once(exec);
    (void)pthread_join(thread, NULL);
    puts("waited");
}

/* ---- a graph that CUDA cannot copy, changed or not after its instantiation ---- */

static void run_kept(int change)
{
    struct cudaMemAllocNodeParams alloc = {
        .poolProps = {.allocType = cudaMemAllocationTypePinned, .location = {.type = cudaMemLocationTypeDevice}},
        .bytesize = BYTES};
    cudaGraph_t graph = build_copy();
    cudaGraphNode_t node;
    cudaGraphExec_t exec;

    CUDA(cudaGraphAddMemAllocNode(&node, graph, NULL, 0, &alloc));
    CUDA(cudaGraphAddMemFreeNode(&node, graph, &node, 1, alloc.dptr));
    exec = instantiate(graph);
    if (change)
        CUDA(cudaGraphAddEmptyNode(&node, graph, NULL, 0));
    run_once(exec);
    puts("kept");
}

/* ---- many graphs of one call ---- */

/* all: made first, and launched then, again and again; else each is launched twice when it is made. most: so many are
 * kept. */
static void run_cache(int count, bool all, int most)
{
    static cudaGraphExec_t kept[MANY];
    cudaGraph_t graph = build_copy();
    for (int i = 0; i < count; i++) {
        if (kept[i % most] != NULL)
            CUDA(cudaGraphExecDestroy(kept[i % most]));
        kept[i % most] = instantiate(graph);
        for (int k = 0; k < 2 && !all; k++)
            run_once(kept[i % most]);
    }
    for (int i = 0; i < 2 * count && all; i++)
        run_once(kept[i % count]);
    CUDA(cudaGraphDestroy(graph));
}

/* ---- memory of a graph's own, which a node on another stream uses ---- */

static __attribute__((noinline)) void use_memory(float *memory, cudaStream_t side)
{
    CUDA(cudaMemsetAsync(memory, 0, BYTES, side));
}

static void run_own_memory(bool forks_late, bool frees_late)
{
    cudaStream_t side;
    float *memory;
    cudaGraph_t graph;

    CUDA(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    if (!forks_late)
        wait_for(side, stream);
    CUDA(cudaMallocAsync((void **)&memory, BYTES, stream));
    if (forks_late)
        wait_for(side, stream);
    use_memory(memory, side);
    if (!frees_late)
        CUDA(cudaFreeAsync(memory, stream));
    wait_for(stream, side);
    if (frees_late)
        CUDA(cudaFreeAsync(memory, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    run_once(instantiate(graph));
}

/* ---- a node made of another one's parameters ---- */

static __attribute__((noinline)) void copy_kernel(cudaGraph_t to, cudaGraphNode_t from, bool copies_attributes)
{
    struct cudaKernelNodeParams params;
    cudaGraphNode_t node;
    CUDA(cudaGraphKernelNodeGetParams(from, &params));
    CUDA(cudaGraphAddKernelNode(&node, to, NULL, 0, &params));
    if (copies_attributes)
        CUDA(cudaGraphKernelNodeCopyAttributes(node, from));
}

static void run_copied(bool clustered, bool copies_attributes)
{
    const cudaLaunchAttributeValue cluster = {.clusterDim = {2, 1, 1}};
    float *x = input, *y = output;
    void *parameters[] = {&y, &x};
    struct cudaKernelNodeParams params = node_of(parameters);
    cudaGraph_t first, graph;
    cudaGraphNode_t node;

    CUDA(cudaGraphCreate(&first, 0));
    CUDA(cudaGraphCreate(&graph, 0));
    CUDA(cudaGraphAddKernelNode(&node, first, NULL, 0, &params));
    if (clustered)
        CUDA(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeClusterDimension, &cluster));
    copy_kernel(graph, node, copies_attributes);
    CUDA(cudaGraphDestroy(first));
    run_once(instantiate(graph));
}

int main(int count, char **words)
{
    const char *what = count > 1 ? words[1] : "";

    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc(&input, BYTES));
    CUDA(cudaMalloc(&output, BYTES));
    if (strcmp(what, "waits") == 0)
        run_waiting();
    if (strcmp(what, "kept") == 0 || strcmp(what, "edited") == 0)
        run_kept(strcmp(what, "edited") == 0);
    if (strcmp(what, "cloned") == 0) {
        cudaGraph_t graph = build_copy(), copy;
        cudaGraphExec_t exec;
        CUDA(cudaGraphClone(&copy, graph));
        exec = instantiate(copy);
        run_once(exec);
        CUDA(cudaFree(input));
        run_once(exec);
    }
    for (int i = 0; i < MANY && strcmp(what, "many") == 0; i++) {
        cudaGraph_t graph = build_copy();
        cudaGraphExec_t exec = instantiate(graph);
        run_once(exec);
        CUDA(cudaGraphExecDestroy(exec));
        CUDA(cudaGraphDestroy(graph));
    }
    if (strcmp(what, "grows") == 0)
        run_cache(200, false, MANY);
    if (strcmp(what, "fewer") == 0)
        run_cache(100, false, MANY);
    if (strcmp(what, "bounded") == 0)
        run_cache(MANY, false, 100);
    if (strcmp(what, "made-first") == 0)
        run_cache(400, true, MANY);
    if (strcmp(what, "freed-early") == 0)
        run_own_memory(true, false);
    if (strcmp(what, "used-early") == 0)
        run_own_memory(false, true);
    if (strcmp(what, "used-in-order") == 0)
        run_own_memory(true, true);
    if (strcmp(what, "cluster-lost") == 0)
        run_copied(true, false);
    if (strcmp(what, "cluster-copied") == 0)
        run_copied(true, true);
    if (strcmp(what, "no-cluster") == 0)
        run_copied(false, false);
    if (strcmp(what, "killed") == 0) {
        run_once(instantiate(build_copy()));
        (void)raise(SIGKILL);
    }
    return 0;
}
