#include "kernels/device.h"
#include "kernels/launch.h"

#include "random_kernels.h"

__global__ void rk_mix_kernel(uint32_t *y, const uint32_t *a, const uint32_t *b, uint32_t k, int n)
{
    int i = (int)threadIdx.x;
    if (i < n)
        y[i] = 3u * a[i] + 2654435761u * b[i] + k + (uint32_t)i;
}

__global__ void rk_blend_kernel(float *y, const float *a, const float *b, float c, int n)
{
    int i = (int)threadIdx.x;
    if (i < n)
        y[i] = 0.5f * a[i] + 0.25f * b[i] + c;
}

cudaError_t rk_mix(uint32_t *y, const uint32_t *a, const uint32_t *b, uint32_t k, int n, cudaStream_t stream)
{
    if (n < 1 || n > 1024)
        return cudaErrorInvalidValue;
    return bgk::launch(rk_mix_kernel, dim3(1), dim3((unsigned)n), 0, stream, y, a, b, k, n);
}

cudaError_t rk_blend(float *y, const float *a, const float *b, float c, int n, cudaStream_t stream)
{
    if (n < 1 || n > 1024)
        return cudaErrorInvalidValue;
    return bgk::launch(rk_blend_kernel, dim3(1), dim3((unsigned)n), 0, stream, y, a, b, c, n);
}
