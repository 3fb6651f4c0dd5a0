/* The parts of captures and replays that profilers see as ranges (BG_NVTX). All ranges nest, except segments of a
 * capture: these may begin in one op and end in another. */
#include "capture/capture.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 256 };

void bg__nvtx_begin_segment(bg_capture *capture)
{
    char text[TEXT_BYTES];
    if (!capture->graph->root.ranges)
        return;
    snprintf(text, sizeof text, "capture of segment %d of %s", capture->graph->segment_count, capture->graph->name);
    capture->range = bg__nvtx_range_start(text);
}

void bg__nvtx_end_segment(const bg_capture *capture)
{
    if (capture->graph->root.ranges)
        bg__nvtx_range_end(capture->range);
}

static void push_break(const bg_graph *graph, int number)
{
    char text[TEXT_BYTES];
    snprintf(text, sizeof text, "break %d of %s", number, graph->name);
    bg__nvtx_range_push(text);
}

void bg__nvtx_push_break(const bg_capture *capture)
{
    if (capture->graph->root.ranges)
        push_break(capture->graph, capture->graph->breaks - 1);
}

void bg__nvtx_pop_break(const bg_capture *capture)
{
    if (capture->graph->root.ranges)
        bg__nvtx_range_pop();
}

static void name_step(const bg_graph *graph, const bg__step *step, char *text, size_t bytes)
{
    switch (step->kind) {
    case BG__STEP_CALL: snprintf(text, bytes, "%s", step->of.eager->call->name); break;
    case BG__STEP_COPY: snprintf(text, bytes, "write-back of %s", step->of.copy->eager->call->name); break;
    case BG__STEP_SYNC:
        snprintf(text, bytes, "wait after ");
        name_step(graph, &graph->steps[step->place], text + strlen(text), bytes - strlen(text));
        break;
    default: bg__graph_describe_step(graph, (int)(step - graph->steps), text, bytes); break;
    }
}

void bg__nvtx_push_step(const bg_graph *graph, const bg__step *step)
{
    char text[TEXT_BYTES];
    if (step->kind == BG__STEP_CALL) {
        push_break(graph, step->place);
        bg__nvtx_range_push(step->of.eager->call->name);
    } else {
        name_step(graph, step, text, sizeof text);
        bg__nvtx_range_push(text);
    }
}

void bg__nvtx_pop_step(const bg__step *step)
{
    bg__nvtx_range_pop();
    if (step->kind == BG__STEP_CALL)
        bg__nvtx_range_pop();
}
