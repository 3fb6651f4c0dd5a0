/* A graph of one launch by <<<>>>, which reads memory that was freed after its capture. */
#include <cuda_runtime.h>

template <class T>
__global__ void scale(T *y, const T *x, T by)
{
    y[threadIdx.x] = x[threadIdx.x] * by;
}

__attribute__((noinline)) void layer(float *y, const float *x, cudaStream_t stream)
{
    scale<<<1, 4, 0, stream>>>(y, x, 2.f);
    asm volatile(""); /* the call before is not the last one */
}

int main()
{
    float *x, *y;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaMalloc(&x, 16);
    cudaMalloc(&y, 16);
    cudaStreamCreate(&stream);
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
    layer(y, x, stream);
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaFree(x);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
}
