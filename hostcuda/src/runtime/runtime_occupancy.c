/* Occupancy queries, by which programs choose the shape of a launch. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/call/driver_translation.h"
#include "hostcuda/src/kernel/occupancy.h"

static cudaError_t check_arguments(const struct hc_kernel *kernel, const void *function, const void *answer,
                                   int threads)
{
    if (!kernel)
        return function ? HC_NO_KERNEL : cudaErrorInvalidDeviceFunction;
    return !answer || threads <= 0 ? cudaErrorInvalidValue : cudaSuccess;
}

static cudaError_t count_blocks(int *blocks, const void *function, int threads, size_t shared_bytes, unsigned flags)
{
    const struct hc_kernel *kernel = hc_kernel_find(function);
    cudaError_t error = check_arguments(kernel, function, blocks, threads);
    if (!error && flags & ~(unsigned)cudaOccupancyDisableCachingOverride)
        error = cudaErrorInvalidValue;
    if (!error)
        *blocks = hc_occupancy_blocks(kernel, threads, shared_bytes);
    return error;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func, int blockSize,
                                                          size_t dynamicSMemSize)
{
    CUfunction function;
    HC_THROUGH_DRIVER_IF((function = hc_function_to_driver(func)), cuOccupancyMaxActiveBlocksPerMultiprocessor,
                         numBlocks, function, blockSize, dynamicSMemSize);
    HC_CALL(count_blocks(numBlocks, func, blockSize, dynamicSMemSize, cudaOccupancyDefault));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, const void *func, int blockSize,
                                                                   size_t dynamicSMemSize, unsigned int flags)
{
    CUfunction function;
    HC_THROUGH_DRIVER_IF((function = hc_function_to_driver(func)), cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
                         numBlocks, function, blockSize, dynamicSMemSize, flags);
    HC_CALL(count_blocks(numBlocks, func, blockSize, dynamicSMemSize, flags));
}

static cudaError_t available_shared_bytes(size_t *bytes, const void *function, int blocks, int threads)
{
    const struct hc_kernel *kernel = hc_kernel_find(function);
    cudaError_t error = check_arguments(kernel, function, bytes, threads);
    if (error || blocks <= 0 || blocks > hc_occupancy_blocks(kernel, threads, 0))
        return error ? error : cudaErrorInvalidValue;
    *bytes = hc_occupancy_shared_bytes(kernel, blocks);
    return cudaSuccess;
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, const void *func, int numBlocks,
                                                      int blockSize)
{
    CUfunction function;
    HC_THROUGH_DRIVER_IF((function = hc_function_to_driver(func)), cuOccupancyAvailableDynamicSMemPerBlock,
                         dynamicSmemSize, function, numBlocks, blockSize);
    HC_CALL(available_shared_bytes(dynamicSmemSize, func, numBlocks, blockSize));
}
