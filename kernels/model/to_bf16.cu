#include "kernels.h"
#include "kernels/launch.h"

namespace
{
__global__ void to_bf16(__nv_bfloat16 *y, const float *x, size_t n)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = __float2bfloat16_rn(x[i]);
}
} // namespace

extern "C" cudaError_t bgk_to_bf16(void *y, const float *x, size_t n, cudaStream_t stream)
{
    const unsigned threads = 128;
    if (n == 0)
        return cudaSuccess;
    if (n / threads >= 0x7fffffffu) /* a grid has at most 2^31 - 1 blocks */
        return cudaErrorInvalidValue;
    return bgk::launch(to_bf16, dim3(bgk::blocks_for(n, threads)), dim3(threads), 0, stream,
                       static_cast<__nv_bfloat16 *>(y), x, n);
}
