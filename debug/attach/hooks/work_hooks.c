/* Hooks of work outside of graphs, and of waits. They are added with the first graph. */
#include "driver_hooks.h"

#include <string.h>

#include "debug/attach/stream_order/stream_order.h"

static const bg__attach_shim *shim;

/* In functions with the suffix "_ptsz" or "_ptds", NULL is the per-thread default stream. */
static CUstream stream_of(const char *name, void *stream)
{
    const char *end = strrchr(name, '_');
    bool per_thread = end != NULL && (strcmp(end, "_ptsz") == 0 || strcmp(end, "_ptds") == 0);
    return stream == NULL && per_thread ? CU_STREAM_PER_THREAD : stream;
}

/* (CUevent hEvent, CUstream hStream, ...) */
static void after_event_record(bg__driver_call *call)
{
    CUstream stream = stream_of(call->hook->name, bg__call_argument(call, 1));
    if (call->result == CUDA_SUCCESS && !bg__stream_is_captured(stream))
        bg__stream_order_record_wait(call, call->hook->name, stream);
}

/* (CUstream hStream, ...); also a query that reports completed work */
static void after_stream_wait(bg__driver_call *call)
{
    CUstream stream = stream_of(call->hook->name, bg__call_argument(call, 0));
    if (call->result == CUDA_SUCCESS && !bg__stream_is_captured(stream))
        bg__stream_order_record_wait(call, call->hook->name, stream);
}

/* (CUevent hEvent), or (float *pMilliseconds, CUevent hStart, CUevent hEnd) */
static void after_event_query(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS)
        bg__stream_order_record_wait(call, call->hook->name, NULL);
}

/* (CUstream hStream) */
static bool before_stream_destroy(bg__driver_call *call)
{
    bg__stream_order_remove_stream(bg__call_argument(call, 0));
    return false;
}

/* The call launches into the default stream. */
static void after_default_stream_work(bg__driver_call *call)
{
    CUstream stream = stream_of(call->hook->name, NULL);
    if (call->result == CUDA_SUCCESS && !bg__stream_is_captured(stream))
        bg__stream_order_record_work(call, call->hook->name, stream);
}

static void add_work_hooks(void)
{
    static const bg__driver_hook hooks[] = {
        {"cuEventRecord", false, NULL, after_event_record},
        {"cuEventRecord_ptsz", false, NULL, after_event_record},
        {"cuEventRecordWithFlags", false, NULL, after_event_record},
        {"cuEventRecordWithFlags_ptsz", false, NULL, after_event_record},
        {"cuEventQuery", false, NULL, after_event_query},
        {"cuStreamWaitEvent", false, NULL, after_stream_wait},
        {"cuStreamWaitEvent_ptsz", false, NULL, after_stream_wait},
        {"cuStreamQuery", false, NULL, after_stream_wait},
        {"cuStreamQuery_ptsz", false, NULL, after_stream_wait},
        {"cuEventElapsedTime", false, NULL, after_event_query},
        {"cuEventElapsedTime_v2", false, NULL, after_event_query},
        {"cuStreamDestroy_v2", false, before_stream_destroy, NULL},
        {"cuMemcpy", false, NULL, after_default_stream_work},
        {"cuMemcpy_ptds", false, NULL, after_default_stream_work},
        {"cuMemcpyHtoD_v2", false, NULL, after_default_stream_work},
        {"cuMemcpyHtoD_v2_ptds", false, NULL, after_default_stream_work},
        {"cuMemcpyDtoH_v2", false, NULL, after_default_stream_work},
        {"cuMemcpyDtoH_v2_ptds", false, NULL, after_default_stream_work},
        {"cuMemcpyDtoD_v2", false, NULL, after_default_stream_work},
        {"cuMemcpyDtoD_v2_ptds", false, NULL, after_default_stream_work},
        {"cuMemcpyPeer", false, NULL, after_default_stream_work},
        {"cuMemcpyPeer_ptds", false, NULL, after_default_stream_work},
        {"cuMemcpy2D_v2", false, NULL, after_default_stream_work},
        {"cuMemcpy2D_v2_ptds", false, NULL, after_default_stream_work},
        {"cuMemcpy2DUnaligned_v2", false, NULL, after_default_stream_work},
        {"cuMemcpy2DUnaligned_v2_ptds", false, NULL, after_default_stream_work},
        {"cuMemcpy3D_v2", false, NULL, after_default_stream_work},
        {"cuMemcpy3D_v2_ptds", false, NULL, after_default_stream_work},
        {"cuMemsetD8_v2", false, NULL, after_default_stream_work},
        {"cuMemsetD8_v2_ptds", false, NULL, after_default_stream_work},
        {"cuMemsetD16_v2", false, NULL, after_default_stream_work},
        {"cuMemsetD16_v2_ptds", false, NULL, after_default_stream_work},
        {"cuMemsetD32_v2", false, NULL, after_default_stream_work},
        {"cuMemsetD32_v2_ptds", false, NULL, after_default_stream_work},
        {"cuMemsetD2D8_v2", false, NULL, after_default_stream_work},
        {"cuMemsetD2D8_v2_ptds", false, NULL, after_default_stream_work},
        {"cuMemsetD2D16_v2", false, NULL, after_default_stream_work},
        {"cuMemsetD2D16_v2_ptds", false, NULL, after_default_stream_work},
        {"cuMemsetD2D32_v2", false, NULL, after_default_stream_work},
        {"cuMemsetD2D32_v2_ptds", false, NULL, after_default_stream_work},
    };
    shim->hook(hooks, sizeof hooks / sizeof *hooks);
    bg__enable_launch_hooks();
}

void bg__hook_work(const bg__attach_shim *given)
{
    shim = given;
    bg__stream_order_begin(add_work_hooks);
}
