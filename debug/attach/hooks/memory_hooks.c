/* Hooks of the calls that allocate, free or map memory: an address may belong to another allocation afterwards. */
#include "driver_hooks.h"

#include <cudaTypedefs.h>
#include <string.h>

#include "debug/attach/stream_order/stream_order.h"
#include "debug/attach/checks/host_functions.h"
#include "debug/attach/checks/unfreed_memory.h"
#include "debug/attach/checks/kernel_modules.h"
#include "debug/attach/graphs/graph_table.h"
#include "debug/attach/memory/allocation_changes.h"
#include "debug/attach/stacks/function_names.h"
#include "debug/attach/memory/memory_owners.h"
#include "debug/attach/memory/batch_rows.h"
#include "debug/attach/stacks/stacks.h"
#include "debug/hang/hang.h"
#include "debug/memory/free_sites.h"

/* Records changed ranges only when a graph may use them, so that programs without graphs allocate at full speed. */
static void record_change(const bg__driver_call *call, uintptr_t base, size_t bytes)
{
    if (call->result == CUDA_SUCCESS)
        bg__rows_invalidate(base, bytes);
    if (call->result != CUDA_SUCCESS || bg__graph_table_is_empty())
        return;
    bg__changes_record(base, bytes);
    bg__stream_order_forget_memory(base, bytes);
}

/* The call may change any range. */
static void after_unknown_change(bg__driver_call *call)
{
    bg__stream_order_forget_kernels(); /* a context may be destroyed with its kernels */
    record_change(call, 0, 0);
}

static void record_allocation(const bg__driver_call *call, uintptr_t base, size_t bytes)
{
    if (call->result == CUDA_SUCCESS)
        bg__owners_add(base, bytes);
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
    bg__host_function_check_call(call);
    return false;
}

/* Records which threads wait, for the finding on a graph that hangs. */
static bool before_wait(bg__driver_call *call)
{
    const bg__stack *stack;
    char text[80];

    bg__host_function_check_call(call);
    if (!bg__hangs_wanted())
        return false;
    stack = bg__stack_here();
    bg__hang_wait_begin(bg__function_api_name(call->hook->name, stack, text, sizeof text),
                        stack != NULL ? bg__stack_site(stack) : (bg_site){NULL, 0});
    return false;
}

static void after_wait(bg__driver_call *call)
{
    CUstream stream = bg__call_argument(call, 0);
    bool per_thread = strcmp(call->hook->name, "cuStreamSynchronize_ptsz") == 0;

    bg__hang_wait_end();
    if (call->result == CUDA_SUCCESS)
        bg__stream_order_record_wait(call, call->hook->name,
                                     per_thread && stream == NULL ? CU_STREAM_PER_THREAD : stream);
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

    bg__host_function_check_call(call);
    bg__owners_remove((uintptr_t)call->arguments[0]); /* another thread may get the memory before this call returns */
    freed.bytes = 0;
    if ((bg__graph_table_is_empty() && !bg__rows_are_set()) ||
        (range == NULL && bg__driver_get_entry_point("cuMemGetAddressRange", 3020, &range) != BG_OK))
        return false;
    if (range(&base, &bytes, (CUdeviceptr)call->arguments[0]) == CUDA_SUCCESS) {
        freed.base = (uintptr_t)base;
        freed.bytes = bytes;
    }
    return false;
}

static void record_free(uintptr_t base, size_t bytes)
{
    const bg__stack *stack = bytes > 0 ? bg__stack_here() : NULL;
    if (stack != NULL)
        bg__frees_record(base, bytes, bg__stack_site(stack));
}

static void after_free(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS)
        record_free(freed.base, freed.bytes);
    record_change(call, freed.base, freed.bytes);
}

/* (CUdeviceptr ptr, size_t size) */
static bool before_unmap(bg__driver_call *call)
{
    bg__owners_remove((uintptr_t)call->arguments[0]);
    return before_memory_call(call);
}

static void after_unmap(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS && !bg__graph_table_is_empty())
        record_free((uintptr_t)call->arguments[0], call->arguments[1]);
    after_range_change(call);
}

/* (CUevent *phEvent, unsigned Flags) */
static void after_event_create(bg__driver_call *call)
{
    if (call->result != CUDA_SUCCESS)
        return;
    bg__owners_add_event(*(uintptr_t *)bg__call_argument(call, 0));
    bg__stream_order_add_event(*(CUevent *)bg__call_argument(call, 0));
}

/* (CUevent hEvent) */
static bool before_event_destroy(bg__driver_call *call)
{
    bg__owners_remove((uintptr_t)call->arguments[0]);
    bg__stream_order_remove_event(bg__call_argument(call, 0));
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

/* (CUdeviceptr dptr, ...) */
static void after_immediate_free(bg__driver_call *call)
{
    after_free(call);
    if (call->result == CUDA_SUCCESS)
        bg__unfreed_memory_record_free((uintptr_t)call->arguments[0]);
    if (strstr(call->hook->name, "Async") == NULL)
        bg__stream_order_host_waits_all();
}

/* (CUdeviceptr dptr, CUstream hStream) */
static void after_free_async(bg__driver_call *call)
{
    if (bg__stream_is_captured(bg__call_argument(call, 1)))
        after_free(call);
    else
        after_immediate_free(call);
    record_captured_node(call, 1);
}

/* (CUmodule hmod) */
static bool before_module_unload(bg__driver_call *call)
{
    bg__host_function_check_call(call);
    bg__module_unload_begin(bg__call_argument(call, 0), NULL);
    return false;
}

/* (CUlibrary library) */
static bool before_library_unload(bg__driver_call *call)
{
    bg__host_function_check_call(call);
    bg__module_unload_begin(NULL, bg__call_argument(call, 0));
    return false;
}

/* The variables of the module are memory, too, at unknown addresses. */
static void after_unload(bg__driver_call *call)
{
    bg__module_unload_end(call->result == CUDA_SUCCESS);
    after_unknown_change(call);
}

void bg__hook_memory(const bg__attach_shim *shim)
{
    static const bg__driver_hook hooks[] = {
        {"cuMemAllocAsync", false, before_memory_call, after_alloc_async},
        {"cuMemAllocAsync_ptsz", false, before_memory_call, after_alloc_async},
        {"cuMemAllocFromPoolAsync", false, before_memory_call, after_pool_alloc_async},
        {"cuMemAllocFromPoolAsync_ptsz", false, before_memory_call, after_pool_alloc_async},
        {"cuMemFreeAsync", false, before_free, after_free_async},
        {"cuMemFreeAsync_ptsz", false, before_free, after_free_async},
        {"cuMemAlloc_v2", false, before_memory_call, after_alloc},
        {"cuMemAllocPitch_v2", false, before_memory_call, after_alloc_pitch},
        {"cuMemAllocManaged", false, before_memory_call, after_alloc},
        {"cuMemFree_v2", false, before_free, after_immediate_free},
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
        {"cuCtxSynchronize_v2", false, before_wait, after_wait}, /* (CUcontext ctx) */
        {"cuStreamSynchronize", false, before_wait, after_wait},
        {"cuStreamSynchronize_ptsz", false, before_wait, after_wait},
        {"cuEventSynchronize", false, before_wait, after_wait},
    };
    shim->hook(hooks, sizeof hooks / sizeof *hooks);
}
