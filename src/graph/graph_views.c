/* What the debugging tools may read of a graph, and the data that they keep with it. */
#include "graph/inspect.h"

#include "graph/graph.h"

const char *bg__graph_name(const bg_graph *graph)
{
    return graph->name;
}

void bg__graph_copy_context(bg_graph *run, const bg_graph *graph)
{
    run->root.context = graph->root.context;
}

const bg__call *bg__graph_root(const bg_graph *graph)
{
    return &graph->root;
}

bg__graph_facts bg__graph_get_facts(const bg_graph *graph)
{
    return (bg__graph_facts){
        .device = graph->device,
        .breaks = graph->breaks,
        .capture_ms = graph->capture_ms,
        .instantiate_ms = graph->instantiate_ms,
        .pool = graph->pool,
        .watched = (graph->watched & BG__CHECK_REPLAY) != 0,
        .foreign = graph->wrapped && !graph->instantiated && graph->segments[0].exec != NULL && !graph->mirrored,
        .replaying = bg__last_use_is_busy(graph->use),
    };
}

uint64_t bg__graph_replays(const bg_graph *graph)
{
    return graph->replays;
}

void bg__graph_count_replay(bg_graph *graph)
{
    graph->replays++;
}

bg__ranks *bg__graph_ranks(bg_graph *graph)
{
    return &graph->ranks;
}

int bg__graph_segment_count(const bg_graph *graph)
{
    return graph->segment_count;
}

const bg__segment *bg__graph_segment(const bg_graph *graph, int index)
{
    return &graph->segments[index];
}

int bg__graph_step_count(const bg_graph *graph)
{
    return graph->step_count;
}

bg__step_view bg__graph_step(const bg_graph *graph, int step)
{
    const bg__step *s = &graph->steps[step];
    bg__step_view view = {.kind = s->kind, .place = s->place};

    if (s->kind == BG__STEP_CALL)
        view = (bg__step_view){s->kind, s->place, s->of.eager->call, s->of.eager->args, s->of.eager->work};
    else if (s->kind == BG__STEP_COPY)
        view.call = s->of.copy->eager->call;
    return view;
}

/* ---- arguments ---- */

const void *bg__graph_call_args(const bg_graph *graph, const bg__call *call)
{
    (void)graph;
    if (!call->eager)
        return call->kept;
    return call->eager_record != NULL ? call->eager_record->args : NULL;
}

bool bg__graph_is_exposed(const bg_graph *graph)
{
    const bg__eager_call *eager = graph->eagers;
    while (eager != NULL && !eager->exposed)
        eager = eager->previous;
    return eager != NULL;
}

bool bg__call_is_exposed(const bg_graph *graph, const bg__call *call)
{
    (void)graph;
    return call->eager_record != NULL && call->eager_record->exposed;
}

bg__recorded_addresses *bg__graph_recorded_addresses(const bg_graph *graph)
{
    return (bg__recorded_addresses *)&graph->noted;
}

const bg_tensor *bg__recorded_tensor_replacement(const bg__recorded_tensor *note)
{
    const bg_tensor *present;
    if (note->eager == NULL || !note->eager->exposed)
        return NULL;
    present = (const void *)((const char *)note->eager->args + note->offset);
    return (uintptr_t)present->data == note->address - note->before ? NULL : present;
}

/* ---- write-backs ---- */

bool bg__graph_find_writeback(const bg_graph *graph, cudaGraphNode_t node, bg__writeback_view *found)
{
    const bg__writeback_entry *folded = bg__writeback_find_node(graph, node);
    if (folded != NULL)
        *found = (bg__writeback_view){folded->eager->call, folded->eager, folded->fold,
                                      bg__writeback_is_enabled(folded->fold)};
    return folded != NULL;
}

bg_status bg__writeback_run(const bg__writeback_view *writeback, cudaStream_t stream)
{
    const bg__eager_call *eager = writeback->eager;
    bg_status status = BG_OK;

    for (int i = 0; i < eager->outputs; i++)
        if (eager->copies[i] != NULL && eager->copies[i]->fold == writeback->fold && eager->copies[i]->enabled)
            BG__TRY(bg__output_copy_run(&eager->copies[i]->move, stream));
done:
    return status;
}

/* ---- what the tools keep ---- */

void *bg__graph_tools(const bg_graph *graph)
{
    return graph->tools;
}

void bg__graph_set_tools(bg_graph *graph, void *tools)
{
    graph->tools = tools;
}

void bg__graph_set_diverted(bg_graph *graph, bool diverted)
{
    graph->diverted = diverted;
}

const bg__stream_wait *bg__graph_waits(const bg_graph *graph, int *count)
{
    *count = graph->wait_count;
    return graph->waits;
}
