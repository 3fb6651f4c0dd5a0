#include "kernels/device.h"
#include "kernels/launch.h"

#include "symbol_kernels.h"

namespace
{
__device__ int scalar = 5;
__constant__ int table[SK_COUNT];

__global__ void scale_table(int *out)
{
    for (int i = 0; i < SK_COUNT; i++)
        out[i] = table[i] * scalar;
    scalar++;
}
} // namespace

const void *sk_scalar(void)
{
    return &scalar;
}

const void *sk_table(void)
{
    return &table;
}

cudaError_t sk_scale(int *out, cudaStream_t stream)
{
    return bgk::launch(scale_table, 1, 1, 0, stream, out);
}

cudaError_t sk_set_and_get(int value, int *back)
{
    cudaError_t error = cudaMemcpyToSymbol(scalar, &value, sizeof value);
    return error ? error : cudaMemcpyFromSymbol(back, scalar, sizeof *back);
}
