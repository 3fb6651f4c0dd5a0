/* The program's captures: while one is open, each launch is looked at, so that the node which it made is known by the
 * stack of the launch. */
#include "attach.h"

#include <pthread.h>
#include <string.h>

static const bg__attach_shim *shim;

static struct {
    pthread_mutex_t lock;
    _Atomic int open; /* captures */
} captures = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* CUDA has no event for it: while no capture is open, launches pass as if nothing were there. */
static void count_captures(int change)
{
    pthread_mutex_lock(&captures.lock);
    captures.open += change;
    if (captures.open < 0)
        captures.open = 0;
    shim->watch(captures.open > 0);
    pthread_mutex_unlock(&captures.lock);
}

static void after_begin(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS)
        count_captures(1);
}

/* One that failed has ended, too, unless it is of another stream or thread. */
static void after_end(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS || call->result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
        call->result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED)
        count_captures(-1);
}

bool bg__captures_hold(CUstream stream)
{
    bg__capture_info info;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

    return captures.open > 0 && bg__driver_capture_info(&info) == BG_OK &&
           info(stream, &status, NULL, NULL, NULL, NULL, NULL) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* After it, the stream waits for the new node alone. */
void bg__captures_note(CUstream stream)
{
    bg__capture_info info;
    CUstreamCaptureStatus status;
    const CUgraphNode *nodes = NULL;
    cuuint64_t capture = 0;
    size_t count = 0;

    if (captures.open == 0 || bg__driver_capture_info(&info) != BG_OK ||
        info(stream, &status, &capture, NULL, &nodes, NULL, &count) != CUDA_SUCCESS)
        return;
    if (status == CU_STREAM_CAPTURE_STATUS_ACTIVE && count == 1)
        bg__node_made((cudaGraphNode_t)nodes[0], capture, bg__stack_here());
}

/* Launches, by which of their arguments is the stream; -1: it is in the launch's configuration, the first one. */
static const struct {
    const char *name;
    int stream;
} launches[] = {
    {"cuLaunchKernel", 8},          {"cuLaunchKernelEx", -1},      {"cuLaunchCooperativeKernel", 8},
    {"cuLaunchHostFunc", 0},        {"cuLaunchHostFunc_v2", 0},    {"cuMemcpyAsync", 3},
    {"cuMemcpyHtoDAsync_v2", 3},    {"cuMemcpyDtoHAsync_v2", 3},   {"cuMemcpyDtoDAsync_v2", 3},
    {"cuMemcpyPeerAsync", 5},       {"cuMemcpyHtoAAsync_v2", 4},   {"cuMemcpyAtoHAsync_v2", 4},
    {"cuMemcpy2DAsync_v2", 1},      {"cuMemcpy3DAsync_v2", 1},     {"cuMemcpy3DPeerAsync", 1},
    {"cuMemsetD8Async", 3},         {"cuMemsetD16Async", 3},       {"cuMemsetD32Async", 3},
    {"cuMemsetD2D8Async", 5},       {"cuMemsetD2D16Async", 5},     {"cuMemsetD2D32Async", 5},
    {"cuStreamWriteValue32_v2", 0}, {"cuStreamWaitValue32_v2", 0}, {"cuStreamBatchMemOp_v2", 0},
};
enum { LAUNCHES = sizeof launches / sizeof *launches };

/* Each in the forms for both default streams. */
typedef struct launch_hook {
    bg__driver_hook hook;
    int stream;
    bool per_thread;
    char name[40];
} launch_hook;
static launch_hook launch_hooks[2 * LAUNCHES];

static void after_launch(bg__driver_call *call)
{
    const launch_hook *h = (const launch_hook *)call->hook; /* its first member */
    CUstream stream = h->stream >= 0 ? bg__call_argument(call, h->stream)
                                     : ((const CUlaunchConfig *)bg__call_argument(call, 0))->hStream;
    if (call->result == CUDA_SUCCESS)
        bg__captures_note(h->per_thread && stream == NULL ? CU_STREAM_PER_THREAD : stream);
}

void bg__hook_captures(const bg__attach_shim *given)
{
    static const bg__driver_hook hooks[] = {
        {"cuStreamBeginCapture", false, NULL, after_begin},
        {"cuStreamBeginCapture_ptsz", false, NULL, after_begin},
        {"cuStreamBeginCapture_v2", false, NULL, after_begin},
        {"cuStreamBeginCapture_v2_ptsz", false, NULL, after_begin},
        {"cuStreamBeginCaptureToGraph", false, NULL, after_begin},
        {"cuStreamBeginCaptureToGraph_ptsz", false, NULL, after_begin},
        {"cuStreamEndCapture", false, NULL, after_end},
        {"cuStreamEndCapture_ptsz", false, NULL, after_end},
    };

    shim = given;
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
