/* Registers host memory of the program: the memory counts as pinned from then on. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/memory/mapped.h"
#include "hostcuda/src/runtime/runtime_memory.h"
#include "hostcuda/src/stream/stream_capture.h"

static cudaError_t register_memory(void *address, size_t bytes, unsigned flags)
{
    const unsigned allowed = cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterReadOnly;
    if (!address || !bytes || bytes > UINTPTR_MAX - (uintptr_t)address)
        return cudaErrorInvalidValue;
    if (flags & cudaHostRegisterIoMemory)
        return cudaErrorNotSupported; /* no device could own the memory */
    if (flags & ~allowed)
        return cudaErrorInvalidValue;
    cudaError_t error = hc_capture_check_unsafe_call();
    if (error)
        return error;
    const struct hc_block *other = hc_block_overlapping(address, bytes);
    if (other)
        return other->kind == HC_MEMORY_PINNED && other->borrowed ? cudaErrorHostMemoryAlreadyRegistered
                                                                  : cudaErrorInvalidValue; /* measured */
    if (!hc_memory_is_mapped(address, bytes, !(flags & cudaHostRegisterReadOnly)))
        return cudaErrorInvalidValue;
    return hc_block_make_borrowed(HC_MEMORY_PINNED, address, bytes, hc_thread()->device) ? cudaSuccess
                                                                                         : cudaErrorMemoryAllocation;
}

cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
    HC_THROUGH_DRIVER(cuMemHostRegister, ptr, size, flags);
    HC_CALL(register_memory(ptr, size, flags));
}

/* Waits first, since queued copies may still use the memory as pinned. */
static cudaError_t unregister_memory(const void *address)
{
    if (!address)
        return cudaErrorInvalidValue;
    cudaError_t error = hc_capture_check_unsafe_call();
    if (error)
        return error;
    struct hc_block *block = hc_block_find(address);
    if (!block || !block->live)
        return cudaErrorHostMemoryNotRegistered;
    if (block->base != address || block->kind != HC_MEMORY_PINNED || !block->borrowed)
        return cudaErrorInvalidValue; /* the address is inside registered memory, or was never registered (measured) */
    block->live = false;
    error = hc_block_wait_unused(block);
    hc_block_release(block);
    return error;
}

cudaError_t cudaHostUnregister(void *ptr)
{
    HC_THROUGH_DRIVER(cuMemHostUnregister, ptr);
    HC_CALL(unregister_memory(ptr));
}
