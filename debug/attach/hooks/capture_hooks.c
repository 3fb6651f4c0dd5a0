/* Hooks of captures, and of launches while a capture is open: they record the stack of the launch that made each node.
 */
#include "driver_hooks.h"

#include <stdatomic.h>
#include <string.h>

#include "debug/attach/allocators/python.h"
#include "debug/attach/stream_order/stream_order.h"
#include "debug/attach/captures/captures.h"
#include "debug/attach/runs/runs.h"
#include "debug/attach/nodes/node_calls.h"

static const bg__attach_shim *shim;

static bool is_per_thread(const bg__driver_call *call)
{
    const char *end = strrchr(call->hook->name, '_');
    return end != NULL && strcmp(end, "_ptsz") == 0;
}

/* The stream is the first argument. */
static CUstream stream_of(const bg__driver_call *call)
{
    CUstream stream = bg__call_argument(call, 0);
    return is_per_thread(call) && stream == NULL ? CU_STREAM_PER_THREAD : stream;
}

/* before_begin has run: for a call that a test makes fail, only after_begin runs. */
static _Thread_local bool before_begin_ran;

/* No tool may launch until the capture counts as open. */
static bool before_begin(bg__driver_call *call)
{
    (void)call;
    bg__runs_enter_launch();
    before_begin_ran = true;
    return false;
}

static void record_begin(const bg__driver_call *call, CUstreamCaptureMode mode)
{
    if (call->result == CUDA_SUCCESS) {
        bg__capture_after_begin(stream_of(call), mode);
        bg__python_request_events();
    } else if (call->result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED || call->result == CUDA_ERROR_ILLEGAL_STATE) {
        bg__capture_report_refused(call->hook->name, call->result, stream_of(call));
    }
    if (before_begin_ran)
        bg__runs_leave_launch();
    before_begin_ran = false;
}

/* CUDA 10.0: (CUstream hStream); later: (CUstream hStream, CUstreamCaptureMode mode). */
static void after_begin(bg__driver_call *call)
{
    bool has_mode = strstr(call->hook->name, "_v2") != NULL;
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
    bg__capture_before_end(stream_of(call));
    return false;
}

/* (CUstream hStream, CUgraph *phGraph). */
static void after_end(bg__driver_call *call)
{
    CUgraph *graph = bg__call_argument(call, 1);
    bg__capture_after_end(stream_of(call), call->result, call->result == CUDA_SUCCESS ? *graph : NULL);
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
    const bg__stack *stack;
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
    if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE && count == 1) {
        stack = bg__stack_here();
        bg__node_record_maker((cudaGraphNode_t)nodes[0], capture, stack);
        bg__capture_record_launch(capture, stream, nodes[0], stack);
    }
}

/* Launches, and the index of their argument that is the stream; -1: the first argument, the configuration, has it. */
static const struct {
    const char *name;
    int stream;
} launches[] = {
    {"cuLaunchKernel", 8},
    {"cuLaunchKernelEx", -1},
    {"cuLaunchCooperativeKernel", 8},
    {"cuLaunchHostFunc", 0},
    {"cuLaunchHostFunc_v2", 0},
    {"cuMemcpyAsync", 3},
    {"cuMemcpyHtoDAsync_v2", 3},
    {"cuMemcpyDtoHAsync_v2", 3},
    {"cuMemcpyDtoDAsync_v2", 3},
    {"cuMemcpyPeerAsync", 5},
    {"cuMemcpyHtoAAsync_v2", 4},
    {"cuMemcpyAtoHAsync_v2", 4},
    {"cuMemcpy2DAsync_v2", 1},
    {"cuMemcpy3DAsync_v2", 1},
    {"cuMemcpy3DPeerAsync", 1},
    {"cuMemsetD8Async", 3},
    {"cuMemsetD16Async", 3},
    {"cuMemsetD32Async", 3},
    {"cuMemsetD2D8Async", 5},
    {"cuMemsetD2D16Async", 5},
    {"cuMemsetD2D32Async", 5},
    {"cuStreamWriteValue32_v2", 0},
    {"cuStreamWaitValue32_v2", 0},
    {"cuStreamBatchMemOp_v2", 0},
    {"cuStreamWriteValue64_v2", 0},
    {"cuStreamWaitValue64_v2", 0},
    {"cuStreamAddCallback", 0},
    {"cuWaitExternalSemaphoresAsync", 3},
    {"cuSignalExternalSemaphoresAsync", 3},
};
enum { LAUNCHES = sizeof launches / sizeof *launches };

/* Each launch has two names, one for each kind of default stream. */
typedef struct launch_hook {
    bg__driver_hook hook;
    int stream;
    bool per_thread;
    char name[40];
} launch_hook;
static launch_hook launch_hooks[2 * LAUNCHES];

static void after_launch(bg__driver_call *call)
{
    const launch_hook *h = (const launch_hook *)call->hook; /* hook is the first member */
    CUstream stream = h->stream >= 0 ? bg__call_argument(call, h->stream)
                                     : ((const CUlaunchConfig *)bg__call_argument(call, 0))->hStream;
    stream = h->per_thread && stream == NULL ? CU_STREAM_PER_THREAD : stream;
    if (call->result == CUDA_SUCCESS && bg__stream_is_captured(stream))
        bg__record_captured_launch(stream);
    else if (call->result == CUDA_SUCCESS) {
        bg__leak_check(call, call->hook->name, stream);
        bg__stream_order_record_work(call, call->hook->name, stream);
    }
}

void bg__enable_launch_hooks(void)
{
    for (int i = 0; i < 2 * LAUNCHES; i++) {
        launch_hooks[i].hook.idle = false;
        shim->hook(&launch_hooks[i].hook, 1);
    }
}

/* ---- all calls -------------------------------------------------------------------------------------------------- */

static bool before_any_call(bg__driver_call *call)
{
    bg__captures_before_call(call);
    return false;
}

/* Synchronous copies and memsets have no stream among their arguments. */
static void after_any_call(bg__driver_call *call)
{
    const char *name = shim->name(call->name), *end = strrchr(name, '_');

    bg__captures_after_call(call);
    if (call->result == CUDA_SUCCESS && strstr(name, "Async") == NULL &&
        (strncmp(name, "cuMemcpy", 8) == 0 || strncmp(name, "cuMemset", 8) == 0))
        bg__leak_check(call, name, end != NULL && strcmp(end, "_ptds") == 0 ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY);
}

void bg__hook_captures(const bg__attach_shim *given)
{
    static const bg__driver_hook any = {NULL, true, before_any_call, after_any_call};
    static const bg__driver_hook hooks[] = {
        {"cuStreamBeginCapture", false, before_begin, after_begin},
        {"cuStreamBeginCapture_ptsz", false, before_begin, after_begin},
        {"cuStreamBeginCapture_v2", false, before_begin, after_begin},
        {"cuStreamBeginCapture_v2_ptsz", false, before_begin, after_begin},
        {"cuStreamBeginCaptureToGraph", false, before_begin, after_begin_to_graph},
        {"cuStreamBeginCaptureToGraph_ptsz", false, before_begin, after_begin_to_graph},
        {"cuStreamEndCapture", false, before_end, after_end},
        {"cuStreamEndCapture_ptsz", false, before_end, after_end},
    };

    shim = given;
    bg__leak_begin(shim);
    if (bg__captures_begin(shim))
        shim->hook_all(&any);
    for (int i = 0; i < 2 * LAUNCHES; i++) {
        launch_hook *h = &launch_hooks[i];
        h->stream = launches[i / 2].stream;
        h->per_thread = i % 2 == 1;
        snprintf(h->name, sizeof h->name, "%s%s", launches[i / 2].name, h->per_thread ? "_ptsz" : "");
        h->hook = (bg__driver_hook){h->name, true, NULL, after_launch};
        shim->hook(&h->hook, 1);
    }
    shim->hook(hooks, sizeof hooks / sizeof *hooks);
}
