/* How many blocks of a kernel a GPU of compute capability 9.0 would run at once on a multiprocessor. Here they run one
 * after the other: the answers serve programs that shape their launches by them. */
#include "hostcuda/call/call.h"
#include "hostcuda/call/translate.h"
#include "hostcuda/kernel/block.h"
#include "hostcuda/kernel/kernels.h"

enum { THREADS = 2048, BLOCKS = 32, WARP = 32, SHARED_BYTES = HC_SHARED_BYTES_MAX + 1024, SHARED_RESERVED = 1024 };

static int round_up_to_warps(int threads)
{
    return (threads + WARP - 1) / WARP * WARP;
}

static cudaError_t check_asked(const struct hc_kernel *kernel, const void *function, const void *answer, int threads)
{
    if (!kernel)
        return function ? HC_NO_KERNEL : cudaErrorInvalidDeviceFunction;
    return !answer || threads <= 0 ? cudaErrorInvalidValue : cudaSuccess;
}

/* 0: not one fits. */
static int blocks_that_fit(const struct hc_kernel *kernel, int threads, size_t shared_bytes)
{
    if (threads > HC_BLOCK_THREADS_MAX || shared_bytes > (size_t)kernel->shared_limit)
        return 0;
    int by_threads = THREADS / round_up_to_warps(threads);
    int by_memory = (int)(SHARED_BYTES / (shared_bytes + SHARED_RESERVED));
    int blocks = by_threads < by_memory ? by_threads : by_memory;
    return blocks < BLOCKS ? blocks : BLOCKS;
}

static cudaError_t count_blocks(int *blocks, const void *function, int threads, size_t shared_bytes, unsigned flags)
{
    const struct hc_kernel *kernel = hc_kernel_find(function);
    cudaError_t error = check_asked(kernel, function, blocks, threads);
    if (!error && flags & ~(unsigned)cudaOccupancyDisableCachingOverride)
        error = cudaErrorInvalidValue;
    if (!error)
        *blocks = blocks_that_fit(kernel, threads, shared_bytes);
    return error;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func, int blockSize,
                                                          size_t dynamicSMemSize)
{
    CUfunction function;
    HC_THROUGH_IF((function = hc_driver_function(func)), cuOccupancyMaxActiveBlocksPerMultiprocessor, numBlocks,
                  function, blockSize, dynamicSMemSize);
    HC_CALL(count_blocks(numBlocks, func, blockSize, dynamicSMemSize, cudaOccupancyDefault));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, const void *func, int blockSize,
                                                                   size_t dynamicSMemSize, unsigned int flags)
{
    CUfunction function;
    HC_THROUGH_IF((function = hc_driver_function(func)), cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
                  numBlocks, function, blockSize, dynamicSMemSize, flags);
    HC_CALL(count_blocks(numBlocks, func, blockSize, dynamicSMemSize, flags));
}

/* The most that leaves room for so many blocks. */
static cudaError_t count_memory(size_t *bytes, const void *function, int blocks, int threads)
{
    const struct hc_kernel *kernel = hc_kernel_find(function);
    cudaError_t error = check_asked(kernel, function, bytes, threads);
    if (error || blocks <= 0 || blocks > blocks_that_fit(kernel, threads, 0))
        return error ? error : cudaErrorInvalidValue;
    size_t most = (size_t)SHARED_BYTES / (size_t)blocks - SHARED_RESERVED;
    *bytes = most < (size_t)kernel->shared_limit ? most : (size_t)kernel->shared_limit;
    return cudaSuccess;
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, const void *func, int numBlocks,
                                                      int blockSize)
{
    CUfunction function;
    HC_THROUGH_IF((function = hc_driver_function(func)), cuOccupancyAvailableDynamicSMemPerBlock, dynamicSmemSize,
                  function, numBlocks, blockSize);
    HC_CALL(count_memory(dynamicSmemSize, func, numBlocks, blockSize));
}
