/* Hooks of the calls that allocate, free or map memory: an address may belong to another allocation afterwards. */
#include "driver_hooks.h"

#include <cudaTypedefs.h>
#include <string.h>

#include "debug/attach/events/event.h"
#include "debug/attach/memory/batch_rows.h"
#include "debug/attach/stacks/stacks.h"

static void record_change(const bg__driver_call *call, uintptr_t base, size_t bytes)
{
    if (call->result == CUDA_SUCCESS)
        BG__DISPATCH(BG__MEMORY_CHANGED, .base = base, .bytes = bytes);
}

/* The call may change any range. */
static void after_unknown_change(bg__driver_call *call)
{
    record_change(call, 0, 0);
}

static void record_allocation(const bg__driver_call *call, uintptr_t base, size_t bytes)
{
    if (call->result == CUDA_SUCCESS)
        BG__DISPATCH(BG__MEMORY_MADE, .base = base, .bytes = bytes);
    record_change(call, base, bytes);
}

/* (CUdeviceptr *dptr, size_t bytesize, ...), and the same for host memory */
static void after_alloc(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS)
        record_allocation(call, *(uintptr_t *)bg__call_argument(call, 0), call->arguments[1]);
}

/* (CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height, ...) */
static void after_alloc_pitch(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS)
        record_allocation(call, *(uintptr_t *)bg__call_argument(call, 0),
                          *(size_t *)bg__call_argument(call, 1) * call->arguments[3]);
}

/* (CUdeviceptr ptr, size_t size, ...): a mapping, and the same for host memory */
static void after_map(bg__driver_call *call)
{
    record_allocation(call, (uintptr_t)call->arguments[0], call->arguments[1]);
}

/* (CUdeviceptr ptr, size_t size, ...) */
static void after_range_change(bg__driver_call *call)
{
    record_change(call, (uintptr_t)call->arguments[0], call->arguments[1]);
}

static bool before_memory_call(bg__driver_call *call)
{
    BG__DISPATCH(BG__CALL_CHECKED, .call = call);
    return false;
}

static bool before_wait(bg__driver_call *call)
{
    BG__DISPATCH(BG__WAITING, .call = call);
    return before_memory_call(call);
}

static void after_wait(bg__driver_call *call)
{
    BG__DISPATCH(BG__WAITED, .call = call);
    if (call->result == CUDA_SUCCESS)
        BG__DISPATCH(BG__ORDERED, .stream = bg__call_stream(call, bg__call_argument(call, 0)),
                     .name = bg__call_name(call), .call = call);
}

/* The allocation that this thread is about to free; bytes 0: none, or no graph exists. */
static _Thread_local struct {
    uintptr_t base;
    size_t bytes;
} freed;

/* Reads the range only when there are graphs or rows, so that other programs free at full speed. */
static bool before_free(bg__driver_call *call)
{
    static PFN_cuMemGetAddressRange_v3020 range;
    CUdeviceptr base = 0;
    size_t bytes = 0;

    (void)before_memory_call(call);
    BG__DISPATCH(BG__MEMORY_FREEING, .base = (uintptr_t)call->arguments[0]);
    freed.base = (uintptr_t)call->arguments[0];
    freed.bytes = 0;
    if ((!bg__events_have_graphs() && !bg__rows_are_set()) ||
        (range == NULL && bg__driver_get_entry_point("cuMemGetAddressRange", 3020, &range) != BG_OK))
        return false;
    if (range(&base, &bytes, (CUdeviceptr)call->arguments[0]) == CUDA_SUCCESS) {
        freed.base = (uintptr_t)base;
        freed.bytes = bytes;
    }
    return false;
}

/* captured: the call makes a node of a capture. */
static void record_free(const bg__driver_call *call, uintptr_t base, size_t bytes, bool captured)
{
    if (call->result == CUDA_SUCCESS)
        BG__DISPATCH(BG__MEMORY_FREED, .base = base, .bytes = bytes, .later = captured);
    record_change(call, bytes > 0 ? base : 0, bytes);
}

static void after_free(bg__driver_call *call)
{
    record_free(call, freed.base, freed.bytes, false);
}

/* (CUdeviceptr ptr, size_t size) */
static bool before_unmap(bg__driver_call *call)
{
    BG__DISPATCH(BG__MEMORY_FREEING, .base = (uintptr_t)call->arguments[0]);
    return before_memory_call(call);
}

static void after_unmap(bg__driver_call *call)
{
    record_free(call, (uintptr_t)call->arguments[0], call->arguments[1], false);
}

/* (CUevent *phEvent, unsigned Flags) */
static void after_event_create(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS)
        BG__DISPATCH(BG__EVENT_MADE, .event = *(CUevent *)bg__call_argument(call, 0));
}

/* (CUevent hEvent) */
static bool before_event_destroy(bg__driver_call *call)
{
    BG__DISPATCH(BG__EVENT_GOING, .event = bg__call_argument(call, 0));
    return false;
}

/* A stream-ordered call in a captured stream makes a node. stream: index of the argument. */
static void record_captured_node(const bg__driver_call *call, int stream)
{
    if (call->result == CUDA_SUCCESS)
        bg__record_captured_launch(bg__call_argument(call, stream));
}

/* (CUdeviceptr *dptr, size_t bytesize, CUstream hStream) */
static void after_alloc_async(bg__driver_call *call)
{
    after_alloc(call);
    record_captured_node(call, 2);
}

/* (CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream) */
static void after_pool_alloc_async(bg__driver_call *call)
{
    after_alloc(call);
    record_captured_node(call, 3);
}

/* (CUdeviceptr dptr, CUstream hStream) */
static void after_free_async(bg__driver_call *call)
{
    record_free(call, freed.base, freed.bytes, bg__stream_is_captured(bg__call_argument(call, 1)));
    record_captured_node(call, 1);
}

/* (CUdeviceptr dptr). The call waits for all work. */
static void after_free_device(bg__driver_call *call)
{
    after_free(call);
    BG__DISPATCH(BG__HOST_WAITED);
}

static void begin_unload(const bg__driver_call *call, CUmodule module, CUlibrary library)
{
    BG__DISPATCH(BG__CALL_CHECKED, .call = call);
    BG__DISPATCH(BG__MODULE_UNLOADING, .module = module, .library = library);
}

/* (CUmodule hmod) */
static bool before_module_unload(bg__driver_call *call)
{
    begin_unload(call, bg__call_argument(call, 0), NULL);
    return false;
}

/* (CUlibrary library) */
static bool before_library_unload(bg__driver_call *call)
{
    begin_unload(call, NULL, bg__call_argument(call, 0));
    return false;
}

/* The variables of the module are memory, too, at unknown addresses. */
static void after_unload(bg__driver_call *call)
{
    BG__DISPATCH(BG__MODULE_UNLOADED, .result = call->result);
    after_unknown_change(call);
}

void bg__hook_memory(void)
{
    static const bg__driver_hook hooks[] = {
        {"cuMemAllocAsync", false, before_memory_call, after_alloc_async},
        {"cuMemAllocFromPoolAsync", false, before_memory_call, after_pool_alloc_async},
        {"cuMemFreeAsync", false, before_free, after_free_async},
        {"cuMemAlloc_v2", false, before_memory_call, after_alloc},
        {"cuMemAllocPitch_v2", false, before_memory_call, after_alloc_pitch},
        {"cuMemAllocManaged", false, before_memory_call, after_alloc},
        {"cuMemFree_v2", false, before_free, after_free_device},
        {"cuMemPoolDestroy", false, before_memory_call, after_unknown_change},
        {"cuMemPoolTrimTo", false, before_memory_call, after_unknown_change},
        {"cuMemMap", false, before_memory_call, after_map},
        {"cuMemUnmap", false, before_unmap, after_unmap},
        {"cuMemAddressFree", false, before_memory_call, after_range_change},
        {"cuMemHostAlloc", false, before_memory_call, after_alloc},
        {"cuMemAllocHost_v2", false, before_memory_call, after_alloc},
        {"cuMemFreeHost", false, before_free, after_free},
        {"cuMemHostRegister_v2", false, before_memory_call, after_map},
        {"cuMemHostUnregister", false, before_memory_call, after_unknown_change},
        {"cuIpcOpenMemHandle_v2", false, before_memory_call, after_unknown_change},
        {"cuIpcCloseMemHandle", false, before_memory_call, after_unknown_change},
        {"cuCtxDestroy_v2", false, before_memory_call, after_unknown_change},
        {"cuDevicePrimaryCtxReset_v2", false, before_memory_call, after_unknown_change},
        {"cuDevicePrimaryCtxRelease_v2", false, before_memory_call, after_unknown_change},
        {"cuModuleUnload", false, before_module_unload, after_unload},
        {"cuLibraryUnload", false, before_library_unload, after_unload},
        {"cuEventCreate", false, NULL, after_event_create},
        {"cuEventDestroy_v2", false, before_event_destroy, NULL},
        /* The calls below change no memory, but wait. */
        {"cuCtxSynchronize", false, before_wait, after_wait},
        {"cuStreamSynchronize", false, before_wait, after_wait},
        {"cuEventSynchronize", false, before_wait, after_wait},
    };
    bg__shim->hook(hooks, sizeof hooks / sizeof *hooks);
}
