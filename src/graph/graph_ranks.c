/* The ranks of a graph: retains their communicator, and reports to ranks.table where replays are. */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

void bg__graph_join_ranks(bg_graph *graph, const bg__ranks *ranks)
{
    graph->ranks = *ranks;
    if (ranks->there && ranks->table.retain != NULL)
        ranks->table.retain(ranks->table.user);
}

void bg__graph_leave_ranks(bg_graph *graph)
{
    if (graph->ranks.there && graph->ranks.table.release != NULL)
        graph->ranks.table.release(graph->ranks.table.user);
    for (int i = 0; graph->texts != NULL && i < graph->step_count; i++)
        free(graph->texts[i]);
    free(graph->texts);
}

bool bg__watch_ranks_is_on(const bg_graph *graph)
{
    return bg__ranks_has_watchdog(&graph->ranks);
}

bg_status bg__watch_ranks_prepare(bg_graph *graph)
{
    char text[256];

    if (!bg__watch_ranks_is_on(graph))
        return BG_OK;
    graph->texts = calloc((size_t)graph->step_count + 1, sizeof *graph->texts);
    for (int i = 0; graph->texts != NULL && i < graph->step_count; i++) {
        graph->texts[i] = strdup(bg__graph_describe_step(graph, i, text, sizeof text));
        if (graph->texts[i] == NULL)
            goto out_of_memory;
    }
    if (graph->texts != NULL)
        return BG_OK;
out_of_memory:
    return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the names of %d steps", graph->step_count);
}

bg_status bg__watch_ranks_enter(bg_graph *graph, bool *entered)
{
    bg_status status;

    *entered = false;
    if (!bg__watch_ranks_is_on(graph) || graph->entered)
        return BG_OK;
    status = bg__ranks_enter(&graph->ranks, graph->name, graph->replays, graph->step_count);
    *entered = graph->entered = status == BG_OK;
    return status;
}

bg_status bg__watch_ranks_step(const bg_graph *graph, int step, cudaStream_t stream)
{
    return graph->entered ? bg__ranks_step(&graph->ranks, step, graph->texts[step], stream) : BG_OK;
}

void bg__watch_ranks_leave(bg_graph *graph)
{
    if (!graph->entered)
        return;
    graph->entered = false;
    graph->ranks.table.leave(graph->ranks.table.user);
}
