/* bg_stream_wait_stream: forks and joins. */
#include "capture/capture.h"

static bg_status wait_outside_capture(cudaStream_t waiter, cudaStream_t on)
{
    bg_status status = BG_OK;
    cudaEvent_t event = NULL;
    BG__TRY_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    BG__TRY_CUDA(cudaEventRecord(event, on));
    BG__TRY_CUDA(cudaStreamWaitEvent(waiter, event, 0));
done:
    if (event != NULL)
        BG__RELEASE(cudaEventDestroy(event)); /* the wait stays */
    return status;
}

/* `on` is the origin or a member of the capture. */
static bg_status wait_in_capture(bg_capture *capture, cudaStream_t waiter, cudaStream_t on, const bg_site *site)
{
    bg_status status = BG_OK;
    cudaEvent_t event;

    if (!bg__capture_has_stream(capture, waiter))
        BG__TRY(bg__capture_add_member(capture, waiter, site));
    event = bg__member_find(capture, on == capture->origin ? waiter : on)->event;
    BG__TRY_CUDA(cudaEventRecord(event, on));
    BG__TRY_CUDA(cudaStreamWaitEvent(waiter, event, 0));
    if (site != NULL) {
        const bg__stream_wait wait = {waiter, on, *site, *site, bg__capture_last_call(capture), NULL};
        BG__TRY(bg__capture_add_wait(capture, &wait));
    }
done:
    return status;
}

/* Makes the wait if this thread has a capture. */
static bg_status wait_with_capture(bg_capture *capture, cudaStream_t waiter, cudaStream_t on, const bg_site *site)
{
    bg__stream_kind waiter_kind, on_kind;
    bg_status status;

    BG__TRY(bg__capture_resolve_stream(capture, on, site, &on_kind));
    BG__TRY(bg__capture_resolve_stream(capture, waiter, site, &waiter_kind));
    if (waiter == on)
        goto done;
    if (on_kind == BG__FORKED && waiter_kind == BG__FOREIGN)
        status = bg__fail(BG_ERROR_FOREIGN_CAPTURE,
                          "waiter is captured by a capture that breakgraph did not begin; end that one first");
    else if (on_kind == BG__FORKED)
        status = wait_in_capture(capture, waiter, on, site);
    else if (waiter_kind == BG__FORKED)
        status = bg__fail(BG_ERROR_ISOLATION,
                          "a stream of the capture would wait on a stream outside it; order that work before "
                          "bg_capture_begin, or wait for it in an eager op");
    else
        status = wait_outside_capture(waiter, on);
done:
    return status;
}

static bg_status wait_without_capture(cudaStream_t waiter, cudaStream_t on)
{
    if (bg__capturing_streams_has(waiter) || bg__capturing_streams_has(on))
        return bg__fail(BG_ERROR_WRONG_THREAD,
                        "%s takes part in another thread's capture; make this call in that thread",
                        bg__capturing_streams_has(waiter) ? "waiter" : "on");
    return waiter == on ? BG_OK : wait_outside_capture(waiter, on);
}

bool bg__stream_call_refused(const bg_capture *capture, bg_status *status)
{
    *status = capture != NULL ? bg__capture_check_open(capture) : BG_OK;
    return *status != BG_OK;
}

bg_status bg__stream_call_end(bg_capture *capture, bg_status status, const char *function, const bg_site *site)
{
    if (status == BG_OK)
        return BG_OK;
    bg__error_add_location("%s at %s:%d", function, site && site->file ? site->file : "unknown file",
                           site ? site->line : 0);
    return capture != NULL ? bg__capture_fail(capture, status) : status;
}

bg_status bg_stream_wait_stream_at(cudaStream_t waiter, cudaStream_t on, const bg_site *site)
{
    bg_capture *capture = bg__thread_pass_or_capture();
    bg_status status;

    bg__foreign_error_note();
    if (capture != NULL && capture->in_body)
        capture = NULL;
    if (bg__stream_call_refused(capture, &status))
        return status;
    if (waiter == NULL || on == NULL)
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s is NULL; create a stream and use that",
                          waiter == NULL ? "waiter" : "on");
    else
        status = capture ? wait_with_capture(capture, waiter, on, site) : wait_without_capture(waiter, on);
    return bg__stream_call_end(capture, status, "bg_stream_wait_stream", site);
}
