/* host_function CASE: launches a graph with a host function twice. CASE is what the function does the second time. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(call)                                                                                                    \
    if ((call) != cudaSuccess)                                                                                         \
        exit(2);

static const char *way;
static void *memory;
static cudaEvent_t event;
static cudaGraph_t graph;
static cudaGraphExec_t exec;
static int runs;

static void note_error(cudaError_t error)
{
    printf("%s\n", cudaGetErrorName(error));
}

void misuse(void);
void misuse(void)
{
#define CASE(name) if (strcmp(way, name) == 0)
    CASE("free") note_error(cudaFree(memory));
    CASE("malloc") note_error(cudaMalloc(&memory, 64));
    CASE("wait") note_error(cudaEventSynchronize(event));
    CASE("launch") note_error(cudaGraphLaunch(exec, NULL));
    CASE("crash") abort();
    CASE("long") sleep(600);
    CASE("short") usleep(1000);
}

void work(void *data);
void work(void *data)
{
    ++*(int *)data;
    if (runs == 2)
        misuse();
}

static void other_work(void *data)
{
    *(int *)data += 10;
}

static void *end_soon(void *unused)
{
    (void)unused;
    while (__atomic_load_n(&runs, __ATOMIC_SEQ_CST) < 2)
        (void)usleep(1000);
    (void)usleep(1300000);
    _exit(3);
}

static void capture(cudaStream_t stream)
{
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemsetAsync(memory, 1, 64, stream));
    CHECK(cudaLaunchHostFunc(stream, work, &runs));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
}

/* The program sees its own function, and may set another one. */
static void look_and_set(void)
{
    struct cudaHostNodeParams params;
    cudaGraphNode_t nodes[2];
    size_t count = 2;

    CHECK(cudaGraphGetNodes(graph, nodes, &count));
    CHECK(cudaGraphHostNodeGetParams(nodes[1], &params));
    if (params.fn != work || params.userData != &runs)
        exit(4);
    params.fn = other_work;
    CASE("set") CHECK(cudaGraphExecHostNodeSetParams(exec, nodes[1], &params));
}

int main(int argc, char **argv)
{
    cudaStream_t stream;
    pthread_t thread;

    way = argv[argc - 1];
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMalloc(&memory, 64));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    capture(stream);
    look_and_set();
    CASE("long") if (pthread_create(&thread, NULL, end_soon, NULL) != 0) exit(2);
    for (int i = 0; i < 2; i++) {
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaStreamSynchronize(stream));
    }
    CHECK(cudaFree(memory));
    printf("runs %d\n", runs);
    return 0;
}
