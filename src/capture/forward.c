/* A whole pass as one eager call. */
#include "capture/capture.h"

bg_status bg__run_forward(bg_graph *graph, bg_phase phase, cudaStream_t stream)
{
    char hidden = bg__fail_hide();
    bg__body_scope scope;
    bg_status status;

    graph->root.failure = &graph->failure;
    graph->failure.status = BG_OK;
    scope = bg__body_enter(phase, &graph->root);
    status = graph->forward(graph->forward_user, stream);
    bg__body_leave(scope);
    if (graph->failure.status != BG_OK) { /* the first one, whatever forward makes of it */
        status = graph->failure.status;
        bg__fail_restore(graph->failure.text);
    }
    if (status != BG_OK && bg_last_error()[0] == '\0')
        bg__fail(status, "the forward pass returned %s (%s)", bg_status_name(status), bg_status_text(status));
    bg__fail_unhide(hidden);
    return status;
}

bg_status bg__graph_of_forward(bg_graph **result, const char *name, bg_forward forward, void *user, bool zero_tail)
{
    bg_graph *graph = NULL;
    bg_status status;

    BG__TRY(bg__graph_create(&graph, name, NULL));
    graph->forward = forward;
    graph->forward_user = user;
    graph->breaks = 1;
    graph->root.zero_tail = zero_tail;
    BG__TRY(bg__graph_add_step(graph, (bg__step){.kind = BG__FORWARD}));
    *result = graph;
    graph = NULL;
done:
    bg_graph_destroy(graph);
    return status;
}

bg_status bg__capture_run_forward(bg_capture *capture, bg_forward forward, void *user)
{
    bg_graph *graph = capture->graph;
    bg_status status;

    graph->forward = forward;
    graph->forward_user = user;
    graph->breaks = 1;
    BG__TRY(bg__graph_add_step(graph, (bg__step){.kind = BG__FORWARD}));
    if (capture->options.launch_segments) {
        capture->in_body = true;
        bg__ranges_enter_break(capture);
        status = bg__run_forward(graph, BG_PHASE_EAGER, capture->origin);
        bg__ranges_leave_break(capture);
        capture->in_body = false;
    }
done:
    return status;
}
