#include "kernels/device.h"
#include "kernels/launch.h"
#include "trap.h"

__global__ void trap_kernel(const float *armed)
{
    if (*armed != 0.0f)
        __trap();
}

cudaError_t trap_if(const float *armed, cudaStream_t stream)
{
    return bgk::launch(trap_kernel, 1, 1, 0, stream, armed);
}
