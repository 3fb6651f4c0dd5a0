/* While one thread invalidates its captures, others make calls that fail and harm nobody. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

enum { THREADS = 3, CAPTURES = 3000 };
static atomic_int over;

void *innocent(void *unused);
void *innocent(void *unused)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    cudaThreadExchangeStreamCaptureMode(&mode);
    while (!atomic_load(&over)) {
        cudaMalloc(NULL, 64);
        cudaMemsetAsync(NULL, 0, 64, NULL);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[THREADS];
    cudaStream_t stream;
    cudaGraph_t graph;
    void *memory;
    int broken = 0;

    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, innocent, NULL) != 0)
            abort();
    for (int i = 0; i < CAPTURES; i++) {
        cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
        cudaMalloc(&memory, 64);
        broken += cudaStreamEndCapture(stream, &graph) == cudaErrorStreamCaptureInvalidated;
    }
    atomic_store(&over, 1);
    for (int i = 0; i < THREADS; i++)
        if (pthread_join(threads[i], NULL) != 0)
            abort();
    return broken != CAPTURES;
}
