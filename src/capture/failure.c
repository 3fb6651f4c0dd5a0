/* Failing a capture, and releasing what it holds. */
#include "capture/capture.h"

#include <stdio.h>
#include <stdlib.h>

void bg__capture_free_streams(bg_capture *capture)
{
    bg__events_free(capture);
    for (int i = 0; i < capture->member_count; i++)
        BG__RELEASE(cudaEventDestroy(capture->members[i].event));
    free(capture->members);
}

/* Restores the thread's state from before the capture. Only the thread itself can do that. */
static void restore_thread(const bg_capture *capture)
{
    bg__thread *self = bg__thread_self();
    if (capture->thread != bg__thread_id() || self->phase != BG_PHASE_CAPTURE)
        return;
    self->phase = capture->around.phase;
    self->pass = capture->around.pass;
}

/* Segments that the capture launched may still read the closures that its graph is about to destroy. */
static void record_launch_stream(const bg_capture *capture)
{
    bg_graph *graph = capture->graph;
    if (graph != NULL && graph->keeps && graph->pool == NULL && capture->options.launch_segments)
        graph->use->stream = capture->origin;
}

void bg__capture_free(bg_capture *capture)
{
    if (capture == NULL)
        return;
    bg__live_remove(capture);
    bg__segment_discard(capture);
    bg__capture_notify_failure(capture, capture->status != BG_OK ? capture->message : bg_last_error());
    bg__clear_cuda_error(bg__capture_release_pool(capture));
    bg__capture_free_streams(capture);
    if (capture->event != NULL)
        BG__RELEASE(cudaEventDestroy(capture->event));
    restore_thread(capture);
    bg__workers_stop(capture->workers);
    bg__open_segment_free(capture->open_segment);
    bg__marks_free(capture->marks);
    bg__state_free(&capture->state);
    bg__override_free(capture->override);
    record_launch_stream(capture);
    bg_graph_destroy(capture->graph);
    free(capture->inlined);
    free(capture);
}

void bg__capture_record_failure(bg_capture *capture, bg_status status)
{
    if (capture->status != BG_OK)
        return;
    capture->status = status;
    snprintf(capture->message, sizeof capture->message, "%s", bg_last_error());
}

bg_status bg__capture_fail(bg_capture *capture, bg_status status)
{
    bg__capture_record_failure(capture, status);
    bg__capture_notify_failure(capture, capture->message); /* the other ranks wait for this one */
    if (!capture->eager && !capture->open && !capture->aborted && bg__segment_open(capture) != BG_OK)
        bg__warn("%s: the stream could not be captured again after the failure; until bg_capture_end, work launched "
                 "on it runs and is not captured",
                 capture->graph->name);
    bg__error_set_text(capture->message);
    return capture->status;
}

void bg__capture_discard(bg_capture *capture)
{
    bg__segment_discard(capture);
    bg__capture_notify_failure(capture, capture->status != BG_OK ? capture->message : "it was aborted");
    if (bg__state_restore(&capture->state, capture->origin) != BG_OK)
        bg__warn("options.state could not be restored: %s", bg_last_error());
    bg__capture_free(capture);
}

bg_status bg__capture_end_aborted_call(bg_capture *capture)
{
    if (capture->depth == 0)
        bg__capture_discard(capture);
    return bg__fail(BG_ERROR_NOT_CAPTURING,
                    "the capture was ended inside one of its own calls; end it after they have returned");
}

bg_status bg__capture_closed_status(const bg_capture *capture)
{
    if (capture->aborted)
        return bg__fail(BG_ERROR_NOT_CAPTURING, "the capture has ended; return to the code that began it");
    if (capture->status != BG_OK) {
        bg__error_set_text(capture->message);
        return capture->status;
    }
    if (capture->compiling)
        return bg__fail(BG_ERROR_BUSY, "the op of a rule must not call ops, break or wait on streams of the capture");
    return bg__fail(BG_ERROR_BUSY, "options.barrier must not call ops, break or wait on streams of the capture");
}
