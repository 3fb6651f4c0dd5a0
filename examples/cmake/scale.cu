#include <scale.h>

__global__ void multiply(float *x)
{
    x[threadIdx.x] *= FACTOR;
}

cudaError_t scale(float *x, cudaStream_t stream)
{
    multiply<<<1, COUNT, 0, stream>>>(x);
    return cudaGetLastError();
}
