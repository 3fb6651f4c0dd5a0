#include "hostcuda/src/runtime/reset.h"

#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/core/core_grow.h"
#include "hostcuda/src/memory/memory_blocks.h"
#include "hostcuda/src/stream/stream_capture.h"
#include "hostcuda/src/stream/queue_run.h"

#include <stdlib.h>

struct found {
    int device;
    struct hc_block **blocks;
    size_t count, capacity;
};

/* Mappings and variables have owners of their own. Stream-ordered allocations stay, since pools own them (measured). */
static void find_owned(struct hc_block *block, const void *data)
{
    struct found *found = (struct found *)(uintptr_t)data;
    bool pooled = block->pool && !block->graphs;
    bool owned = (!block->borrowed || block->kind == HC_MEMORY_PINNED) && !pooled;
    if (block->device == found->device && block->live && owned &&
        hc_array_reserve(&found->blocks, &found->capacity, found->count + 1, sizeof(*found->blocks)))
        found->blocks[found->count++] = block;
}

static void free_device_memory(int device)
{
    struct found found = {.device = device};
    hc_block_visit_all(find_owned, &found);
    for (size_t i = 0; i < found.count; i++) {
        found.blocks[i]->live = false;
        hc_block_release(found.blocks[i]);
    }
    free(found.blocks);
}

cudaError_t hc_device_reset(int device)
{
    struct hc_device *state = hc_device(device);
    cudaError_t error = hc_capture_check_device_wait(device);
    if (error)
        return error;
    error = hc_run_device(device);
    free_device_memory(device);
    hc_pool_reset(device);
    state->flags = HC_DEVICE_FLAGS;
    for (int i = 0; i < HC_DEVICES_MAX; i++)
        state->peers[i] = false;
    return error;
}

cudaError_t cudaDeviceReset(void)
{
    HC_THROUGH_DRIVER(cuDevicePrimaryCtxReset, hc_thread()->device);
    cudaError_t error = hc_call_begin_despite_errors();
    if (!error)
        error = hc_device_reset(hc_thread()->device);
    return hc_call_end(error);
}

/* ---- flags ------------------------------------------------------------------------------------------------------- */

/* The flag for mapped host memory is always set. */
cudaError_t cudaGetDeviceFlags(unsigned int *flags)
{
    cudaError_t error = hc_call_begin_despite_errors();
    if (!error && !flags)
        error = cudaErrorInvalidValue;
    if (!error)
        *flags = hc_device(hc_thread()->device)->flags | cudaDeviceMapHost;
    return hc_call_end(error);
}

cudaError_t hc_device_set_flags(int device, unsigned flags)
{
    const unsigned kept = cudaDeviceScheduleMask | cudaDeviceMapHost | cudaDeviceLmemResizeToMax | cudaDeviceSyncMemops;
    const unsigned ways = flags & cudaDeviceScheduleMask;
    if (flags & ~(unsigned)cudaDeviceMask || ways & (ways - 1))
        return cudaErrorInvalidValue;
    hc_device(device)->flags = flags & kept;
    return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned int flags)
{
    cudaError_t error = hc_call_begin_despite_errors();
    if (!error)
        error = hc_device_set_flags(hc_thread()->device, flags);
    return hc_call_end(error);
}
