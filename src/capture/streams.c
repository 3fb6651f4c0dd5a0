/* Streams that take part in a capture. A stream that waits on one of them becomes a member, and stays one. */
#include "capture/capture.h"

#include <stdlib.h>

static bg__member *find(const bg_capture *capture, cudaStream_t stream)
{
    for (int i = 0; i < capture->member_count; i++)
        if (capture->members[i].stream == stream)
            return &capture->members[i];
    return NULL;
}

bool bg__capture_has(const bg_capture *capture, cudaStream_t stream)
{
    return stream == capture->origin || find(capture, stream) != NULL;
}

bg_status bg__capture_add_member(bg_capture *capture, cudaStream_t stream, const bg_site *site)
{
    bg_status status = BG_OK;
    cudaEvent_t event = NULL;
    bg__member *member;

    if (capture->member_count == capture->member_capacity) {
        int capacity = capture->member_capacity ? 2 * capture->member_capacity : 4;
        bg__member *members = realloc(capture->members, (size_t)capacity * sizeof *members);
        if (members == NULL)
            return bg__fail(BG_ERROR_OUT_OF_MEMORY, "no host memory for %d streams", capacity);
        capture->members = members;
        capture->member_capacity = capacity;
    }
    BG__TRY_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    BG__TRY(bg__captured_add(stream, capture->thread));
    member = &capture->members[capture->member_count++];
    *member = (bg__member){.stream = stream, .event = event};
    if (site != NULL)
        member->site = *site;
    event = NULL;
    capture->graph->forked = true;
    if (capture->holds_pool)
        bg__pool_set_concurrent(capture->graph->pool, true);
done:
    if (event != NULL)
        BG__RELEASE(cudaEventDestroy(event));
    return status;
}

bg_status bg__capture_join(bg_capture *capture)
{
    bg_status status = BG_OK;
    for (int i = 0; i < capture->member_count; i++) {
        BG__TRY_CUDA(cudaEventRecord(capture->members[i].event, capture->members[i].stream));
        BG__TRY_CUDA(cudaStreamWaitEvent(capture->origin, capture->members[i].event, 0));
    }
done:
    return status;
}

void bg__capture_note_call(bg_capture *capture, cudaStream_t stream, const bg__call *call)
{
    bg__member *member = find(capture, stream);
    if (member != NULL)
        member->last = call;
}

static bg_status wait_plain(cudaStream_t waiter, cudaStream_t on)
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

static bg_status classify(const bg_capture *capture, cudaStream_t stream, bg__stream_kind *kind)
{
    enum cudaStreamCaptureStatus mine, its;
    unsigned long long my_id = 0, its_id = 0;
    bg_status status = BG_OK;

    *kind = BG__OUTSIDE;
    if (stream == NULL || stream == cudaStreamLegacy)
        return BG_OK;
    BG__TRY_CUDA(cudaStreamGetCaptureInfo(stream, &its, &its_id, NULL, NULL, NULL, NULL));
    if (its == cudaStreamCaptureStatusNone)
        goto done;
    BG__TRY_CUDA(cudaStreamGetCaptureInfo(capture->origin, &mine, &my_id, NULL, NULL, NULL, NULL));
    *kind = its_id == my_id ? BG__FORKED : BG__FOREIGN;
done:
    return status;
}

bg_status bg__capture_claim(bg_capture *capture, cudaStream_t stream, const bg_site *site, bg__stream_kind *kind)
{
    bg_status status = BG_OK;

    *kind = BG__FORKED;
    if (bg__capture_has(capture, stream))
        return BG_OK;
    if (stream != NULL && bg__captured_has(stream))
        return bg__fail(BG_ERROR_WRONG_THREAD, "the stream takes part in another thread's capture");
    bg__pending_note();
    BG__TRY(classify(capture, stream, kind));
    if (*kind == BG__FORKED)
        BG__TRY(bg__capture_add_member(capture, stream, site));
done:
    return status;
}

/* on is the capture's. */
static bg_status wait_in_capture(bg_capture *capture, cudaStream_t waiter, cudaStream_t on, const bg_site *site)
{
    bg_status status = BG_OK;
    cudaEvent_t event;

    if (!bg__capture_has(capture, waiter))
        BG__TRY(bg__capture_add_member(capture, waiter, site));
    event = find(capture, on == capture->origin ? waiter : on)->event;
    BG__TRY_CUDA(cudaEventRecord(event, on));
    BG__TRY_CUDA(cudaStreamWaitEvent(waiter, event, 0));
done:
    return status;
}

/* What a capture of this thread has to say of the wait. */
static bg_status wait_beside_capture(bg_capture *capture, cudaStream_t waiter, cudaStream_t on, const bg_site *site)
{
    bg__stream_kind waiter_kind, on_kind;
    bg_status status;

    BG__TRY(bg__capture_claim(capture, on, site, &on_kind));
    BG__TRY(bg__capture_claim(capture, waiter, site, &waiter_kind));
    if (waiter == on)
        goto done;
    if (on_kind == BG__FORKED && waiter_kind == BG__FOREIGN)
        status = bg__fail(BG_ERROR_FOREIGN_CAPTURE, "waiter is captured by a capture that breakgraph did not begin");
    else if (on_kind == BG__FORKED)
        status = wait_in_capture(capture, waiter, on, site);
    else if (waiter_kind == BG__FORKED)
        status = bg__fail(BG_ERROR_ISOLATION,
                          "a stream of the capture would wait on a stream outside it; order that work before "
                          "bg_capture_begin, or wait for it in an eager op");
    else
        status = wait_plain(waiter, on);
done:
    return status;
}

static bg_status wait_without_capture(cudaStream_t waiter, cudaStream_t on)
{
    if (bg__captured_has(waiter) || bg__captured_has(on))
        return bg__fail(BG_ERROR_WRONG_THREAD, "the stream takes part in another thread's capture");
    return waiter == on ? BG_OK : wait_plain(waiter, on);
}

bool bg__stream_call_refused(const bg_capture *capture, bg_status *status)
{
    *status = capture != NULL ? bg__capture_check(capture) : BG_OK;
    return *status != BG_OK || bg__pass_has_failed(status);
}

bg_status bg__stream_call_end(bg_capture *capture, bg_status status, const char *function, const bg_site *site)
{
    if (status == BG_OK)
        return BG_OK;
    bg__fail_where("%s at %s:%d", function, site && site->file ? site->file : "unknown file", site ? site->line : 0);
    bg__pass_fail(status);
    return capture != NULL ? bg__capture_fail(capture, status) : status;
}

bg_status bg_stream_wait_stream_at(cudaStream_t waiter, cudaStream_t on, const bg_site *site)
{
    bg_capture *capture = bg__live_here();
    bg_status status;

    bg__pending_note();
    if (capture != NULL && capture->in_body)
        capture = NULL;
    if (bg__stream_call_refused(capture, &status))
        return status;
    if (waiter == NULL || on == NULL)
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s is NULL; create a stream and use that",
                          waiter == NULL ? "waiter" : "on");
    else
        status = capture ? wait_beside_capture(capture, waiter, on, site) : wait_without_capture(waiter, on);
    return bg__stream_call_end(capture, status, "bg_stream_wait_stream", site);
}
