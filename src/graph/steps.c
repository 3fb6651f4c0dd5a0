/* The step list of a graph, and the segments and sites that its steps name. */
#include "graph/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bg_status bg__graph_add_step(bg_graph *graph, bg__step step)
{
    bg_status status = BG__ARRAY_GROW(graph->steps, graph->step_count, graph->step_capacity, "steps");
    if (status == BG_OK)
        graph->steps[graph->step_count++] = step;
    return status;
}

bg_status bg__graph_add_segment(bg_graph *graph, bg__segment segment)
{
    bg_status status = BG__ARRAY_GROW(graph->segments, graph->segment_count, graph->segment_capacity, "segments");
    if (status == BG_OK)
        graph->segments[graph->segment_count++] = segment;
    return status;
}

bg_status bg__graph_insert_event(bg_graph *graph, int at, bg__step_kind kind, cudaEvent_t event, const bg_site *site)
{
    bg__step step = {.kind = kind, .place = graph->site_count, .of.event = event};
    bg_status status;

    BG__TRY(BG__ARRAY_GROW(graph->sites, graph->site_count, graph->site_capacity, "events"));
    BG__TRY(bg__graph_add_step(graph, step));
    graph->sites[graph->site_count++] = *site;
    memmove(&graph->steps[at + 1], &graph->steps[at], (size_t)(graph->step_count - 1 - at) * sizeof step);
    graph->steps[at] = step;
    for (int i = at + 1; i < graph->step_count; i++)
        if (graph->steps[i].kind == BG__STEP_SYNC && graph->steps[i].place >= at)
            graph->steps[i].place++;
done:
    return status;
}

static void remove_step(bg_graph *graph, int at)
{
    memmove(&graph->steps[at], &graph->steps[at + 1], (size_t)(graph->step_count - 1 - at) * sizeof *graph->steps);
    graph->step_count--;
    for (int i = at; i < graph->step_count; i++)
        if (graph->steps[i].kind == BG__STEP_SYNC && graph->steps[i].place > at)
            graph->steps[i].place--;
}

void bg__graph_remove_event(bg_graph *graph, cudaEvent_t event)
{
    for (int i = graph->step_count - 1; i >= 0; i--) {
        const bg__step *step = &graph->steps[i];
        if ((step->kind == BG__STEP_WAIT || step->kind == BG__STEP_RECORD) && step->of.event == event)
            remove_step(graph, i);
    }
}

/* ---- for messages ---- */

static void format_call(const bg__call *call, const char *what, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s %s at %s:%d", what, call->name, call->site.file ? call->site.file : "unknown file",
             call->site.line);
}

static void format_event(const bg_site *site, const char *what, char *text, size_t bytes)
{
    snprintf(text, bytes, "%s the event that was recorded at %s:%d", what, site->file ? site->file : "unknown file",
             site->line);
}

const char *bg__graph_describe_step(const bg_graph *graph, int step, char *text, size_t bytes)
{
    const bg__step *s = &graph->steps[step];
    switch (s->kind) {
    case BG__STEP_LAUNCH: snprintf(text, bytes, "segment %d of %s", s->place, graph->name); break;
    case BG__STEP_CALL: format_call(s->of.eager->call, "call", text, bytes); break;
    case BG__STEP_FORWARD: snprintf(text, bytes, "the forward pass of %s", graph->name); break;
    case BG__STEP_COPY: format_call(s->of.copy->eager->call, "the write-back of call", text, bytes); break;
    case BG__STEP_WAIT: format_event(&graph->sites[s->place], "the wait for", text, bytes); break;
    case BG__STEP_RECORD: format_event(&graph->sites[s->place], "the record of", text, bytes); break;
    case BG__STEP_SYNC: return bg__graph_describe_step(graph, s->place, text, bytes);
    }
    return text;
}
