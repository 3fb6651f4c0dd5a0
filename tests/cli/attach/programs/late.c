/* A library that Python loads: it captures at once, and again when the process ends, after the interpreter has. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

static cudaStream_t stream;
static void *memory;

static void capture(void)
{
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    if (cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed) != cudaSuccess ||
        cudaMemsetAsync(memory, 0, 64, stream) != cudaSuccess || cudaStreamEndCapture(stream, &graph) != cudaSuccess ||
        cudaGraphInstantiate(&exec, graph, 0) != cudaSuccess || cudaGraphLaunch(exec, stream) != cudaSuccess ||
        cudaStreamSynchronize(stream) != cudaSuccess)
        abort();
    puts("captured");
    (void)fflush(stdout);
}

int begin(void);
int begin(void)
{
    if (cudaStreamCreate(&stream) != cudaSuccess || cudaMalloc(&memory, 64) != cudaSuccess || atexit(capture) != 0)
        return 1;
    capture();
    return 0;
}
