/* Segments: where a CUDA capture begins and ends. */
#include "capture/capture.h"

#include <stdlib.h>

/* Begins a new part of the pass: all members wait for the origin's work so far. */
static bg_status fork_members(bg_capture *capture)
{
    bg_status status = BG_OK;
    capture->part++;
    if (capture->member_count + capture->event_count > 0)
        BG__TRY_CUDA(cudaEventRecord(capture->event, capture->origin));
    /* A fork that stays idle adds no node, and need not be joined. */
    for (int i = 0; i < capture->member_count; i++) {
        capture->members[i].last = NULL;
        BG__TRY_CUDA(cudaStreamWaitEvent(capture->members[i].stream, capture->event, 0));
    }
done:
    return status;
}

/* Replays read the list of streams that capture (live.c). */
static void mark_closed(bg_capture *capture)
{
    bg__captured_remove(capture->origin, capture->thread);
    for (int i = 0; i < capture->member_count; i++)
        bg__captured_remove(capture->members[i].stream, capture->thread);
    if (capture->open)
        bg__ranges_close_segment(capture);
    bg__marks_forget(capture);
    capture->open = false;
}

static bg_status mark_open(bg_capture *capture)
{
    bg_status status;
    BG__TRY(bg__captured_add(capture->origin, capture->thread));
    for (int i = 0; i < capture->member_count; i++)
        BG__TRY(bg__captured_add(capture->members[i].stream, capture->thread));
    capture->open = true;
    bg__ranges_open_segment(capture);
done:
    if (status != BG_OK)
        mark_closed(capture);
    return status;
}

bg_status bg__segment_open(bg_capture *capture)
{
    cudaError_t error;
    bg_status status;

    BG__TRY(mark_open(capture));
    error = cudaStreamBeginCapture(capture->origin, capture->options.mode);
    if (error != cudaSuccess) {
        mark_closed(capture);
        status = bg__fail_cuda(error, "cudaStreamBeginCapture");
        goto done;
    }
    BG__TRY(bg__writeback_capture(capture->writebacks, capture->origin));
    capture->inlined_count = 0;
    capture->opened++;
    BG__TRY(fork_members(capture));
done:
    return status;
}

/* CUDA ends a capture even if it returns an error, unless it refuses the call at once; then a second call ends it. No
 * stream may be left capturing. */
cudaError_t bg__end_capture(cudaStream_t origin, cudaGraph_t *graph)
{
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    cudaGraph_t late = NULL;
    cudaError_t error = cudaStreamEndCapture(origin, graph);

    if (error == cudaSuccess)
        return cudaSuccess;
    *graph = NULL;
    if (cudaStreamIsCapturing(origin, &capturing) == cudaSuccess && capturing != cudaStreamCaptureStatusNone)
        (void)cudaStreamEndCapture(origin, &late);
    if (late != NULL)
        BG__RELEASE(cudaGraphDestroy(late));
    return error;
}

void bg__segment_discard(bg_capture *capture)
{
    cudaGraph_t graph = NULL;
    if (!capture->open)
        return;
    bg__ignore(bg__end_capture(capture->origin, &graph));
    if (graph != NULL)
        BG__RELEASE(cudaGraphDestroy(graph));
    mark_closed(capture);
}

static bg_status instantiate(bg_capture *capture, bg__segment *segment)
{
    double began = bg__now_ms();
    bg__relaxed relaxed;
    cudaError_t error;
    bg_status status;

    BG__TRY(bg__relax_begin(&relaxed)); /* other captures may be running */
    error = bg__instantiate(segment->graph, &segment->exec);
    if (error != cudaSuccess) {
        status = bg__fail_cuda(error, "cudaGraphInstantiate");
        goto done;
    }
    capture->graph->instantiate_ms += bg__now_ms() - began;
done:
    bg__relax_end(relaxed);
    return status;
}

bg_status bg__step_sync(bg_capture *capture)
{
    bg_graph *graph = capture->graph;
    bg_status status = BG_OK;
    char text[256];

    if (capture->debug != BG_DEBUG_SYNC || graph->step_count == 0)
        return BG_OK;
    if (capture->options.launch_segments) {
        bg__relaxed relaxed;
        cudaError_t error;
        BG__TRY(bg__relax_begin(&relaxed));
        error = cudaStreamSynchronize(capture->origin);
        bg__relax_end(relaxed);
        if (error != cudaSuccess) {
            status = bg__fail_cuda(error, "cudaStreamSynchronize");
            bg__fail_where("after %s", bg__step_text(graph, graph->step_count - 1, text, sizeof text));
            goto done;
        }
    }
    BG__TRY(bg__graph_add_step(graph, (bg__step){.kind = BG__SYNC, .place = graph->step_count - 1}));
done:
    return status;
}

static bg_status keep_segment(bg_capture *capture, bg__segment *segment)
{
    bg_graph *graph = capture->graph;
    bg_status status;
    bool launched;

    BG__TRY(bg__compile_segment(capture, segment, &launched));
    if (capture->workers == NULL)
        BG__TRY(instantiate(capture, segment));
    BG__TRY(bg__graph_add_segment(graph, *segment));
    *segment = (bg__segment){.graph = NULL};
    bg__writeback_fold(&capture->writebacks, graph->segment_count - 1);
    BG__TRY(bg__graph_add_step(graph, (bg__step){.kind = BG__LAUNCH,
                                                 .place = graph->segment_count - 1,
                                                 .of.exec = graph->segments[graph->segment_count - 1].exec}));
    if (capture->workers != NULL)
        BG__TRY(bg__workers_give(capture->workers, graph->segments[graph->segment_count - 1].graph));
    if (capture->options.launch_segments && !launched)
        BG__TRY_CUDA(cudaGraphLaunch(graph->segments[graph->segment_count - 1].exec, capture->origin));
    BG__TRY(bg__step_sync(capture));
done:
    return status;
}

bg_status bg__segment_close(bg_capture *capture, bool join)
{
    bg__segment segment = {.graph = NULL};
    bg__unjoined unjoined;
    int number = capture->graph->segment_count; /* read now, since adding the segment increases the count */
    bg_status status = BG_OK;
    cudaError_t error;

    if (join)
        BG__TRY(bg__capture_join(capture));
    BG__TRY(bg__find_unjoined(capture, &unjoined, &segment.nodes)); /* the graph is lost where CUDA refuses it */
    error = bg__end_capture(capture->origin, &segment.graph);
    mark_closed(capture);
    if (error != cudaSuccess) {
        status = bg__fail_cuda(error, "cudaStreamEndCapture");
        if (status == BG_ERROR_UNJOINED_STREAM && unjoined.status != BG_OK) {
            status = unjoined.status;
            bg__fail_where("%s", unjoined.text);
        }
        goto done;
    }
    BG__TRY(bg__events_before_launch(capture));
    if (bg__writeback_alone(capture->writebacks, segment.nodes))
        BG__TRY(bg__writeback_unfold(capture->graph, &capture->writebacks, capture->origin));
    else if (segment.nodes > 0)
        BG__TRY(keep_segment(capture, &segment));
    if (capture->options.barrier != NULL) {
        status = capture->options.barrier(capture->options.barrier_user);
        bg__pending_note(); /* it may have left an error of its own */
        if (status != BG_OK)
            bg__fail(status, "options.barrier returned %s", bg_status_name(status));
    }
done:
    if (segment.exec != NULL)
        BG__RELEASE(cudaGraphExecDestroy(segment.exec));
    if (segment.graph != NULL)
        BG__RELEASE(cudaGraphDestroy(segment.graph));
    free(segment.origins);
    if (status != BG_OK)
        bg__fail_where("segment %d of %s", number, capture->graph->name);
    return status;
}

/* Called before and after work at a point where all streams are joined: memory released before may be reused. A stream
 * that later waits on an earlier event forks from the begin of the next part. */
static void leave_part(const bg_capture *capture)
{
    if (!capture->holds_pool)
        return;
    bg__pool_break(capture->graph->pool);
    bg__pool_set_concurrent(capture->graph->pool, capture->member_count + capture->event_count > 0);
}

static void enter_part(const bg_capture *capture)
{
    if (capture->holds_pool)
        bg__pool_break(capture->graph->pool);
}

/* In a pass that runs eagerly: if some stream captures, a join would draw the others into that capture. */
static bg_status check_foreign(const bg_capture *capture)
{
    bool found = false;
    bg_status status = BG_OK;

    if (capture->eager)
        BG__TRY(bg__capture_find_foreign(capture, &found));
    if (found)
        status = bg__fail(BG_ERROR_FOREIGN_CAPTURE, "a stream of the pass is captured by a capture that breakgraph did "
                                                    "not begin; end that before a break");
done:
    return status;
}

bg_status bg__capture_barrier(bg_capture *capture, bg__at_break run, void *user)
{
    bg_status status;

    BG__TRY(check_foreign(capture));
    BG__TRY(bg__capture_join(capture));
    leave_part(capture);
    if (run != NULL)
        BG__TRY(run(capture, user));
    enter_part(capture);
    if (!capture->aborted)
        BG__TRY(fork_members(capture));
done:
    return status;
}

bg_status bg__capture_break(bg_capture *capture, const bg__call *call, bg__at_break run, void *user)
{
    bg_status status;

    capture->graph->breaks++;
    bg__ranges_enter_break(capture);
    BG__TRY(bg__segment_close(capture, true));
    if (!capture->aborted)
        BG__TRY(bg__capture_meet_at_break(capture, call));
    leave_part(capture);
    if (run != NULL && !capture->aborted)
        BG__TRY(run(capture, user));
    enter_part(capture);
    if (!capture->aborted)
        BG__TRY(bg__segment_open(capture));
done:
    bg__ranges_leave_break(capture);
    return status;
}
