/* Nodes that the program adds with a dependency in another graph ("other-graph"). */
#include "debug/attach/events/subscribers.h"

#include <stdlib.h>

#include "debug/attach/nodes/node_calls.h"
#include "debug/attach/report/process_findings.h"
#include "debug/attach/stacks/function_names.h"

/* Returns the index of the first dependency that is not a node of graph, or -1 if there is none or the nodes cannot
 * be listed. */
static long find_foreign_dependency(cudaGraph_t graph, const cudaGraphNode_t *dependencies, size_t count)
{
    cudaGraphNode_t *nodes = NULL;
    long foreign = -1;
    size_t own;
    const bool listed = bg__graph_list_nodes(graph, &nodes, &own) == BG_OK;

    for (size_t i = 0; listed && i < count && foreign < 0; i++) {
        size_t at = 0;
        while (at < own && nodes[at] != dependencies[i])
            at++;
        foreign = at == own ? (long)i : -1;
    }
    free(nodes);
    return foreign;
}

static void check_dependencies(const bg__event *event)
{
    long foreign = -1;
    char message[700], where[300] = "", text[80];
    const bg__stack *stack, *maker;
    const char *written;

    if (event->result == CUDA_ERROR_INVALID_VALUE && event->source != NULL && event->dependencies != NULL)
        foreign = find_foreign_dependency(event->source, event->dependencies, event->count);
    if (foreign < 0)
        return;
    stack = bg__stack_here();
    maker = bg__node_maker(event->dependencies[foreign]);
    if (maker != NULL) {
        const bg_site site = bg__stack_site(maker);
        snprintf(where, sizeof where, ", made at %s%s%.0d", site.file != NULL ? site.file : "an unknown place",
                 site.line > 0 ? ":" : "", site.line);
    }
    written = bg__function_api_name(bg__call_name(event->call), stack, text, sizeof text);
    snprintf(message, sizeof message,
             "%s returned %s and added no node: dependency %ld is a node of another graph%s, not of graph %p, to "
             "which the call adds the node",
             written, cudaGetErrorName((cudaError_t)event->result), foreign, where, (void *)event->source);
    bg__attach_report_once("other-graph", BG_FAULT, written, written, stack,
                           "add the node to the graph that has its dependencies; nodes of a graph that is no longer "
                           "captured cannot be dependencies in the graph that is captured now",
                           message);
}

const bg__subscriber bg__check_other_graph = {
    .name = "dependencies", .when = BG__CHECK_EXECS, .on = {[BG__NODE_ADDED] = check_dependencies}};
