#include "tool_state.h"

#include "capture/replay.h"

#include <stdlib.h>

bool bg__tool_enter(void)
{
    bg__thread *self = bg__thread_self();
    bool before = self->in_tool;
    self->in_tool = true;
    return before;
}

void bg__tool_leave(bool before)
{
    bg__thread_self()->in_tool = before;
}

bg_status bg__replay_steps(bg_graph *graph, cudaStream_t stream)
{
    bg_status status = BG_OK;
    for (int i = 0; i < bg__graph_step_count(graph) && status == BG_OK; i++)
        status = bg__replay_step(graph, i, stream);
    return status;
}

bg__tools *bg__tools_find(const bg_graph *graph)
{
    return bg__graph_tools(graph);
}

bg_status bg__tools_get(bg_graph *graph, bg__tools **tools)
{
    *tools = bg__tools_find(graph);
    if (*tools != NULL)
        return BG_OK;
    *tools = calloc(1, sizeof **tools);
    if (*tools == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the tools' state of %s", bg__graph_name(graph));
    bg__graph_set_tools(graph, *tools);
    return BG_OK;
}
