/* Checks whether a runner can run, or capture, in the calling thread. */
#include "runner/runner.h"

bg_status bg__runner_check_not_running(const bg_runner *runner, const char *function)
{
    if (bg__context_is_set())
        return bg__fail(BG_ERROR_BUSY, "%s: this thread is already in a run of a runner; runs cannot nest", function);
    if (runner->running)
        return bg__fail(
            BG_ERROR_BUSY,
            "%s: the runner is busy, in another thread or in a callback of its own; it serves one call at a time",
            function);
    return BG_OK;
}

bg_status bg__runner_check_thread_device(const bg_runner *runner, const char *function)
{
    CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;
    bg_status status = BG_OK;
    int device;

    BG__TRY_CUDA(cudaGetDevice(&device));
    if (device != runner->device)
        return bg__fail(
            BG_ERROR_INVALID_ARGUMENT,
            "%s: the runner was created on device %d, the current device is %d; call cudaSetDevice(%d) first", function,
            runner->device, device, runner->device);
    if (runner->stream == cudaStreamPerThread && runner->thread != bg__thread_id())
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "%s: the runner's stream is cudaStreamPerThread, which is a different stream in each "
                        "thread; create a stream for a runner that several threads use",
                        function);
    if (bg__capturing_streams_has(runner->stream))
        return bg__fail(BG_ERROR_ALREADY_CAPTURING,
                        "%s: the runner's stream takes part in a capture; end that first, or run in an eager op",
                        function);
    if (runner->stream != cudaStreamLegacy)
        BG__TRY_DRIVER("cuStreamGetCaptureInfo",
                       runner->capture_info(runner->stream, &capturing, NULL, NULL, NULL, NULL, NULL));
    if (capturing != CU_STREAM_CAPTURE_STATUS_NONE)
        status = bg__fail(BG_ERROR_FOREIGN_CAPTURE,
                          "%s: the runner's stream is captured by a capture that breakgraph did not begin; end that "
                          "first",
                          function);
done:
    return status;
}

bg_status bg__runner_lock_pool(bg_runner *runner, const char *function)
{
    if (runner->pool == NULL)
        return BG_OK;
    runner->holds_pool = bg__pool_try_lock_runner(runner->pool, runner);
    if (runner->holds_pool && !bg__last_use_is_busy(bg__pool_last_use(runner->pool)))
        return BG_OK;
    bg__runner_unlock_pool(runner);
    return bg__fail(BG_ERROR_BUSY,
                    "%s: a run, replay or capture that has not returned uses the runner's pool; a pool serves one "
                    "at a time",
                    function);
}

void bg__runner_unlock_pool(bg_runner *runner)
{
    if (runner->holds_pool)
        bg__pool_unlock_runner(runner->pool);
    runner->holds_pool = false;
}

bg_status bg__runner_check_can_capture(const char *function)
{
    bg_phase phase = bg_current_phase();
    if (phase == BG_PHASE_EAGER || phase == BG_PHASE_REPLAY)
        return bg__fail(BG_ERROR_BUSY, "%s: an eager body runs in this thread; capture outside it", function);
    if (bg__thread_capture() != NULL)
        return bg__fail(BG_ERROR_ALREADY_CAPTURING, "%s: this thread already has a capture; end that first", function);
    return BG_OK;
}
