/* The program's event calls: record, wait, destroy. What each means in a capture: events.c. */
#include "capture/capture.h"
#include "capture/replay.h"

/* ---- record ---- */

/* Called before the program records the event anew or destroys it: the work that the open segment waits for must have
 * finished. */
static bg_status finish_awaited_event(const bg_capture *capture, cudaEvent_t event)
{
    const bg__event *entry = bg__event_find(capture, event);
    bg__relaxed_mode relaxed;
    cudaError_t error;
    bg_status status;

    if (entry == NULL || !capture->open || !bg__event_is_awaited(capture, entry))
        return BG_OK;
    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    error = cudaEventSynchronize(event);
    bg__relaxed_mode_end(relaxed);
    if (error != cudaSuccess)
        status = bg__fail_cuda(error, "cudaEventSynchronize");
done:
    return status;
}

static bg_status check_other_threads(cudaStream_t stream)
{
    if (stream != NULL && bg__capturing_streams_has(stream))
        return bg__fail(BG_ERROR_WRONG_THREAD,
                        "the stream takes part in another thread's capture; make this call in that thread");
    return BG_OK;
}

/* Clears flags that ask for a node if the stream does not capture, since CUDA would refuse them: in a body that runs at
 * a break, in replays, and in passes outside of graphs. Elsewhere the program gets CUDA's own answer. */
static bg_status drop_external_flags(const bg_capture *capture, cudaStream_t stream, unsigned *flags)
{
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusActive;
    bg_status status = BG_OK;

    if (*flags == 0)
        return BG_OK;
    if (capture == NULL && bg__thread_self()->call != NULL)
        BG__TRY_CUDA(cudaStreamIsCapturing(stream, &capturing));
    else if (capture != NULL && capture->in_body)
        capturing = cudaStreamCaptureStatusNone;
    if (capturing == cudaStreamCaptureStatusNone)
        *flags = 0;
done:
    return status;
}

/* Records event by a node, and its twin, from which streams of the segment can fork. */
static bg_status record_with_node(bg_capture *capture, cudaEvent_t event, cudaStream_t stream, const bg_site *site)
{
    cudaEvent_t twin = NULL;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaEventCreateWithFlags(&twin, cudaEventDisableTiming));
    BG__TRY_CUDA(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal));
    BG__TRY_CUDA(cudaEventRecord(twin, stream));
    bg__event_add_node_record(capture, event, twin, stream, site);
    twin = NULL;
done:
    if (twin != NULL)
        BG__RELEASE(cudaEventDestroy(twin));
    return status;
}

static bg_status record_captured_event(bg_capture *capture, cudaEvent_t event, cudaStream_t stream, unsigned flags,
                                       const bg_site *site)
{
    bg__stream_kind kind = BG__OUTSIDE;
    bg_status status;

    BG__TRY(drop_external_flags(capture, stream, &flags));
    if (capture != NULL && !capture->in_body)
        BG__TRY(bg__capture_resolve_stream(capture, stream, site, &kind));
    else
        BG__TRY(check_other_threads(stream));
    if (capture != NULL) {
        BG__TRY(bg__event_reserve(capture));
        BG__TRY(finish_awaited_event(capture, event));
    }
    if (flags != 0 && kind == BG__FORKED) {
        status = record_with_node(capture, event, stream, site);
        goto done;
    }
    BG__TRY_CUDA(cudaEventRecordWithFlags(event, stream, flags));
    if (capture == NULL || flags != 0)
        goto done;
    if (capture->in_body || kind == BG__FORKED)
        bg__event_add_record(capture, event, stream, site);
    else
        bg__event_remove(capture, event);
done:
    return status;
}

/* For a pass that runs eagerly, also inside a body of a capture or outside it. The flags are dropped: CUDA accepts
 * flags that ask for a node only on streams that capture. */
static bg_status record_in_pass(bg_capture *pass, cudaEvent_t event, cudaStream_t stream, const bg_site *site)
{
    bg__stream_kind kind;
    bg_status status;

    BG__TRY(bg__capture_resolve_stream(pass, stream, site, &kind));
    BG__TRY(bg__event_reserve(pass));
    BG__TRY(record_captured_event(bg__thread_capture(), event, stream, 0, site));
    bg__event_add_record(pass, event, stream, site);
done:
    return status;
}

/* Returns the capture that a failure of this call fails; NULL in a body, which handles its own failures. */
static bg_capture *capture_to_fail(void)
{
    bg_capture *capture = bg__thread_pass_or_capture();
    return capture != NULL && capture->in_body ? NULL : capture;
}

/* flags: those of the call; external: the only flag that the call allows; allowed: the allowed flags' names. */
static bg_status check_event_call(cudaEvent_t event, unsigned flags, unsigned external, const char *allowed)
{
    if (event == NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "event is NULL; create it first");
    if ((flags & ~external) != 0)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "flags is %#x; allowed are %s", flags, allowed);
    return BG_OK;
}

bg_status bg_event_record_at(cudaEvent_t event, cudaStream_t stream, unsigned flags, const bg_site *site)
{
    bg_capture *pass = bg__thread_self()->pass;
    bg_status status;

    bg__foreign_error_note();
    if (bg__stream_call_refused(capture_to_fail(), &status))
        return status;
    status =
        check_event_call(event, flags, cudaEventRecordExternal, "cudaEventRecordDefault and cudaEventRecordExternal");
    if (status == BG_OK)
        status = pass != NULL ? record_in_pass(pass, event, stream, site)
                              : record_captured_event(bg__thread_capture(), event, stream, flags, site);
    return bg__stream_call_end(capture_to_fail(), status, "bg_event_record", site);
}

/* ---- waits outside the graphs ---- */

/* Waits outside any graph. An event of another thread's capture would make the stream join that capture. */
static bg_status wait_outside_capture(cudaStream_t waiter, cudaEvent_t event, unsigned flags)
{
    enum cudaStreamCaptureStatus before = cudaStreamCaptureStatusNone, after = cudaStreamCaptureStatusNone;
    bool watched = bg__capturing_streams_any() && waiter != NULL && waiter != cudaStreamLegacy;
    bg_status status;

    BG__TRY(check_other_threads(waiter));
    if (watched)
        BG__TRY_CUDA(cudaStreamIsCapturing(waiter, &before));
    BG__TRY_CUDA(cudaStreamWaitEvent(waiter, event, flags));
    if (watched)
        BG__TRY_CUDA(cudaStreamIsCapturing(waiter, &after));
    if (before == cudaStreamCaptureStatusNone && after != cudaStreamCaptureStatusNone)
        status =
            bg__fail(BG_ERROR_WRONG_THREAD,
                     "the event was recorded in another thread's capture, which the stream has now joined; wait on "
                     "it in that thread, or when that capture has ended");
done:
    return status;
}

static bg_status wait_in_body(bg_capture *capture, cudaStream_t waiter, cudaEvent_t event, unsigned flags)
{
    bg__event *entry = bg__event_find(capture, event);
    bg_status status = BG_OK;

    if (entry != NULL && !entry->in_body && !entry->real && entry->twin == NULL)
        BG__TRY(bg__event_record_before_call(capture, entry));
    BG__TRY(wait_outside_capture(waiter, event, flags));
done:
    return status;
}

/* ---- waits in a segment ---- */

static bg_status add_wait_step(bg_capture *capture, cudaEvent_t event, const bg_site *site)
{
    return bg__graph_insert_event(capture->graph, capture->graph->step_count, BG__STEP_WAIT, event, site);
}

static bg_status wait_for_body_event(bg_capture *capture, bg__event *entry)
{
    bg_status status = BG_OK;

    if (entry->waited_in == capture->opened)
        return BG_OK;
    BG__TRY(add_wait_step(capture, entry->event, &entry->site));
    entry->waited_in = capture->opened;
done:
    return status;
}

static bg_status frontier_size(cudaStream_t stream, size_t *count)
{
    enum cudaStreamCaptureStatus capturing;
    bg_status status = BG_OK;
    *count = 0;
    BG__TRY_CUDA(cudaStreamGetCaptureInfo(stream, &capturing, NULL, NULL, NULL, NULL, count));
done:
    return status;
}

/* For an event that this library has not recorded. CUDA refuses it if it stands for work outside the capture. If some
 * body did not run at capture, the event may be one that the body records in replays. */
static bg_status wait_for_unknown(bg_capture *capture, cudaStream_t waiter, cudaEvent_t event, const bg_site *site)
{
    bg_status status;
    size_t before, after;
    cudaError_t error;

    BG__TRY(frontier_size(waiter, &before));
    error = cudaStreamWaitEvent(waiter, event, 0);
    if (error == cudaErrorStreamCaptureIsolation) {
        status = bg__fail_cuda(error, "cudaStreamWaitEvent");
        bg__error_set_advice(
            "the event was recorded outside the capture: wait for it before bg_capture_begin, or in an eager op; if "
            "an eager op records the event, and its body did not run during this capture, wait with "
            "cudaEventWaitExternal");
        goto done;
    }
    if (error == cudaErrorInvalidValue) {
        status = bg__fail_cuda(error, "cudaStreamWaitEvent");
        bg__error_set_advice("the event was last recorded in a capture or segment that has ended: record it with "
                             "bg_event_record, or include breakgraph/hooks.h");
        goto done;
    }
    BG__TRY_CUDA(error);
    if (capture->has_unrun_body) {
        BG__TRY(frontier_size(waiter, &after));
        if (before == after)
            BG__TRY(add_wait_step(capture, event, site != NULL ? site : &(bg_site){NULL, 0}));
    }
done:
    return status;
}

static bg_status add_wait(bg_capture *capture, cudaStream_t waiter, const bg__event *entry, const bg_site *site)
{
    const bg__stream_wait wait = {
        .waiter = waiter,
        .on = entry->stream,
        .waited = site != NULL ? *site : (bg_site){NULL, 0},
        .recorded = entry->site,
        .recorded_after = entry->after,
    };
    return bg__capture_add_wait(capture, &wait);
}

static bg_status wait_on_member(bg_capture *capture, cudaStream_t waiter, cudaEvent_t event, const bg_site *site)
{
    bg__event *entry = bg__event_find(capture, event);
    bg_status status = BG_OK;

    if (entry == NULL)
        BG__TRY(wait_for_unknown(capture, waiter, event, site));
    else if (entry->in_body)
        BG__TRY(wait_for_body_event(capture, entry));
    else if (entry->segment == capture->opened) {
        BG__TRY_CUDA(cudaStreamWaitEvent(waiter, bg__event_in_segment(entry), 0));
        BG__TRY(add_wait(capture, waiter, entry, site));
        entry->awaited_in_segment = true;
    } else if (capture->has_unrun_body)
        BG__TRY(wait_for_body_event(capture, entry));
done:
    return status;
}

/* An event of the segment makes the waiting stream a member. */
static bg_status wait_on_new_stream(bg_capture *capture, cudaStream_t waiter, cudaEvent_t event, const bg_site *site)
{
    bg__event *entry = bg__event_find(capture, event);
    bg__stream_kind kind;
    bg_status status;

    if (entry == NULL || entry->in_body) {
        BG__TRY_CUDA(cudaStreamWaitEvent(waiter, event, 0));
        BG__TRY(bg__capture_resolve_stream(capture, waiter, site, &kind)); /* bare CUDA records add members, too */
        if (kind == BG__FOREIGN)
            status = bg__fail(BG_ERROR_WRONG_THREAD, "the event was recorded in another capture, which the stream "
                                                     "has now joined; wait on it when that capture has ended");
    } else if (waiter == NULL || waiter == cudaStreamLegacy) {
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT, "the legacy stream cannot wait for work of a capture; create a "
                                                     "stream and use that");
    } else {
        bool fresh = entry->segment == capture->opened;
        BG__TRY(bg__capture_add_member(capture, waiter, site));
        if (fresh) {
            BG__TRY_CUDA(cudaStreamWaitEvent(waiter, bg__event_in_segment(entry), 0));
            BG__TRY(add_wait(capture, waiter, entry, site));
        } else if (capture->has_unrun_body)
            BG__TRY(wait_for_body_event(capture, entry));
        if (entry->part != capture->part) /* a barrier came between the record and this wait */
            BG__TRY_CUDA(cudaStreamWaitEvent(waiter, capture->event, 0));
        entry->awaited_in_segment |= fresh;
    }
done:
    return status;
}

static bg_status wait_with_capture(bg_capture *capture, cudaStream_t waiter, cudaEvent_t event, unsigned flags,
                                   const bg_site *site)
{
    bg__event *entry = bg__event_find(capture, event);
    bg__stream_kind kind;
    bg_status status;

    BG__TRY(bg__capture_resolve_stream(capture, waiter, site, &kind));
    if (flags != 0 && (entry == NULL || (entry->in_body && kind == BG__FORKED))) {
        BG__TRY_CUDA(cudaStreamWaitEvent(waiter, event, flags));
        if (entry != NULL)
            entry->node_in = capture->opened;
    } else if (kind == BG__FORKED)
        BG__TRY(wait_on_member(capture, waiter, event, site));
    else if (kind == BG__OUTSIDE)
        BG__TRY(wait_on_new_stream(capture, waiter, event, site));
    else if (entry != NULL)
        status =
            bg__fail(BG_ERROR_FOREIGN_CAPTURE, "the event belongs to a capture of breakgraph, but the stream is in "
                                               "one that breakgraph did not begin; end that one before the wait");
    else
        BG__TRY_CUDA(cudaStreamWaitEvent(waiter, event, 0));
done:
    return status;
}

static bg_status wait_in_pass(bg_capture *pass, cudaStream_t waiter, cudaEvent_t event, const bg_site *site)
{
    bg_capture *capture = bg__thread_capture();
    const bg__event *entry = capture != NULL ? bg__event_find(capture, event) : NULL;
    bg__stream_kind kind;
    bg_status status;

    BG__TRY(bg__capture_resolve_stream(pass, waiter, site, &kind));
    if (capture != NULL && capture->in_body)
        BG__TRY(wait_in_body(capture, waiter, event, 0));
    else if (entry != NULL && !entry->in_body)
        status = bg__fail(
            BG_ERROR_ISOLATION,
            "the event was recorded in another capture of this thread; wait on it when that capture has ended");
    else
        BG__TRY(wait_outside_capture(waiter, event, 0));
done:
    return status;
}

static bg_status wait_outside_pass(cudaStream_t waiter, cudaEvent_t event, unsigned flags, const bg_site *site)
{
    bg_capture *capture = bg__thread_capture();
    bg_status status;

    BG__TRY(drop_external_flags(capture, waiter, &flags));
    status = capture == NULL    ? wait_outside_capture(waiter, event, flags)
             : capture->in_body ? wait_in_body(capture, waiter, event, flags)
                                : wait_with_capture(capture, waiter, event, flags, site);
done:
    return status;
}

bg_status bg_stream_wait_event_at(cudaStream_t waiter, cudaEvent_t event, unsigned flags, const bg_site *site)
{
    bg_capture *pass = bg__thread_self()->pass;
    bg_status status;

    bg__foreign_error_note();
    if (bg__stream_call_refused(capture_to_fail(), &status))
        return status;
    status = check_event_call(event, flags, cudaEventWaitExternal, "cudaEventWaitDefault and cudaEventWaitExternal");
    if (status == BG_OK)
        status = pass != NULL ? wait_in_pass(pass, waiter, event, site) : wait_outside_pass(waiter, event, flags, site);
    return bg__stream_call_end(capture_to_fail(), status, "bg_stream_wait_event", site);
}

/* ---- destroy ---- */

static bool is_used_by_node(const bg_capture *capture, cudaEvent_t event)
{
    const bg__event *entry = bg__event_find(capture, event);
    return entry != NULL && (entry->twin != NULL || entry->node_in > 0);
}

bg_status bg_event_destroy(cudaEvent_t event)
{
    bg_capture *pass = bg__thread_self()->pass, *capture = bg__thread_capture();
    bg_status status = BG_OK;

    bg__foreign_error_note();
    BG__NEED(event);
    if (capture != NULL && is_used_by_node(capture, event))
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "bg_event_destroy: a node of the capture records or waits for the "
                                            "event; destroy it after the graph");
    if (pass != NULL)
        bg__event_remove(pass, event);
    if (capture != NULL) {
        BG__TRY(finish_awaited_event(capture, event));
        bg__event_remove(capture, event);
        bg__graph_remove_event(capture->graph, event);
    }
    BG__TRY_CUDA(cudaEventDestroy(event));
done:
    return status;
}
