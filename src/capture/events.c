/* The program's events. CUDA forgets the record of an event in a segment when the segment's capture ends. So a use of
 * the event outside that segment becomes:
 *   a wait in a later segment: nothing, since a break is a barrier; a stream that was not a member becomes one. But
 *     where a body between them did not run at capture, it may have recorded the event anew: a WAIT step;
 *   a wait in a body: a RECORD step before that body; if the body does not run at capture, its waits are unknown, and
 *   each event that was not waited for in its own segment gets a RECORD step;
 *   a wait in a segment for an event that a body recorded: a WAIT step before that segment;
 *   a use after the end of the capture: a record on the origin.
 * With CUDA's flags for external events such a record or wait becomes a node at its own place, in place of the step:
 * work in a body begins as soon as the record is reached, and a segment waits only where its wait node is. CUDA gets an
 * event only where the program names it, and at the end. */
#include "capture/capture.h"

#include <stdlib.h>
#include <string.h>

/* ---- the events of a capture ---- */

bg__event *bg__event_find(const bg_capture *capture, cudaEvent_t event)
{
    for (int i = capture->event_count - 1; i >= 0; i--)
        if (capture->events[i].event == event)
            return &capture->events[i];
    return NULL;
}

void bg__event_remove(bg_capture *capture, cudaEvent_t event)
{
    bg__event *entry = bg__event_find(capture, event);
    size_t after;
    if (entry == NULL)
        return;
    if (entry->twin != NULL)
        BG__RELEASE(cudaEventDestroy(entry->twin));
    after = (size_t)(capture->events + capture->event_count - (entry + 1));
    memmove(entry, entry + 1, after * sizeof *entry);
    capture->event_count--;
}

bg_status bg__event_reserve(bg_capture *capture)
{
    return BG__ARRAY_GROW(capture->events, capture->event_count, capture->event_capacity, "events");
}

void bg__event_add_record(bg_capture *capture, cudaEvent_t event, cudaStream_t stream, const bg_site *site)
{
    bg__event_remove(capture, event);
    /* A stream may fork from this record later, when the origin has already reused memory that it released. */
    if (capture->holds_pool && !capture->in_body)
        bg__pool_set_concurrent(capture->graph->pool, true);
    capture->events[capture->event_count++] = (bg__event){
        .event = event,
        .in_body = capture->in_body,
        .real = capture->eager,
        .part = capture->part,
        .segment = capture->opened,
        .site = site != NULL ? *site : (bg_site){NULL, 0},
        .stream = stream,
        .after = bg__capture_last_call(capture),
    };
}

void bg__event_add_node_record(bg_capture *capture, cudaEvent_t event, cudaEvent_t twin, cudaStream_t stream,
                               const bg_site *site)
{
    bg__event_add_record(capture, event, stream, site);
    capture->events[capture->event_count - 1].twin = twin;
}

bool bg__event_is_awaited(const bg_capture *capture, const bg__event *entry)
{
    return entry->in_body && (entry->waited_in == capture->opened || entry->node_in == capture->opened);
}

bg_status bg__events_wait_before_launch(bg_capture *capture)
{
    bg_status status = BG_OK;
    for (int i = 0; i < capture->event_count; i++)
        if (capture->events[i].in_body && capture->events[i].waited_in == capture->opened)
            BG__TRY_CUDA(cudaStreamWaitEvent(capture->origin, capture->events[i].event, 0));
done:
    return status;
}

static void free_twins(bg_capture *capture)
{
    for (int i = 0; i < capture->event_count; i++)
        if (capture->events[i].twin != NULL)
            BG__RELEASE(cudaEventDestroy(capture->events[i].twin));
}

/* In the order of their records: cudaEventElapsedTime between two events must not become negative. */
bg_status bg__events_record_at_end(bg_capture *capture)
{
    bg_status status = BG_OK;
    for (int i = 0; i < capture->event_count; i++) {
        const bg__event *entry = &capture->events[i];
        cudaError_t error;
        if (entry->in_body || entry->real)
            continue;
        error = cudaEventRecord(entry->event, capture->origin);
        if (error == cudaErrorInvalidResourceHandle) { /* destroyed: no later call can name it */
            bg__clear_cuda_error(error);
        } else if (error != cudaSuccess) {
            status = bg__fail_cuda(error, "cudaEventRecord");
            bg__error_add_location("the event that was recorded at %s:%d",
                                   entry->site.file ? entry->site.file : "unknown file", entry->site.line);
            goto done;
        }
    }
    free_twins(capture);
    capture->event_count = 0;
done:
    return status;
}

void bg__events_free(bg_capture *capture)
{
    for (int i = 0; i < capture->event_count; i++)
        if (!capture->events[i].in_body && !capture->events[i].real)
            bg__clear_cuda_error(cudaEventRecord(capture->events[i].event, capture->origin));
    free_twins(capture);
    free(capture->events);
}

/* The step of the call whose body runs. */
static int find_call_step(const bg_graph *graph)
{
    int at = graph->step_count - 1;
    while (at > 0 && graph->steps[at].kind != BG__STEP_CALL)
        at--;
    return at;
}

bg_status bg__event_record_before_call(bg_capture *capture, bg__event *entry)
{
    bg_graph *graph = capture->graph;
    bg_status status;
    BG__TRY(bg__graph_insert_event(graph, find_call_step(graph), BG__STEP_RECORD, entry->event, &entry->site));
    BG__TRY_CUDA(cudaEventRecord(entry->event, capture->origin));
    entry->real = true;
done:
    return status;
}

bg_status bg__events_record_before_unrun_body(bg_capture *capture)
{
    bg_status status = BG_OK;
    capture->has_unrun_body = true;
    for (int i = 0; i < capture->event_count; i++) {
        bg__event *entry = &capture->events[i];
        if (!entry->in_body && !entry->real && !entry->awaited_in_segment && entry->twin == NULL)
            BG__TRY(bg__event_record_before_call(capture, entry));
    }
done:
    return status;
}
