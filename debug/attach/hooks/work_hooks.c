/* Hooks of work outside of graphs, and of waits. They are added with the first graph. */
#include "driver_hooks.h"

#include <string.h>

#include "debug/attach/events/event.h"
#include "debug/attach/stream_order/stream_order.h"

static void record(const bg__driver_call *call, bg__event_kind kind, CUstream stream)
{
    if (call->result == CUDA_SUCCESS && !bg__stream_is_captured(stream))
        BG__DISPATCH(kind, .stream = stream, .name = bg__call_name(call), .call = call);
}

/* (CUevent hEvent, CUstream hStream, ...) */
static void after_event_record(bg__driver_call *call)
{
    record(call, BG__ORDERED, bg__call_stream(call, bg__call_argument(call, 1)));
}

/* (CUstream hStream, ...); also a query that reports completed work */
static void after_stream_wait(bg__driver_call *call)
{
    record(call, BG__ORDERED, bg__call_stream(call, bg__call_argument(call, 0)));
}

/* (CUevent hEvent), or (float *pMilliseconds, CUevent hStart, CUevent hEnd) */
static void after_event_query(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS)
        BG__DISPATCH(BG__ORDERED, .name = bg__call_name(call), .call = call);
}

/* (CUstream hStream) */
static bool before_stream_destroy(bg__driver_call *call)
{
    BG__DISPATCH(BG__STREAM_GOING, .stream = bg__call_argument(call, 0));
    return false;
}

/* The call launches into the default stream. */
static void after_default_stream_work(bg__driver_call *call)
{
    record(call, BG__WORK, bg__call_stream(call, NULL));
}

static void add_work_hooks(void)
{
    static const bg__driver_hook hooks[] = {
        {"cuEventRecord", false, NULL, after_event_record},
        {"cuEventRecordWithFlags", false, NULL, after_event_record},
        {"cuEventQuery", false, NULL, after_event_query},
        {"cuStreamWaitEvent", false, NULL, after_stream_wait},
        {"cuStreamQuery", false, NULL, after_stream_wait},
        {"cuEventElapsedTime", false, NULL, after_event_query},
        {"cuStreamDestroy_v2", false, before_stream_destroy, NULL},
        {"cuMemcpy", false, NULL, after_default_stream_work},
        {"cuMemcpyHtoD_v2", false, NULL, after_default_stream_work},
        {"cuMemcpyDtoH_v2", false, NULL, after_default_stream_work},
        {"cuMemcpyDtoD_v2", false, NULL, after_default_stream_work},
        {"cuMemcpyPeer", false, NULL, after_default_stream_work},
        {"cuMemcpy2D_v2", false, NULL, after_default_stream_work},
        {"cuMemcpy2DUnaligned_v2", false, NULL, after_default_stream_work},
        {"cuMemcpy3D_v2", false, NULL, after_default_stream_work},
        {"cuMemsetD8_v2", false, NULL, after_default_stream_work},
        {"cuMemsetD16_v2", false, NULL, after_default_stream_work},
        {"cuMemsetD32_v2", false, NULL, after_default_stream_work},
        {"cuMemsetD2D8_v2", false, NULL, after_default_stream_work},
        {"cuMemsetD2D16_v2", false, NULL, after_default_stream_work},
        {"cuMemsetD2D32_v2", false, NULL, after_default_stream_work},
    };
    bg__shim->hook(hooks, sizeof hooks / sizeof *hooks);
    bg__enable_launch_hooks();
}

void bg__hook_work(void)
{
    if (bg__event_is_wanted(BG__ORDERED))
        bg__stream_order_begin(add_work_hooks);
}
