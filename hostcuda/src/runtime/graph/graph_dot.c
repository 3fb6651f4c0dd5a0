/* cudaGraphDebugDotPrint: a graph as text for Graphviz. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/graph/graph_object.h"

#include <stdio.h>

static const char *label(const struct hc_op *op)
{
    switch (op->kind) {
    case HC_OP_KERNEL: return hc_kernel_name(op->launch.kernel);
    case HC_OP_COPY: return "MEMCPY";
    case HC_OP_FILL: return "MEMSET";
    case HC_OP_HOST: return "HOST";
    case HC_OP_EMPTY: return "EMPTY";
    case HC_OP_RECORD: return "EVENT_RECORD";
    case HC_OP_WAIT: return "EVENT_WAIT";
    case HC_OP_ALLOC: return "MEM_ALLOC";
    case HC_OP_FREE: return "MEM_FREE";
    case HC_OP_CHILD: return "CHILD GRAPH";
    }
    return "";
}

/* Graphs are numbered in the order of traversal, so that the same graph prints the same text. */
static bool print_graph(FILE *file, const struct CUgraph_st *graph, unsigned *graphs)
{
    unsigned number = (*graphs)++;
    bool ok = fprintf(file, "subgraph cluster_%u {\nlabel=\"graph_%u\"\n", number, number) > 0;
    for (size_t i = 0; i < graph->count; i++)
        ok &= fprintf(file, "\"graph_%u_node_%zu\" [shape=\"octagon\" label=\"%zu\\n%s\"]\n", number, i, i,
                      label(graph->nodes[i]->op)) > 0;
    for (size_t i = 0; i < graph->count; i++) {
        const struct hc_nodes *before = &graph->nodes[i]->before;
        for (size_t k = 0; k < before->count; k++)
            ok &= fprintf(file, "\"graph_%u_node_%zu\" -> \"graph_%u_node_%zu\"\n", number, before->items[k]->index,
                          number, i) > 0;
    }
    ok &= fputs("}\n", file) >= 0;
    for (size_t i = 0; i < graph->count; i++)
        if (graph->nodes[i]->op->kind == HC_OP_CHILD)
            ok &= print_graph(file, graph->nodes[i]->op->child, graphs);
    return ok;
}

static cudaError_t print_file(const struct CUgraph_st *graph, const char *path)
{
    unsigned graphs = 0;
    FILE *file = fopen(path, "w");
    if (!file)
        return cudaErrorOperatingSystem;
    bool ok = fputs("digraph dot {\n", file) >= 0;
    ok &= print_graph(file, graph, &graphs);
    ok &= fputs("}\n", file) >= 0;
    return fclose(file) == 0 && ok ? cudaSuccess : cudaErrorOperatingSystem;
}

cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char *path, unsigned int flags)
{
    HC_THROUGH_DRIVER(cuGraphDebugDotPrint, graph, path, flags);
    (void)flags; /* selects details of a node; here only its name is printed */
    HC_CALL(hc_graph_is_handle(graph) && path ? print_file(graph, path) : cudaErrorInvalidValue);
}
