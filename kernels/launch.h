/* Launching kernels: `<<<>>>` needs nvcc, this does not. */
#ifndef BG_KERNELS_LAUNCH_H
#define BG_KERNELS_LAUNCH_H

#include "device.h"

#include <utility>

namespace bgk
{
/* Queues `kernel` on `stream`. The arguments convert to the parameters' types as in a function call. A template needs
 * its arguments spelt: launch(scale<float>, ...). More than 48 KiB of shared memory: call allow_shared first. */
template <class... Parameters, class... Arguments>
cudaError_t launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes, cudaStream_t stream,
                   Arguments &&...arguments)
{
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    config.stream = stream;
    return cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...);
}

/* Lets launches of `kernel` ask for up to `bytes` of dynamic shared memory. */
template <class... Parameters>
cudaError_t allow_shared(void (*kernel)(Parameters...), std::size_t bytes)
{
    return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
}

/* The kernel as cudaGraphAddKernelNode and similar calls take it. The query tells the host device the kernel's
 * parameters. */
template <class... Parameters>
const void *function(void (*kernel)(Parameters...))
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, kernel) ? nullptr : reinterpret_cast<const void *>(kernel);
}

/* Blocks of `threads` that cover `count` items. */
inline unsigned blocks_for(std::size_t count, unsigned threads)
{
    return static_cast<unsigned>((count + threads - 1) / threads);
}
} // namespace bgk

#endif
