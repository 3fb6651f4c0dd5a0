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

/* Replays read the list of streams that capture (capturing_streams.c). */
static void mark_segment_closed(bg_capture *capture)
{
    bg__capturing_streams_remove(capture->origin, capture->thread);
    for (int i = 0; i < capture->member_count; i++)
        bg__capturing_streams_remove(capture->members[i].stream, capture->thread);
    if (capture->open)
        bg__nvtx_end_segment(capture);
    bg__marks_clear(capture);
    capture->open = false;
}

static bg_status mark_segment_open(bg_capture *capture)
{
    bg_status status;
    BG__TRY(bg__capturing_streams_add(capture->origin, capture->thread));
    for (int i = 0; i < capture->member_count; i++)
        BG__TRY(bg__capturing_streams_add(capture->members[i].stream, capture->thread));
    capture->open = true;
    bg__nvtx_begin_segment(capture);
done:
    if (status != BG_OK)
        mark_segment_closed(capture);
    return status;
}

bg_status bg__segment_open(bg_capture *capture)
{
    cudaError_t error;
    bg_status status;

    BG__TRY(mark_segment_open(capture));
    error = cudaStreamBeginCapture(capture->origin, capture->options.mode);
    if (error != cudaSuccess) {
        mark_segment_closed(capture);
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
cudaError_t bg__stream_end_capture(cudaStream_t origin, cudaGraph_t *graph)
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
    bg__clear_cuda_error(bg__stream_end_capture(capture->origin, &graph));
    if (graph != NULL)
        BG__RELEASE(cudaGraphDestroy(graph));
    mark_segment_closed(capture);
}

static bg_status instantiate_segment(bg_capture *capture, bg__segment *segment)
{
    double began = bg__now_ms();
    bg__relaxed_mode relaxed;
    cudaError_t error;
    bg_status status;

    BG__TRY(bg__relaxed_mode_begin(&relaxed)); /* other captures may be running */
    error = bg__instantiate_graph(segment->graph, &segment->exec);
    if (error != cudaSuccess) {
        status = bg__fail_cuda(error, "cudaGraphInstantiate");
        goto done;
    }
    capture->graph->instantiate_ms += bg__now_ms() - began;
done:
    bg__relaxed_mode_end(relaxed);
    return status;
}

bg_status bg__capture_sync_step(bg_capture *capture)
{
    bg_graph *graph = capture->graph;
    bg_status status = BG_OK;
    char text[256];

    if (capture->debug != BG_DEBUG_SYNC || graph->step_count == 0)
        return BG_OK;
    if (capture->options.launch_segments) {
        bg__relaxed_mode relaxed;
        cudaError_t error;
        BG__TRY(bg__relaxed_mode_begin(&relaxed));
        error = cudaStreamSynchronize(capture->origin);
        bg__relaxed_mode_end(relaxed);
        if (error != cudaSuccess) {
            status = bg__fail_cuda(error, "cudaStreamSynchronize");
            bg__error_add_location("after %s",
                                   bg__graph_describe_step(graph, graph->step_count - 1, text, sizeof text));
            goto done;
        }
    }
    BG__TRY(bg__graph_add_step(graph, (bg__step){.kind = BG__STEP_SYNC, .place = graph->step_count - 1}));
done:
    return status;
}

static bg_status add_segment(bg_capture *capture, bg__segment *segment)
{
    bg_graph *graph = capture->graph;
    bg_status status;
    bool launched;

    BG__TRY(bg__compile_segment(capture, segment, &launched));
    if (capture->workers == NULL)
        BG__TRY(instantiate_segment(capture, segment));
    BG__TRY(bg__graph_add_segment(graph, *segment));
    *segment = (bg__segment){.graph = NULL};
    bg__writeback_set_segment(&capture->writebacks, graph->segment_count - 1);
    BG__TRY(bg__graph_add_step(graph, (bg__step){.kind = BG__STEP_LAUNCH,
                                                 .place = graph->segment_count - 1,
                                                 .of.exec = graph->segments[graph->segment_count - 1].exec}));
    if (capture->workers != NULL)
        BG__TRY(bg__workers_submit(capture->workers, graph->segments[graph->segment_count - 1].graph));
    if (capture->options.launch_segments && !launched)
        BG__TRY_CUDA(cudaGraphLaunch(graph->segments[graph->segment_count - 1].exec, capture->origin));
    BG__TRY(bg__capture_sync_step(capture));
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
        BG__TRY(bg__capture_join_members(capture));
    BG__TRY(bg__find_unjoined(capture, &unjoined, &segment.nodes)); /* before the end: if CUDA refuses to end the
                                                                     * capture, the graph is lost */
    error = bg__stream_end_capture(capture->origin, &segment.graph);
    mark_segment_closed(capture);
    if (error != cudaSuccess) {
        status = bg__fail_cuda(error, "cudaStreamEndCapture");
        if (status == BG_ERROR_UNJOINED_STREAM && unjoined.status != BG_OK) {
            status = unjoined.status;
            bg__error_add_location("%s", unjoined.text);
        }
        goto done;
    }
    BG__TRY(bg__events_wait_before_launch(capture));
    if (bg__writeback_is_whole_segment(capture->writebacks, segment.nodes))
        BG__TRY(bg__writeback_make_steps(capture->graph, &capture->writebacks, capture->origin));
    else if (segment.nodes > 0)
        BG__TRY(add_segment(capture, &segment));
    if (capture->options.barrier != NULL) {
        status = capture->options.barrier(capture->options.barrier_user);
        bg__foreign_error_note(); /* the barrier may have left a CUDA error of its own */
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
        bg__error_add_location("segment %d of %s", number, capture->graph->name);
    return status;
}

/* Called before and after work at a point where all streams are joined: memory released before may be reused. A stream
 * that later waits on an earlier event forks from the begin of the next part. */
static void begin_joined_work(const bg_capture *capture)
{
    if (!capture->holds_pool)
        return;
    bg__pool_barrier(capture->graph->pool);
    bg__pool_set_concurrent(capture->graph->pool, capture->member_count + capture->event_count > 0);
}

static void end_joined_work(const bg_capture *capture)
{
    if (capture->holds_pool)
        bg__pool_barrier(capture->graph->pool);
}

/* In a pass that runs eagerly: if some stream captures, a join would draw the others into that capture. */
static bg_status check_foreign_capture(const bg_capture *capture)
{
    bool found = false;
    bg_status status = BG_OK;

    if (capture->eager)
        BG__TRY(bg__pass_find_capturing_stream(capture, &found));
    if (found)
        status = bg__fail(BG_ERROR_FOREIGN_CAPTURE, "a stream of the pass is captured by a capture that breakgraph "
                                                    "did not begin; end that before a break");
done:
    return status;
}

bg_status bg__capture_barrier(bg_capture *capture, bg__at_break run, void *user)
{
    bg_status status;

    BG__TRY(check_foreign_capture(capture));
    BG__TRY(bg__capture_join_members(capture));
    begin_joined_work(capture);
    if (run != NULL)
        BG__TRY(run(capture, user));
    end_joined_work(capture);
    if (!capture->aborted)
        BG__TRY(fork_members(capture));
done:
    return status;
}

bg_status bg__capture_break(bg_capture *capture, const bg__call *call, bg__at_break run, void *user)
{
    bg_status status;

    capture->graph->breaks++;
    bg__nvtx_push_break(capture);
    BG__TRY(bg__segment_close(capture, true));
    if (!capture->aborted)
        BG__TRY(bg__capture_agree_on_break(capture, call));
    begin_joined_work(capture);
    if (run != NULL && !capture->aborted)
        BG__TRY(run(capture, user));
    end_joined_work(capture);
    if (!capture->aborted)
        BG__TRY(bg__segment_open(capture));
done:
    bg__nvtx_pop_break(capture);
    return status;
}
