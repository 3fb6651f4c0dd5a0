/* The program's calls after which an address may mean something else. */
#include "attach.h"

static void after_change(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS)
        bg__book_memory_moved();
}

void bg__hook_memory(void)
{
#define HOOK(name) {name, false, NULL, after_change}
    static const bg__driver_hook hooks[] = {
        HOOK("cuMemAlloc_v2"),
        HOOK("cuMemAllocPitch_v2"),
        HOOK("cuMemAllocManaged"),
        HOOK("cuMemAllocAsync"),
        HOOK("cuMemAllocAsync_ptsz"),
        HOOK("cuMemAllocFromPoolAsync"),
        HOOK("cuMemAllocFromPoolAsync_ptsz"),
        HOOK("cuMemFree_v2"),
        HOOK("cuMemFreeAsync"),
        HOOK("cuMemFreeAsync_ptsz"),
        HOOK("cuMemPoolDestroy"),
        HOOK("cuMemPoolTrimTo"),
        HOOK("cuMemMap"),
        HOOK("cuMemUnmap"),
        HOOK("cuMemAddressFree"),
        HOOK("cuMemHostAlloc"),
        HOOK("cuMemAllocHost_v2"),
        HOOK("cuMemFreeHost"),
        HOOK("cuMemHostRegister_v2"),
        HOOK("cuMemHostUnregister"),
        HOOK("cuIpcOpenMemHandle_v2"),
        HOOK("cuIpcCloseMemHandle"),
        HOOK("cuCtxDestroy_v2"),
        HOOK("cuDevicePrimaryCtxReset_v2"),
        HOOK("cuDevicePrimaryCtxRelease_v2"),
        HOOK("cuModuleUnload"),
        HOOK("cuLibraryUnload"),
    };
#undef HOOK
    bg__shim->hook(hooks, sizeof hooks / sizeof *hooks);
}
