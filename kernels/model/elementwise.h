/* Elementwise kernels: the grid covers the elements, four to a thread if the addresses and the count allow. */
#ifndef BG_KERNELS_ELEMENTWISE_H
#define BG_KERNELS_ELEMENTWISE_H
#include "kernels/launch.h"

namespace bgk
{
/* operation(a, b) with a = x[i], b = z[i]; it may ignore either. */
template <class Operation>
__global__ void apply_to_float4(float4 *y, const float4 *x, const float4 *z, Operation operation, size_t n)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float4 a = x[i], b = z[i];
    y[i] = make_float4(operation(a.x, b.x), operation(a.y, b.y), operation(a.z, b.z), operation(a.w, b.w));
}

template <class Operation>
__global__ void apply_to_float(float *y, const float *x, const float *z, Operation operation, size_t n)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = operation(x[i], z[i]);
}

inline bool is_float4_aligned(const float *p)
{
    return reinterpret_cast<uintptr_t>(p) % sizeof(float4) == 0;
}

/* y[i] = operation(x[i], z[i]) for n elements. */
template <class Operation>
cudaError_t elementwise(float *y, const float *x, const float *z, Operation operation, size_t n, cudaStream_t stream)
{
    const unsigned threads = 128;
    if (n == 0)
        return cudaSuccess;
    if (n / threads >= 0x7fffffffu) /* a grid has at most 2^31 - 1 blocks */
        return cudaErrorInvalidValue;
    if (n % 4 == 0 && is_float4_aligned(y) && is_float4_aligned(x) && is_float4_aligned(z))
        return launch(apply_to_float4<Operation>, dim3(blocks_for(n / 4, threads)), dim3(threads), 0, stream,
                      reinterpret_cast<float4 *>(y), reinterpret_cast<const float4 *>(x),
                      reinterpret_cast<const float4 *>(z), operation, n / 4);
    return launch(apply_to_float<Operation>, dim3(blocks_for(n, threads)), dim3(threads), 0, stream, y, x, z, operation,
                  n);
}
} // namespace bgk
#endif
