#include "tools.h"

#include <stdlib.h>

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
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "no host memory for what the tools keep of %s", bg__graph_name(graph));
    bg__graph_set_tools(graph, *tools);
    return BG_OK;
}
