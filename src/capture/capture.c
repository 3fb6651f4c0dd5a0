/* Captures: begin, end, abort and failure. */
#include "capture/capture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- begin ---- */

/* Checks the stream's device last: cudaStreamGetDevice fails on a stream that captures (measured). */
static bg_status check_begin(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus capturing;
    bg_phase phase = bg_current_phase();
    bg_status status = BG_OK;

    if (stream == cudaStreamLegacy)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_capture_begin: stream is the legacy stream, which CUDA "
                                                   "cannot capture; create a stream and use that");
    if (phase == BG_PHASE_EAGER || phase == BG_PHASE_REPLAY)
        return bg__fail(BG_ERROR_BUSY, "bg_capture_begin: an eager body runs in this thread; capture outside it");
    if (bg__thread_capture() != NULL || bg__capturing_streams_has(stream))
        return bg__fail(BG_ERROR_ALREADY_CAPTURING, "bg_capture_begin: %s; end or abort that capture first",
                        bg__thread_capture() ? "this thread already has a capture" : "stream takes part in a capture");
    if (stream != NULL) {
        BG__TRY_CUDA(cudaStreamIsCapturing(stream, &capturing));
        if (capturing != cudaStreamCaptureStatusNone)
            return bg__fail(BG_ERROR_FOREIGN_CAPTURE, "bg_capture_begin: stream is captured by a capture that "
                                                      "breakgraph did not begin; end that one first");
    }
    BG__TRY(bg__stream_check_device(stream, "bg_capture_begin", "stream"));
done:
    return status;
}

/* Does everything that precedes the first segment. */
static bg_status prepare_capture(bg_capture **result, cudaStream_t stream, const bg_capture_options *checked,
                                 const bg__ranks *ranks, bool whole, bool of_runner)
{
    bg_capture *capture = NULL;
    size_t total;
    bg_status status;

    BG__TRY(bg__capture_options_check(checked));
    BG__TRY(check_begin(stream));
    capture = calloc(1, sizeof *capture);
    if (capture == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a capture");
    capture->began_ms = bg__now_ms();
    capture->options = *checked;
    capture->origin = stream;
    capture->thread = bg__thread_id();
    capture->parted = true; /* the ranks compare nothing until all have begun */
    BG__TRY(bg__override_create(&capture->override, checked->eager_ops));
    BG__TRY(bg__capture_resolve_debug(capture, whole));
    capture->eager = capture->debug == BG_DEBUG_FORWARD;
    BG__TRY(bg__graph_create(&capture->graph, checked->name, checked->pool));
    bg__graph_join_ranks(capture->graph, ranks);
    BG__TRY(bg__nvtx_is_wanted(&capture->graph->root.ranges));
    BG__TRY(bg__compile_resolve_level(capture));
    BG__TRY(bg__compile_begin(capture));
    BG__TRY(bg__capture_resolve_check(capture, whole, of_runner));
    BG__TRY(bg__debug_hooks.begin(capture->graph, capture->debug == BG_DEBUG_STEP));
    BG__TRY_CUDA(cudaEventCreateWithFlags(&capture->event, cudaEventDisableTiming));
    BG__TRY_CUDA(cudaMemGetInfo(&capture->free_bytes, &total));
    capture->graph->root.zero_tail = checked->zero_tail;
    BG__TRY(bg__capture_acquire_pool(capture));
    BG__TRY(bg__state_save(&capture->state, checked->state, checked->state_count, "options.state", stream));
    /* With launch_segments, each launch waits for its segment's instantiation, so worker threads would gain nothing. */
    if (checked->worker_threads > 0 && !checked->launch_segments)
        BG__TRY(bg__workers_start(&capture->workers, checked->worker_threads, capture->graph->device));
    *result = capture;
    capture = NULL;
done:
    bg__capture_free(capture);
    return status;
}

static bg_status enter_capture(bg_capture *capture)
{
    bg__thread *self = bg__thread_self();
    bg_status status;

    BG__TRY(bg__segment_open(capture));
    bg__live_add(capture);
    bg__op_set_capture_hooks(&bg__capture_op_hooks);
    capture->around = (bg__body_scope){self->phase, NULL, self->pass};
    self->phase = BG_PHASE_CAPTURE;
    self->pass = NULL;
done:
    return status;
}

static bg_status begin_capture(bg_capture **result, cudaStream_t stream, const bg_capture_options *options, bool whole,
                               bool of_runner)
{
    bg_capture *capture = NULL;
    bg_capture_options checked;
    bg__ranks ranks;
    bg_status status;

    BG__TRY(bg__capture_options_copy(&checked, options));
    BG__TRY(bg__ranks_copy_table(&ranks, checked.ranks, "options.ranks"));
    status = prepare_capture(&capture, stream, &checked, &ranks, whole, of_runner);
    if (status != BG_OK) {
        (void)bg__ranks_agree_on_begin(&ranks, checked.name, NULL, whole, status);
        goto done;
    }
    BG__TRY(bg__ranks_agree_on_begin(&ranks, checked.name, capture, whole, BG_OK));
    capture->parted = false;
    if (!capture->eager)
        BG__TRY(enter_capture(capture));
    *result = capture;
    capture = NULL;
done:
    bg__capture_free(capture);
    return status;
}

bg_status bg_capture_begin(bg_capture **capture, cudaStream_t stream, const bg_capture_options *options)
{
    BG__NEED(capture);
    *capture = NULL;
    bg__foreign_error_note();
    return begin_capture(capture, stream, options, false, false);
}

/* ---- end ---- */

static void measure_capture(bg_capture *capture)
{
    bg_graph *graph = capture->graph;
    size_t free_bytes, total, bridges = graph->root.allocated + bg__capture_pool_growth(capture);
    cudaError_t error;

    graph->capture_ms = bg__now_ms() - capture->began_ms;
    error = cudaMemGetInfo(&free_bytes, &total);
    bg__clear_cuda_error(error); /* the figure stays 0 */
    if (error == cudaSuccess && capture->free_bytes > free_bytes + bridges)
        graph->graph_bytes = capture->free_bytes - free_bytes - bridges;
}

/* Only segments that were not launched need an upload. */
static bg_status upload_segments(bg_capture *capture)
{
    bg_graph *graph = capture->graph;
    bg_status status = BG_OK;
    for (int i = 0; i < graph->segment_count && !capture->options.launch_segments; i++)
        BG__TRY_CUDA(cudaGraphUpload(graph->segments[i].exec, capture->origin));
done:
    return status;
}

/* Lists the breaks of the pass: the first eager calls by name, the others by number. */
static void list_breaks(const bg_graph *graph, FILE *out)
{
    enum { BREAKS_LISTED_MAX = 8 };
    int calls = 0;

    for (int i = 0; i < graph->step_count; i++) {
        const bg__call *call = graph->steps[i].kind == BG__STEP_CALL ? graph->steps[i].of.eager->call : NULL;
        if (call != NULL && calls++ < BREAKS_LISTED_MAX)
            fprintf(out, "%s%s at %s:%d", calls > 1 ? ", " : "", call->name,
                    call->site.file != NULL ? call->site.file : "unknown file", call->site.line);
    }
    if (calls > BREAKS_LISTED_MAX)
        fprintf(out, " and %d more", calls - BREAKS_LISTED_MAX);
    if (graph->breaks > calls)
        fprintf(out, "%s%d of bg_break", calls > 0 ? ", " : "", graph->breaks - calls);
}

static bg_status check_breaks(const bg_capture *capture)
{
    const int expected = capture->options.expect_breaks;
    const bg_graph *graph = capture->graph;
    char list[800] = "";
    FILE *out;

    if (expected < 0 || graph->breaks == expected || capture->debug == BG_DEBUG_FORWARD ||
        capture->debug == BG_DEBUG_OPS || !bg__override_is_own_only(capture->override))
        return BG_OK;
    out = graph->breaks > 0 ? fmemopen(list, sizeof list - 1, "w") : NULL;
    if (out != NULL) {
        list_breaks(graph, out);
        (void)fclose(out); /* a longer list is truncated: the last byte stays 0 */
    }
    return bg__fail(
        BG_ERROR_INVALID_ARGUMENT,
        "the pass has %d break%s, but options.expect_breaks is %d%s%s; correct which ops are declared eager, or "
        "change expect_breaks",
        graph->breaks, graph->breaks == 1 ? "" : "s", expected, list[0] != '\0' ? ": " : "", list);
}

/* Makes the graph ready for replays. */
static bg_status finish_graph(bg_capture *capture)
{
    bg_graph *graph = capture->graph;
    cudaError_t error;
    bg_status status;

    BG__TRY(check_breaks(capture));
    BG__TRY(bg__events_record_at_end(capture));
    /* The first replay may be on another stream, after this stream was destroyed. */
    error = graph->pool != NULL ? bg__capture_release_pool(capture)
                                : bg__last_use_record_event(graph->use, capture->origin);
    if (error != cudaSuccess) {
        status = bg__fail_cuda(error, "cudaEventRecord");
        goto done;
    }
    BG__TRY(bg__writeback_prepare_updates(graph));
    if (capture->level > 0)
        bg__compile_get_table()->end(capture);
    if (graph->watched)
        BG__TRY(bg__debug_hooks.note_nodes(graph));
    measure_capture(capture);
    BG__TRY(bg__watch_ranks_prepare(graph));
    if ((capture->checks & BG__CHECK_GRAPH) != 0 && !capture->eager)
        bg__debug_hooks.check_graph(graph, false, capture->frame);
    BG__TRY(bg__debug_hooks.captured(graph, capture->forward, capture->user, &capture->options));
    BG__TRY(bg__capture_agree_on_end(capture));
done:
    return status;
}

/* Restores options.state after a failure, since the pass has run. */
static void restore_state_after(bg_capture *capture, bg_status status)
{
    bg__capture_record_failure(capture, status);
    if (capture->options.launch_segments && bg__state_restore(&capture->state, capture->origin) != BG_OK)
        bg__warn("options.state could not be restored: %s", bg_last_error());
    bg__error_set_text(capture->message);
}

static bg_status finish_capture(bg_capture *capture, bg_graph **graph)
{
    bg_status status = capture->status;

    if (status == BG_OK) /* after a failure, some ops were not called */
        bg__override_warn_unmatched(capture->override);
    bg__capture_begin_call(capture);
    if (status == BG_OK && capture->open)
        status = bg__segment_close(capture, capture->options.join_at_end);
    if (status == BG_OK && !capture->aborted && capture->workers != NULL)
        status = bg__workers_collect(capture->workers, capture->graph);
    if (status == BG_OK && !capture->aborted && capture->options.upload)
        status = upload_segments(capture);
    if (capture->aborted || status != BG_OK)
        bg__capture_record_failure(capture, status);
    if (capture->aborted)
        return bg__capture_end_call(capture, status);
    if (status != BG_OK)
        bg__segment_discard(capture);
    if ((status != BG_OK || !capture->options.launch_segments) && capture->state.count > 0) {
        bg_status restored = bg__state_restore(&capture->state, capture->origin);
        if (status == BG_OK)
            status = restored;
        else
            bg__error_set_text(capture->message);
    }
    if (status != BG_OK)
        goto done;
    status = finish_graph(capture);
    if (status != BG_OK) {
        restore_state_after(capture, status);
        goto done;
    }
    if (capture->eager)
        bg__capture_transfer_forward(capture);
    *graph = capture->graph;
    capture->graph = NULL;
done:
    if (status == BG_ERROR_CUDA && (capture->checks & BG__CHECK_GRAPH) != 0)
        bg__debug_hooks.check_graph(capture->graph, true, capture->frame);
    bg__capture_free(capture);
    return status;
}

/* Ends the capture and runs its checks. frame: the frame of the public function. */
static bg_status end_and_check(bg_capture *capture, bg_graph **graph, const void *frame)
{
    bool poison = (capture->checks & BG__CHECK_POISON) != 0;
    cudaStream_t stream = capture->origin;
    bg_status status;

    capture->frame = frame;
    status = finish_capture(capture, graph);
    if (status == BG_OK && poison)
        bg__debug_hooks.check_poison(*graph, stream);
    return status;
}

bg_status bg_capture_end(bg_capture *capture, bg_graph **graph)
{
    if (graph != NULL)
        *graph = NULL;
    BG__NEED(capture);
    bg__foreign_error_note();
    if (graph == NULL) {
        bg_capture_abort(capture);
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_capture_end: graph is NULL; the capture was discarded");
    }
    if (capture->thread != bg__thread_id()) {
        bg_capture_abort(capture);
        return bg__fail(BG_ERROR_WRONG_THREAD,
                        "bg_capture_end: another thread began this capture and must end it; the capture was discarded");
    }
    if (capture->depth > 0) {
        capture->aborted = true;
        return bg__fail(BG_ERROR_BUSY, "bg_capture_end was called inside a body or barrier of the capture; the "
                                       "capture is discarded when that returns");
    }
    return end_and_check(capture, graph, __builtin_frame_address(0));
}

void bg_capture_abort(bg_capture *capture)
{
    if (capture == NULL)
        return;
    bg__foreign_error_note();
    if (capture->depth > 0)
        capture->aborted = true;
    else
        bg__capture_discard(capture);
}

/* Runs BG_CHECK=recapture: discards *capture, which has only begun, and begins it again afterwards. */
static bg_status check_recapture(bg_capture **capture, bg_forward forward, void *user, cudaStream_t stream,
                                 const bg_capture_options *options, const bg__bucket_hooks *around)
{
    const bg_capture_options checked = (*capture)->options;
    bg_status status;

    bg__capture_discard(*capture);
    *capture = NULL;
    if (around == NULL) {
        bg__debug_hooks.check_recapture(forward, user, stream, &checked);
    } else {
        around->close(around->user);
        bg__debug_hooks.check_bucket(forward, user, stream, &checked, around);
        BG__TRY(around->open(around->user));
    }
    BG__TRY(begin_capture(capture, stream, options, true, around != NULL));
done:
    return status;
}

bg_status bg__capture_forward(bg_graph **graph, bg_forward forward, void *user, cudaStream_t stream,
                              const bg_capture_options *options, bg__bucket_hooks *around)
{
    bg_capture *capture = NULL;
    bg_status status;

    bg__foreign_error_note();
    status = begin_capture(&capture, stream, options, true, around != NULL);
    if (status == BG_OK && (capture->checks & BG__CHECK_RECAPTURE) != 0)
        status = check_recapture(&capture, forward, user, stream, options, around);
    if (status != BG_OK)
        return status;
    capture->rows = around != NULL ? around->rows : 0;
    if (capture->eager) {
        status = bg__capture_run_forward(capture, forward, user);
    } else {
        char hidden = bg__error_set_aside();
        status = forward(user, stream);
        if (status != BG_OK && bg_last_error()[0] == '\0')
            bg__fail(status, "the forward pass returned %s (%s)", bg_status_name(status), bg_status_text(status));
        bg__error_restore(hidden);
    }
    bg__foreign_error_note(); /* the pass may have left an error of its own */
    if (status != BG_OK)
        bg__capture_record_failure(capture, status);
    if (!capture->eager)
        capture->forward = forward;
    capture->user = user;
    if (around != NULL) { /* a runner checks these when it has a batch */
        around->poison = (capture->checks & BG__CHECK_POISON) != 0;
        around->padding = (capture->checks & BG__CHECK_PADDING) != 0;
        capture->checks &= ~(unsigned)BG__CHECK_POISON;
    }
    return end_and_check(capture, graph, __builtin_frame_address(0));
}

bg_status bg_capture_forward(bg_graph **graph, bg_forward forward, void *user, cudaStream_t stream,
                             const bg_capture_options *options)
{
    BG__NEED(graph);
    *graph = NULL;
    BG__NEED(forward);
    return bg__capture_forward(graph, forward, user, stream, options, NULL);
}
