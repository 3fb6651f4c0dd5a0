/* Records the waits between the streams of a capture for the tools, since the graph does not show which work a wait is
 * for. */
#include "capture/capture.h"

const bg__call *bg__capture_last_call(const bg_capture *capture)
{
    const bg__call *call = &capture->graph->root;
    while (call->last_child != NULL)
        call = call->last_child;
    return call;
}

bg_status bg__capture_add_wait(bg_capture *capture, const bg__stream_wait *wait)
{
    bg_graph *graph = capture->graph;
    bg_status status = BG_OK;

    if (capture->eager) /* a pass that runs again and again */
        return BG_OK;
    BG__TRY(BG__ARRAY_GROW(graph->waits, graph->wait_count, graph->wait_capacity, "waits of streams"));
    graph->waits[graph->wait_count] = *wait;
    graph->waits[graph->wait_count++].waited_after = bg__capture_last_call(capture);
done:
    return status;
}
