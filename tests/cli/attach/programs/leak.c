/* leak CASE [MODE]: while stream a captures, work that its graph does not get, and innocent work; then launches the
 * graph. MODE: relaxed, or thread: another thread does the work. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cudaStream_t a, b;
static void *memory;

void *work(void *way);
void *work(void *way)
{
    enum cudaStreamCaptureMode relaxed = cudaStreamCaptureModeRelaxed;
    cudaEvent_t event;
    char byte;

    if (strcmp(way, "memset") == 0)
        for (int i = 0; i < 3; i++)
            cudaMemsetAsync(memory, 2, 64, b);
    if (strcmp(way, "copy") == 0)
        cudaMemcpy(&byte, memory, 1, cudaMemcpyDeviceToHost);
    if (strcmp(way, "relaxed") == 0) {
        cudaThreadExchangeStreamCaptureMode(&relaxed);
        cudaMemsetAsync(memory, 2, 64, b);
        cudaThreadExchangeStreamCaptureMode(&relaxed);
    }
    if (strcmp(way, "fork") == 0) {
        cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
        cudaEventRecord(event, a);
        cudaStreamWaitEvent(b, event, 0);
        cudaMemsetAsync(memory, 2, 64, b);
        cudaEventRecord(event, b);
        cudaStreamWaitEvent(a, event, 0);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[2] : "";
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    pthread_t thread;

    cudaMalloc(&memory, 64);
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaStreamBeginCapture(a,
                           strcmp(mode, "relaxed") == 0 ? cudaStreamCaptureModeRelaxed : cudaStreamCaptureModeGlobal);
    cudaMemsetAsync(memory, 4, 64, a);
    if (strcmp(mode, "thread") != 0)
        work(argv[1]);
    else if (pthread_create(&thread, NULL, work, argv[1]) != 0 || pthread_join(thread, NULL) != 0)
        abort();
    cudaStreamEndCapture(a, &graph);
    work(argv[1]); /* as plain work */
    if (cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess || cudaGraphLaunch(exec, a) != cudaSuccess)
        return 1;
    return cudaStreamSynchronize(a);
}
