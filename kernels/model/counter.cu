#include "kernels.h"
#include "kernels/launch.h"

namespace
{
__global__ void increment(int *counter, int step)
{
    *counter += step;
}

__global__ void set_counter(int *counter, int value)
{
    *counter = value;
}
} // namespace

extern "C" cudaError_t bgk_increment(int *counter, int step, cudaStream_t stream)
{
    return bgk::launch(increment, dim3(1), dim3(1), 0, stream, counter, step);
}

extern "C" cudaError_t bgk_set_counter(int *counter, int value, cudaStream_t stream)
{
    return bgk::launch(set_counter, dim3(1), dim3(1), 0, stream, counter, value);
}
