/* culprit CASE [MODE] [thread]: while stream a captures in that mode, does what CASE says, in another thread or here.
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static cudaStream_t a, b;
static cudaEvent_t event;
static cudaGraph_t graph;
static void *memory;

static void add_nodes(const char *way, cudaGraph_t other)
{
    cudaGraphNode_t node, next;
    cudaGraphCreate(&graph, 0);
    cudaGraphAddEmptyNode(&node, graph, NULL, 0);
    if (strcmp(way, "nodes-data") == 0) {
        struct cudaGraphNodeParams empty = {.type = cudaGraphNodeTypeEmpty};
        cudaGraphAddNode(&next, other, &node, NULL, 1, &empty);
    } else {
        cudaGraphAddEmptyNode(&next, strcmp(way, "nodes-other") == 0 ? other : graph, &node, 1);
    }
    cudaGraphAddEmptyNode(NULL, graph, &node, 1); /* fails for another reason */
}

void *misuse(void *way);
void *misuse(void *way)
{
    CUdeviceptr address;
    if (gettid() != getpid())
        pthread_setname_np(pthread_self(), "worker");
#define CASE(name) if (strcmp(way, name) == 0)
    CASE("hang") alarm(2); /* it ends the program */
    CASE("hang") pause();
    CASE("exit") exit(3);
    CASE("malloc") cudaMalloc(&memory, 64);
    CASE("malloc-driver") cuMemAlloc(&address, 64);
    CASE("nowhere") cudaMalloc(NULL, 64);
    CASE("query") cudaStreamQuery(a);
    CASE("query-b") fprintf(stderr, "query %s\n", cudaGetErrorName(cudaStreamQuery(b)));
    CASE("device") cudaDeviceSynchronize();
    CASE("no-event") cudaStreamWaitEvent(a, NULL, 0);
    CASE("end") cudaStreamEndCapture(a, &graph);
    CASE("destroy") cudaStreamDestroy(a);
    CASE("legacy") cudaMemcpyAsync(memory, memory, 8, cudaMemcpyDeviceToDevice, cudaStreamLegacy);
    CASE("default") cudaStreamBeginCapture(cudaStreamLegacy, cudaStreamCaptureModeRelaxed);
    CASE("again") cudaStreamBeginCapture(a, cudaStreamCaptureModeRelaxed);
    CASE("outside") cudaEventRecord(event, b);
    CASE("outside") cudaStreamWaitEvent(a, event, 0);
    if (strstr(way, "fork") != NULL || strcmp(way, "host") == 0)
        cudaEventRecord(event, a);
    CASE("host") cudaEventSynchronize(event);
    if (strstr(way, "fork") != NULL) {
        cudaStreamWaitEvent(b, event, 0);
        cudaMemsetAsync(memory, 2, 64, b);
    }
    CASE("fork-end") cudaStreamEndCapture(b, &graph);
    CASE("fork-join") cudaEventRecord(event, b);
    CASE("fork-join") cudaStreamWaitEvent(a, event, 0);
    cudaGraph_t other;
    if (strncmp(way, "nodes-", 6) == 0 && cudaGraphCreate(&other, 0) == cudaSuccess)
        add_nodes(way, other);
    CASE("nest") cudaStreamBeginCapture(b, cudaStreamCaptureModeRelaxed);
    CASE("nest") cudaStreamQuery(b);
    CASE("nest") cudaStreamEndCapture(b, &graph);
    return NULL;
}

static enum cudaStreamCaptureMode mode_of(const char *name)
{
    if (strcmp(name, "relaxed") == 0)
        return cudaStreamCaptureModeRelaxed;
    return strcmp(name, "local") == 0 ? cudaStreamCaptureModeThreadLocal : cudaStreamCaptureModeGlobal;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[2] : "global";
    pthread_t thread;

    cudaMalloc(&memory, 64);
    cudaStreamCreateWithFlags(&a, strcmp(argv[1], "legacy") == 0 ? cudaStreamDefault : cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    cudaMemsetAsync(memory, 3, 64, b); /* b has work */
    cudaStreamBeginCapture(a, mode_of(mode));
    cudaMemsetAsync(memory, 4, 64, a);
    if (argc <= 3)
        misuse(argv[1]);
    else if (pthread_create(&thread, NULL, misuse, argv[1]) != 0 || pthread_join(thread, NULL) != 0)
        abort();
    printf("end %s\n", cudaGetErrorName(cudaStreamEndCapture(a, &graph)));
    return 0;
}
