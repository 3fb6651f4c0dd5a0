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
static void leave_thread(const bg_capture *capture)
{
    bg__thread *self = bg__thread_self();
    if (capture->thread != bg__thread_id() || self->phase != BG_PHASE_CAPTURE)
        return;
    self->phase = capture->around.phase;
    self->pass = capture->around.pass;
}

/* Segments that the capture launched may still read the closures that its graph is about to destroy. */
static void note_launches(const bg_capture *capture)
{
    bg_graph *graph = capture->graph;
    if (graph != NULL && graph->keeps && graph->pool == NULL && capture->options.launch_segments)
        graph->use->stream = capture->origin;
}

void bg__capture_dispose(bg_capture *capture)
{
    if (capture == NULL)
        return;
    bg__live_remove(capture);
    bg__segment_discard(capture);
    bg__capture_part(capture, capture->status != BG_OK ? capture->message : bg_last_error());
    bg__ignore(bg__capture_leave_pool(capture));
    bg__capture_free_streams(capture);
    if (capture->event != NULL)
        BG__RELEASE(cudaEventDestroy(capture->event));
    leave_thread(capture);
    bg__workers_stop(capture->workers);
    bg__survey_free(capture->survey);
    bg__marks_free(capture->marks);
    bg__state_free(&capture->state);
    bg__override_free(capture->override);
    note_launches(capture);
    bg_graph_destroy(capture->graph);
    free(capture->inlined);
    free(capture);
}

void bg__capture_note_failure(bg_capture *capture, bg_status status)
{
    if (capture->status != BG_OK)
        return;
    capture->status = status;
    snprintf(capture->message, sizeof capture->message, "%s", bg_last_error());
}

bg_status bg__capture_fail(bg_capture *capture, bg_status status)
{
    bg__capture_note_failure(capture, status);
    bg__capture_part(capture, capture->message); /* the others wait */
    if (!capture->eager && !capture->open && !capture->aborted && bg__segment_open(capture) != BG_OK)
        bg__warn(
            "%s: the stream could not be captured again after the failure; until bg_capture_end, work launched on it "
            "runs and is not captured",
            capture->graph->name);
    bg__fail_restore(capture->message);
    return capture->status;
}

void bg__capture_throw_away(bg_capture *capture)
{
    bg__segment_discard(capture);
    bg__capture_part(capture, capture->status != BG_OK ? capture->message : "it was aborted");
    if (bg__state_restore(&capture->state, capture->origin) != BG_OK)
        bg__warn("options.state could not be restored: %s", bg_last_error());
    bg__capture_dispose(capture);
}

bg_status bg__capture_leave_aborted(bg_capture *capture)
{
    if (capture->depth == 0)
        bg__capture_throw_away(capture);
    return bg__fail(BG_ERROR_NOT_CAPTURING,
                    "the capture was ended inside one of its own calls; end it after they have returned");
}

bg_status bg__capture_refuse(const bg_capture *capture)
{
    if (capture->aborted)
        return bg__fail(BG_ERROR_NOT_CAPTURING, "the capture has ended; return to the code that began it");
    if (capture->status != BG_OK) {
        bg__fail_restore(capture->message);
        return capture->status;
    }
    if (capture->compiling)
        return bg__fail(BG_ERROR_BUSY, "the op of a rule must not call ops, break or wait on streams of the capture");
    return bg__fail(BG_ERROR_BUSY, "options.barrier must not call ops, break or wait on streams of the capture");
}
