#include "hostcuda/src/kernel/occupancy.h"

#include "hostcuda/src/kernel/grid_state.h"

#include <unistd.h>

enum {
    THREADS = 2048,
    BLOCKS = 32,
    WARP = 32,
    SHARED_BYTES = HC_SHARED_BYTES_MAX + 1024,
    SHARED_RESERVED = 1024, /* by CUDA, in each block */
    SHARED_STEP = 128,
};

int hc_multiprocessor_count(void)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (int)count : 1;
}

static size_t round_up(size_t number, size_t step)
{
    return (number + step - 1) / step * step;
}

int hc_occupancy_blocks(const struct hc_kernel *kernel, int threads, size_t shared_bytes)
{
    size_t bytes = (uint32_t)shared_bytes; /* as in launches, only 32 bits count (measured) */
    if (threads > HC_BLOCK_THREADS_MAX || bytes > (size_t)kernel->shared_limit)
        return 0;
    int by_threads = THREADS / (int)round_up((size_t)threads, WARP);
    int by_memory = (int)(SHARED_BYTES / (round_up(bytes, SHARED_STEP) + SHARED_RESERVED));
    int blocks = by_threads < by_memory ? by_threads : by_memory;
    return blocks < BLOCKS ? blocks : BLOCKS;
}

/* The shared memory reserved in each block is not subtracted, so fewer blocks may fit (measured). */
size_t hc_occupancy_shared_bytes(const struct hc_kernel *kernel, int blocks)
{
    size_t most = (size_t)SHARED_BYTES / (size_t)blocks / SHARED_STEP * SHARED_STEP;
    return most < (size_t)kernel->shared_limit ? most : (size_t)kernel->shared_limit;
}
