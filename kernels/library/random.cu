#include "random.h"

#include "kernels/launch.h"
#include "kernels/hash.h"

namespace
{
__device__ void store_rounded(float *to, double value)
{
    *to = static_cast<float>(value);
}

__device__ void store_rounded(double *to, double value)
{
    *to = value;
}

__device__ void store_rounded(__half *to, double value)
{
    *to = __float2half_rn(static_cast<float>(value));
}

__device__ void store_rounded(__nv_bfloat16 *to, double value)
{
    *to = __float2bfloat16_rn(static_cast<float>(value));
}

template <class Number>
__global__ void fill(Number *x, size_t n, unsigned long long seed)
{
    const double step = 1.0 / (1ull << 52);
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        store_rounded(&x[i], static_cast<double>(bgk_mix(seed ^ bgk_mix(i)) >> 11) * step - 1.0);
}

template <class Number>
cudaError_t launch_fill(void *x, size_t n, unsigned long long seed, cudaStream_t stream)
{
    const unsigned threads = 256, blocks_max = 4096;
    unsigned blocks = bgk::blocks_for(n < (size_t)threads * blocks_max ? n : (size_t)threads * blocks_max, threads);
    return bgk::launch(fill<Number>, dim3(blocks), dim3(threads), 0, stream, static_cast<Number *>(x), n, seed);
}
} // namespace

extern "C" cudaError_t bgk_fill_random(void *x, size_t n, bgk_element element, unsigned long long seed,
                                       cudaStream_t stream)
{
    if (n == 0)
        return cudaErrorInvalidValue;
    switch (element) {
    case BGK_ELEMENT_F32: return launch_fill<float>(x, n, seed, stream);
    case BGK_ELEMENT_F64: return launch_fill<double>(x, n, seed, stream);
    case BGK_ELEMENT_F16: return launch_fill<__half>(x, n, seed, stream);
    case BGK_ELEMENT_BF16: return launch_fill<__nv_bfloat16>(x, n, seed, stream);
    default: return cudaErrorInvalidValue;
    }
}
