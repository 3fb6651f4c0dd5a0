/* The program's calls after which an address may mean something else. */
#include "attach.h"

static void after_change(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS)
        bg__book_memory_moved();
}

/* In the order of a stream, which may be captured: then nothing has happened yet, and there is a node for it. */
static void after_change_in(bg__driver_call *call, int stream)
{
    after_change(call);
    if (call->result == CUDA_SUCCESS)
        bg__captures_note(bg__call_argument(call, stream));
}

/* (CUdeviceptr *dptr, size_t bytesize, CUstream hStream) */
static void after_alloc(bg__driver_call *call)
{
    after_change_in(call, 2);
}

/* (CUdeviceptr *dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream) */
static void after_pool_alloc(bg__driver_call *call)
{
    after_change_in(call, 3);
}

/* (CUdeviceptr dptr, CUstream hStream) */
static void after_free(bg__driver_call *call)
{
    after_change_in(call, 1);
}

void bg__hook_memory(void)
{
    static const bg__driver_hook hooks[] = {
        {"cuMemAllocAsync", false, NULL, after_alloc},
        {"cuMemAllocAsync_ptsz", false, NULL, after_alloc},
        {"cuMemAllocFromPoolAsync", false, NULL, after_pool_alloc},
        {"cuMemAllocFromPoolAsync_ptsz", false, NULL, after_pool_alloc},
        {"cuMemFreeAsync", false, NULL, after_free},
        {"cuMemFreeAsync_ptsz", false, NULL, after_free},
        {"cuMemAlloc_v2", false, NULL, after_change},
        {"cuMemAllocPitch_v2", false, NULL, after_change},
        {"cuMemAllocManaged", false, NULL, after_change},
        {"cuMemFree_v2", false, NULL, after_change},
        {"cuMemPoolDestroy", false, NULL, after_change},
        {"cuMemPoolTrimTo", false, NULL, after_change},
        {"cuMemMap", false, NULL, after_change},
        {"cuMemUnmap", false, NULL, after_change},
        {"cuMemAddressFree", false, NULL, after_change},
        {"cuMemHostAlloc", false, NULL, after_change},
        {"cuMemAllocHost_v2", false, NULL, after_change},
        {"cuMemFreeHost", false, NULL, after_change},
        {"cuMemHostRegister_v2", false, NULL, after_change},
        {"cuMemHostUnregister", false, NULL, after_change},
        {"cuIpcOpenMemHandle_v2", false, NULL, after_change},
        {"cuIpcCloseMemHandle", false, NULL, after_change},
        {"cuCtxDestroy_v2", false, NULL, after_change},
        {"cuDevicePrimaryCtxReset_v2", false, NULL, after_change},
        {"cuDevicePrimaryCtxRelease_v2", false, NULL, after_change},
        {"cuModuleUnload", false, NULL, after_change},
        {"cuLibraryUnload", false, NULL, after_change},
    };
    bg__shim->hook(hooks, sizeof hooks / sizeof *hooks);
}
