/* Hooks of work outside of graphs, and of waits. They are added with the first graph. */
#include "hooks.h"

#include <string.h>

#include "debug/attach/around/around.h"

static const bg__attach_shim *shim;

/* In functions with the suffix "_ptsz" or "_ptds", NULL is the per-thread default stream. */
static CUstream stream_of(const char *name, void *stream)
{
    const char *end = strrchr(name, '_');
    bool per_thread = end != NULL && (strcmp(end, "_ptsz") == 0 || strcmp(end, "_ptds") == 0);
    return stream == NULL && per_thread ? CU_STREAM_PER_THREAD : stream;
}

/* (CUevent hEvent, CUstream hStream, ...) */
static void after_record(bg__driver_call *call)
{
    CUstream stream = stream_of(call->hook->name, bg__call_argument(call, 1));
    if (call->result == CUDA_SUCCESS && !bg__captures_hold(stream))
        bg__around_wait(call, call->hook->name, stream);
}

/* (CUstream hStream, ...); also a query that reports completed work */
static void after_wait(bg__driver_call *call)
{
    CUstream stream = stream_of(call->hook->name, bg__call_argument(call, 0));
    if (call->result == CUDA_SUCCESS && !bg__captures_hold(stream))
        bg__around_wait(call, call->hook->name, stream);
}

/* (CUevent hEvent), or (float *pMilliseconds, CUevent hStart, CUevent hEnd) */
static void after_event(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS)
        bg__around_wait(call, call->hook->name, NULL);
}

/* (CUstream hStream) */
static bool before_stream_end(bg__driver_call *call)
{
    bg__around_stream_gone(bg__call_argument(call, 0));
    return false;
}

/* The call launches into the default stream. */
static void after_work(bg__driver_call *call)
{
    CUstream stream = stream_of(call->hook->name, NULL);
    if (call->result == CUDA_SUCCESS && !bg__captures_hold(stream))
        bg__around_work(call, call->hook->name, stream);
}

static void begin(void)
{
    static const bg__driver_hook hooks[] = {
        {"cuEventRecord", false, NULL, after_record},
        {"cuEventRecord_ptsz", false, NULL, after_record},
        {"cuEventRecordWithFlags", false, NULL, after_record},
        {"cuEventRecordWithFlags_ptsz", false, NULL, after_record},
        {"cuEventQuery", false, NULL, after_event},
        {"cuStreamWaitEvent", false, NULL, after_wait},
        {"cuStreamWaitEvent_ptsz", false, NULL, after_wait},
        {"cuStreamQuery", false, NULL, after_wait},
        {"cuStreamQuery_ptsz", false, NULL, after_wait},
        {"cuEventElapsedTime", false, NULL, after_event},
        {"cuEventElapsedTime_v2", false, NULL, after_event},
        {"cuStreamDestroy_v2", false, before_stream_end, NULL},
        {"cuMemcpy", false, NULL, after_work},
        {"cuMemcpy_ptds", false, NULL, after_work},
        {"cuMemcpyHtoD_v2", false, NULL, after_work},
        {"cuMemcpyHtoD_v2_ptds", false, NULL, after_work},
        {"cuMemcpyDtoH_v2", false, NULL, after_work},
        {"cuMemcpyDtoH_v2_ptds", false, NULL, after_work},
        {"cuMemcpyDtoD_v2", false, NULL, after_work},
        {"cuMemcpyDtoD_v2_ptds", false, NULL, after_work},
        {"cuMemcpyPeer", false, NULL, after_work},
        {"cuMemcpyPeer_ptds", false, NULL, after_work},
        {"cuMemcpy2D_v2", false, NULL, after_work},
        {"cuMemcpy2D_v2_ptds", false, NULL, after_work},
        {"cuMemcpy2DUnaligned_v2", false, NULL, after_work},
        {"cuMemcpy2DUnaligned_v2_ptds", false, NULL, after_work},
        {"cuMemcpy3D_v2", false, NULL, after_work},
        {"cuMemcpy3D_v2_ptds", false, NULL, after_work},
        {"cuMemsetD8_v2", false, NULL, after_work},
        {"cuMemsetD8_v2_ptds", false, NULL, after_work},
        {"cuMemsetD16_v2", false, NULL, after_work},
        {"cuMemsetD16_v2_ptds", false, NULL, after_work},
        {"cuMemsetD32_v2", false, NULL, after_work},
        {"cuMemsetD32_v2_ptds", false, NULL, after_work},
        {"cuMemsetD2D8_v2", false, NULL, after_work},
        {"cuMemsetD2D8_v2_ptds", false, NULL, after_work},
        {"cuMemsetD2D16_v2", false, NULL, after_work},
        {"cuMemsetD2D16_v2_ptds", false, NULL, after_work},
        {"cuMemsetD2D32_v2", false, NULL, after_work},
        {"cuMemsetD2D32_v2_ptds", false, NULL, after_work},
    };
    shim->hook(hooks, sizeof hooks / sizeof *hooks);
    bg__hook_launches();
}

void bg__hook_work(const bg__attach_shim *given)
{
    shim = given;
    bg__around_begin(begin);
}
