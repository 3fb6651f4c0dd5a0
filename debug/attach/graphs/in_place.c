#include "in_place.h"

#include <cudaTypedefs.h>

#include "debug/report/process_report.h"

/* ---- the device ------------------------------------------------------------------------------------------------- */

/* cuGraphLaunch needs no current device, but the calls that replace it need the device of the stream. */
typedef struct device_switch {
    CUcontext before; /* NULL: the stream's device was current */
} device_switch;

static bool is_default_stream(cudaStream_t stream)
{
    return stream == NULL || stream == cudaStreamLegacy || stream == cudaStreamPerThread;
}

/* Makes the stream's device, *own, current. Errors: CUDA, UNSUPPORTED. */
static bg_status switch_to_stream_device(device_switch *device, cudaStream_t stream, int *own)
{
    PFN_cuCtxGetCurrent_v4000 ask;
    CUcontext before = NULL;
    int current;
    bg_status status = BG_OK;

    device->before = NULL;
    BG__TRY_CUDA(cudaGetDevice(&current));
    *own = current;
    if (!is_default_stream(stream))
        BG__TRY_CUDA(cudaStreamGetDevice(stream, own));
    if (*own == current)
        goto done;
    BG__TRY(bg__driver_get_entry_point("cuCtxGetCurrent", 4000, (void *)&ask));
    BG__TRY_DRIVER("cuCtxGetCurrent", ask(&before));
    BG__TRY_CUDA(cudaSetDevice(*own));
    device->before = before;
done:
    return status;
}

/* Restores the context, not the device: the program may have created a context of its own. */
static void restore_context(device_switch device)
{
    PFN_cuCtxSetCurrent_v4000 set;
    if (device.before != NULL && (bg__driver_get_entry_point("cuCtxSetCurrent", 4000, (void *)&set) != BG_OK ||
                                  set(device.before) != CUDA_SUCCESS))
        bg__warn("--attach: the context that was current before a launch cannot be made current again");
}

/* ---- order ------------------------------------------------------------------------------------------------------ */

/* The driver never runs two launches of one executable graph at once, in whichever streams. Launches in place of the
 * graph keep that order, also across updates of the graph. */
static cudaError_t wait_for_last_launch(const bg__tracked_graph *a, cudaStream_t stream)
{
    cudaError_t error = a->launched ? cudaStreamWaitEvent(stream, a->ended, 0) : cudaSuccess;
    if (error == cudaSuccess)
        return error;
    bg__clear_cuda_error(error);
    return cudaEventSynchronize(a->ended);
}

/* Queued work cannot be cancelled: if the event fails, this waits for the stream. */
static void record_launch_end(bg__tracked_graph *a, cudaStream_t stream)
{
    cudaError_t error = a->ended != NULL ? cudaSuccess : cudaEventCreateWithFlags(&a->ended, cudaEventDisableTiming);

    if (error == cudaSuccess)
        error = cudaEventRecord(a->ended, stream);
    a->launched = error == cudaSuccess;
    if (!a->launched)
        error = cudaStreamSynchronize(stream);
    bg__clear_cuda_error(error); /* the program's own wait returns this error, too */
}

void bg__in_place_free(bg__tracked_graph *a)
{
    bg__relaxed_mode relaxed;
    if (a->ended == NULL)
        return;
    relaxed = bg__relaxed_mode_try_begin();
    BG__RELEASE(cudaEventDestroy(a->ended));
    bg__relaxed_mode_end(relaxed);
    a->ended = NULL;
    a->launched = false;
}

/* ---- a launch --------------------------------------------------------------------------------------------------- */

static void report_launch_left(const bg__launcher *launcher, bg__tracked_graph *a, const char *why)
{
    if (!a->left)
        bg__process_report_add_unchecked(launcher->name, bg__graph_name(a->graph), why);
    a->left = true;
}

/* Launches after the last launch in place. If the launcher does not launch the graph, this function launches it. If the
 * wait for the last launch fails, launches nothing; *result is that error. */
static void launch_ordered(const bg__launcher *launcher, bg__tracked_graph *a, cudaStream_t stream, bool as_it_is,
                           CUresult *result)
{
    cudaError_t error = wait_for_last_launch(a, stream);
    bool answered = error != cudaSuccess;

    if (answered)
        *result = (CUresult)error;
    else if (!as_it_is)
        answered = launcher->launch(a, stream, result);
    if (!answered) {
        error = cudaGraphLaunch((cudaGraphExec_t)a->exec, stream);
        bg__clear_cuda_error(error); /* the program gets this error */
        *result = (CUresult)error;
    }
    record_launch_end(a, stream);
}

static bool launch_or_replace(const bg__launcher *launcher, bg__tracked_graph *a, cudaStream_t stream, bool as_it_is,
                              CUresult *result)
{
    bg__relaxed_mode relaxed;

    if (!launcher->queues)
        return !as_it_is && launcher->launch(a, stream, result);
    relaxed = bg__relaxed_mode_try_begin();
    launch_ordered(launcher, a, stream != NULL ? stream : cudaStreamLegacy, as_it_is, result);
    bg__relaxed_mode_end(relaxed);
    return true;
}

bool bg__launch_in_place(const bg__launcher *launcher, bg__tracked_graph *a, cudaStream_t stream, CUresult *result)
{
    device_switch device;
    bool answered, as_it_is;
    int own;

    if (switch_to_stream_device(&device, stream, &own) != BG_OK) {
        report_launch_left(launcher, a, bg_last_error());
        return false;
    }
    as_it_is = own != bg__graph_get_facts(a->graph).device;
    if (as_it_is)
        report_launch_left(launcher, a, "it is launched into a stream of another device than its own");
    answered = launch_or_replace(launcher, a, stream, as_it_is, result);
    restore_context(device);
    return answered;
}

bool bg__launch_in_order(const bg__launcher *launcher, bg__tracked_graph *a, cudaStream_t stream, CUresult *result)
{
    device_switch device;
    bool answered;
    int own;

    if (!a->launched || switch_to_stream_device(&device, stream, &own) != BG_OK)
        return false;
    answered = launch_or_replace(launcher, a, stream, true, result);
    restore_context(device);
    return answered;
}
