/* A program whose graph has inputs that are written before each launch, once, or never; state that it carries; results
 * that are read, or not. inputs LAUNCHES [other]: other: another graph writes an input. */
#include "kernels/device.h"
#include "tests/cli/attach/programs/cuda_check.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

enum { N = 64, BYTES = N * sizeof(float), WEIGHTS = 9 };

__global__ void multiply(float *y, const float *x, const float *w)
{
    y[threadIdx.x] = x[threadIdx.x] * w[threadIdx.x];
}

__global__ void accumulate(float *sum, const float *before, const float *y)
{
    sum[threadIdx.x] = before[threadIdx.x] + y[threadIdx.x];
}

static cudaStream_t stream;
static float *x, *y, *scratch, *sum, *weights[WEIGHTS];

static float *allocate()
{
    float *memory;
    CUDA(cudaMalloc(reinterpret_cast<void **>(&memory), BYTES));
    return memory;
}

static void forward()
{
    multiply<<<1, N, 0, stream>>>(scratch, x, weights[0]);
    accumulate<<<1, N, 0, stream>>>(sum, sum, scratch);
    for (int i = 1; i < WEIGHTS; i++)
        multiply<<<1, N, 0, stream>>>(y, scratch, weights[i]);
}

static void prepare()
{
    multiply<<<1, N, 0, stream>>>(x, weights[1], weights[2]);
}

static cudaGraphExec_t capture(void (*pass)())
{
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    pass();
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    return exec;
}

static __attribute__((noinline)) void write_input()
{
    CUDA(cudaMemsetAsync(x, 0, BYTES, stream));
}

static __attribute__((noinline)) void load_weight()
{
    CUDA(cudaMemsetAsync(weights[0], 0, BYTES, stream));
}

int main(int argc, char **argv)
{
    const int launches = argc > 1 ? atoi(argv[1]) : 0;
    const bool other = argc > 2 && strcmp(argv[2], "other") == 0;
    cudaGraphExec_t exec, before = nullptr;
    float result[N];

    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    x = allocate();
    y = allocate();
    scratch = allocate();
    sum = allocate();
    for (float *&weight : weights)
        weight = allocate();
    exec = capture(forward);
    if (other)
        before = capture(prepare);
    for (int i = 0; i < launches; i++) {
        if (other)
            CUDA(cudaGraphLaunch(before, stream));
        else
            write_input();
        if (i == 1)
            load_weight();
        CUDA(cudaGraphLaunch(exec, stream));
        if (i != 1) /* the second result is not read */
            CUDA(cudaMemcpyAsync(result, y, BYTES, cudaMemcpyDeviceToHost, stream));
    }
    CUDA(cudaStreamSynchronize(stream));
    return 0;
}
