/* Hooks of captures, and of launches while a capture is open: they record the stack of the launch that made each node.
 */
#include "driver_hooks.h"

#include <stdatomic.h>
#include <string.h>

#include "debug/attach/captures/captures.h"
#include "debug/attach/events/event.h"

/* The stream is the first argument. */
static CUstream stream_of(const bg__driver_call *call)
{
    return bg__call_stream(call, bg__call_argument(call, 0));
}

static bool before_begin(bg__driver_call *call)
{
    BG__DISPATCH(BG__CAPTURE_BEGINNING, .call = call);
    return false;
}

static void record_begin(const bg__driver_call *call, CUstreamCaptureMode mode)
{
    BG__DISPATCH(BG__CAPTURE_BEGUN, .result = call->result, .stream = stream_of(call), .mode = mode, .call = call);
}

/* CUDA 10.0: (CUstream hStream); later: (CUstream hStream, CUstreamCaptureMode mode). */
static void after_begin(bg__driver_call *call)
{
    bool has_mode = strstr(bg__call_name(call), "_v2") != NULL;
    record_begin(call, has_mode ? (CUstreamCaptureMode)call->arguments[1] : CU_STREAM_CAPTURE_MODE_GLOBAL);
}

/* (CUstream hStream, CUgraph hGraph, const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData, size_t
 * numDependencies, CUstreamCaptureMode mode) */
static void after_begin_to_graph(bg__driver_call *call)
{
    record_begin(call, (CUstreamCaptureMode)call->arguments[5]);
}

static bool before_end(bg__driver_call *call)
{
    BG__DISPATCH(BG__CAPTURE_ENDING, .stream = stream_of(call), .call = call);
    return false;
}

/* (CUstream hStream, CUgraph *phGraph). */
static void after_end(bg__driver_call *call)
{
    const cudaGraph_t *graph = bg__call_argument(call, 1);
    BG__DISPATCH(BG__CAPTURE_ENDED, .result = call->result, .stream = stream_of(call),
                 .source = call->result == CUDA_SUCCESS ? *graph : NULL, .call = call);
}

bool bg__stream_is_captured(CUstream stream)
{
    bg__capture_info_function info;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

    /* if CUDA does not answer, the stream counts as captured: no tool may replace the launch */
    return bg__captures_are_open() && (bg__driver_find_capture_info(&info) != BG_OK ||
                                       info(stream, &status, NULL, NULL, NULL, NULL, NULL) != CUDA_SUCCESS ||
                                       status != CU_STREAM_CAPTURE_STATUS_NONE);
}

/* Warns once, not for each of hundreds of launches. */
static void warn_unknown_launch(void)
{
    static atomic_bool warned;
    if (!atomic_exchange(&warned, true))
        bg__warn(
            "--attach: findings lack the places of some launches: the driver does not report the capture of a stream");
}

/* After a launch that makes a node, the stream depends on that node alone. */
void bg__record_captured_launch(CUstream stream)
{
    bg__capture_info_function info;
    CUstreamCaptureStatus status;
    const CUgraphNode *nodes = NULL;
    const CUgraphEdgeData *edges;
    cuuint64_t capture = 0;
    size_t count = 0;
    CUresult result = CUDA_ERROR_NOT_FOUND;

    if (!bg__captures_are_open())
        return;
    if (bg__driver_find_capture_info(&info) == BG_OK)
        result = info(stream, &status, &capture, NULL, &nodes, &edges, &count);
    if (result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) /* the legacy default stream is in no capture */
        return;
    if (result != CUDA_SUCCESS) {
        warn_unknown_launch();
        return;
    }
    if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE && count == 1)
        BG__DISPATCH(BG__NODE_CAPTURED, .stream = stream, .capture = capture, .node = (cudaGraphNode_t)nodes[0],
                     .stack = bg__stack_here());
}

/* A launch function, and the index of its argument that is the stream; -1: the stream is in the first argument, the
 * configuration. */
typedef struct launch_hook {
    bg__driver_hook hook;
    int stream;
} launch_hook;

static void after_launch(bg__driver_call *call)
{
    const launch_hook *h = (const launch_hook *)call->hook; /* hook is the first member */
    CUstream stream = h->stream >= 0 ? bg__call_argument(call, h->stream)
                                     : ((const CUlaunchConfig *)bg__call_argument(call, 0))->hStream;
    stream = bg__call_stream(call, stream);
    if (call->result == CUDA_SUCCESS && bg__stream_is_captured(stream))
        bg__record_captured_launch(stream);
    else if (call->result == CUDA_SUCCESS)
        BG__DISPATCH(BG__WORK, .stream = stream, .name = bg__call_name(call), .call = call);
}

#define LAUNCH(name, stream)                                                                                           \
    {                                                                                                                  \
        {name, true, NULL, after_launch}, stream                                                                       \
    }
static launch_hook launches[] = {
    LAUNCH("cuLaunchKernel", 8),
    LAUNCH("cuLaunchKernelEx", -1),
    LAUNCH("cuLaunchCooperativeKernel", 8),
    LAUNCH("cuLaunchHostFunc", 0),
    LAUNCH("cuMemcpyAsync", 3),
    LAUNCH("cuMemcpyHtoDAsync_v2", 3),
    LAUNCH("cuMemcpyDtoHAsync_v2", 3),
    LAUNCH("cuMemcpyDtoDAsync_v2", 3),
    LAUNCH("cuMemcpyPeerAsync", 5),
    LAUNCH("cuMemcpyHtoAAsync_v2", 4),
    LAUNCH("cuMemcpyAtoHAsync_v2", 4),
    LAUNCH("cuMemcpy2DAsync_v2", 1),
    LAUNCH("cuMemcpy3DAsync_v2", 1),
    LAUNCH("cuMemcpy3DPeerAsync", 1),
    LAUNCH("cuMemsetD8Async", 3),
    LAUNCH("cuMemsetD16Async", 3),
    LAUNCH("cuMemsetD32Async", 3),
    LAUNCH("cuMemsetD2D8Async", 5),
    LAUNCH("cuMemsetD2D16Async", 5),
    LAUNCH("cuMemsetD2D32Async", 5),
    LAUNCH("cuStreamWriteValue32_v2", 0),
    LAUNCH("cuStreamWaitValue32_v2", 0),
    LAUNCH("cuStreamBatchMemOp_v2", 0),
    LAUNCH("cuStreamWriteValue64_v2", 0),
    LAUNCH("cuStreamWaitValue64_v2", 0),
    LAUNCH("cuStreamAddCallback", 0),
    LAUNCH("cuWaitExternalSemaphoresAsync", 3),
    LAUNCH("cuSignalExternalSemaphoresAsync", 3),
};
enum { LAUNCHES = sizeof launches / sizeof *launches };

void bg__enable_launch_hooks(void)
{
    for (int i = 0; i < LAUNCHES; i++) {
        launches[i].hook.idle = false;
        bg__shim->hook(&launches[i].hook, 1);
    }
}

/* ---- all calls -------------------------------------------------------------------------------------------------- */

static bool before_any_call(bg__driver_call *call)
{
    BG__DISPATCH(BG__CALL_BEGUN, .call = call);
    return false;
}

static void after_any_call(bg__driver_call *call)
{
    BG__DISPATCH(BG__CALL_ENDED, .result = call->result, .call = call);
}

void bg__hook_captures(void)
{
    static const bg__driver_hook any = {NULL, true, before_any_call, after_any_call};
    static const bg__driver_hook hooks[] = {
        {"cuStreamBeginCapture", false, before_begin, after_begin},
        {"cuStreamBeginCaptureToGraph", false, before_begin, after_begin_to_graph},
        {"cuStreamEndCapture", false, before_end, after_end},
    };

    if (bg__event_is_wanted(BG__CALL_BEGUN))
        bg__shim->hook_all(&any);
    for (int i = 0; i < LAUNCHES; i++)
        bg__shim->hook(&launches[i].hook, 1);
    bg__shim->hook(hooks, sizeof hooks / sizeof *hooks);
}
