#include "marked_graph.h"

#include <stdlib.h>
#include <string.h>

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

bg_status bg__marked_node_describe(bg__marked_node *to, const bg__node *node, const bg__call *call)
{
    *to = (bg__marked_node){.name = strdup(call != NULL ? call->name : bg__node_kind(node)), .type = node->type};
    to->writeback = node->writeback;
    if (call != NULL)
        to->site = call->site;
    if (node->type == cudaGraphNodeTypeKernel && node->kernel != NULL)
        to->others = bg__kernel_waits_for_others(node->kernel->name);
    bg__grid_measure(node, &to->grid);
    return to->name != NULL ? BG_OK : bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the name of a node");
}

void bg__marked_node_free(bg__marked_node *node)
{
    free(node->name);
    node->name = NULL;
}

/* Nodes of child graphs count as part of the child graph's node. */
static bg_status describe_nodes(bg__marked_graph *marked, const bg_graph *graph, int segment)
{
    bg__nodes nodes = {.node = NULL};
    bg_status status;

    BG__TRY(bg__nodes_read(graph, &nodes));
    for (size_t i = 0; i < nodes.count; i++)
        if (nodes.node[i].segment == segment && nodes.node[i].parent < 0 && nodes.node[i].place < marked->count)
            BG__TRY(bg__marked_node_describe(&marked->node[nodes.node[i].place], &nodes.node[i], nodes.node[i].call));
    for (size_t i = 0; i < marked->count; i++)
        if (marked->node[i].name == NULL)
            BG__FAIL(BG_ERROR_UNSUPPORTED, "the copy of %s has other nodes than the graph", bg__graph_name(graph));
done:
    bg__nodes_free(&nodes);
    return status;
}

/* ---- edges ------------------------------------------------------------------------------------------------------ */

typedef struct node_index {
    cudaGraphNode_t node;
    size_t index;
} node_index;

static int compare_node_indexes(const void *a, const void *b)
{
    const node_index *x = a, *y = b;
    return (x->node > y->node) - (x->node < y->node);
}

static size_t find_node_index(const node_index *places, size_t count, cudaGraphNode_t node)
{
    const node_index key = {node, 0}, *found = bsearch(&key, places, count, sizeof key, compare_node_indexes);
    return found != NULL ? found->index : 0;
}

static bg_status read_edges(bg__marked_graph *marked, const cudaGraphNode_t *nodes)
{
    node_index *places = calloc(marked->count + 1, sizeof *places);
    bg__edges edges = {.count = 0};
    bg_status status = BG_OK;

    if (places == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu nodes", marked->count);
    for (size_t i = 0; i < marked->count; i++)
        places[i] = (node_index){nodes[i], i};
    qsort(places, marked->count, sizeof *places, compare_node_indexes);
    BG__TRY(bg__edges_list(&edges, marked->graph, nodes, marked->count));
    marked->edge = calloc(edges.count + 1, sizeof *marked->edge);
    if (marked->edge == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu edges", edges.count);
    for (size_t i = 0; i < edges.count; i++)
        marked->edge[i] = (struct bg__marked_edge){find_node_index(places, marked->count, edges.from[i]),
                                                   find_node_index(places, marked->count, edges.to[i])};
    marked->edges = edges.count;
done:
    bg__edges_free(&edges);
    free(places);
    return status;
}

/* ---- marks ------------------------------------------------------------------------------------------------------ */

static struct cudaMemsetParams mark_params(const bg__marked_graph *marked, size_t word, unsigned value, size_t words)
{
    return (struct cudaMemsetParams){.dst = (char *)marked->marks.device + word * sizeof(uint32_t),
                                     .elementSize = sizeof(uint32_t),
                                     .value = value,
                                     .width = words,
                                     .height = 1};
}

/* Adds a mark behind each node. Each node waits for the marks of the nodes that it depends on. Otherwise a kernel that
 * fills the device would delay the mark of an earlier node. */
static bg_status add_marks(bg__marked_graph *marked, cudaGraphNode_t *nodes, cudaGraphNode_t *marks)
{
    struct cudaMemsetParams params = mark_params(marked, BG__MARK_NODES, 0, marked->count);
    bool *waits = calloc(marked->count + 1, sizeof *waits);
    cudaGraphNode_t first;
    bg_status status = BG_OK;

    if (waits == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu marks", marked->count);
    for (size_t i = 0; i < marked->edges; i++)
        waits[marked->edge[i].to] = true;
    BG__TRY_CUDA(cudaGraphAddMemsetNode(&first, marked->graph, NULL, 0, &params));
    for (size_t i = 0; i < marked->count; i++) {
        params = mark_params(marked, BG__MARK_NODES + i, 1, 1);
        BG__TRY_CUDA(cudaGraphAddMemsetNode(&marks[i], marked->graph, &nodes[i], 1, &params));
        if (!waits[i])
            BG__TRY_CUDA(cudaGraphAddDependencies(marked->graph, &first, &nodes[i], NULL, 1));
    }
    for (size_t i = 0; i < marked->edges; i++)
        BG__TRY_CUDA(
            cudaGraphAddDependencies(marked->graph, &marks[marked->edge[i].from], &nodes[marked->edge[i].to], NULL, 1));
done:
    free(waits);
    return status;
}

/* ---- the copy --------------------------------------------------------------------------------------------------- */

/* The caller runs the write-backs: each replay sets their parameters in the program's executable graph, not in the
 * copy. */
static bg_status disable_writebacks(bg__marked_graph *marked, const cudaGraphNode_t *nodes)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < marked->count; i++)
        if (marked->node[i].writeback)
            BG__TRY_CUDA(cudaGraphNodeSetEnabled(marked->exec, nodes[i], 0));
done:
    return status;
}

static bg_status make_copy(bg__marked_graph *marked, const bg_graph *graph, int segment, cudaGraph_t source)
{
    cudaGraphNode_t *nodes = calloc(2 * marked->count + 2, sizeof *nodes);
    bg_status status;

    if (nodes == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu nodes", marked->count);
    BG__TRY_CUDA(cudaGraphClone(&marked->graph, source));
    if (marked->count > 0)
        BG__TRY_CUDA(cudaGraphGetNodes(marked->graph, nodes, &marked->count));
    BG__TRY(describe_nodes(marked, graph, segment));
    BG__TRY(read_edges(marked, nodes));
    if (marked->count > 0)
        BG__TRY(add_marks(marked, nodes, nodes + marked->count));
    BG__TRY_CUDA(cudaGraphInstantiateWithFlags(&marked->exec, marked->graph, 0));
    BG__TRY(disable_writebacks(marked, nodes));
done:
    free(nodes);
    return status;
}

static void destroy_copy(bg__marked_graph *marked)
{
    if (marked->exec != NULL)
        BG__RELEASE(cudaGraphExecDestroy(marked->exec));
    if (marked->graph != NULL)
        BG__RELEASE(cudaGraphDestroy(marked->graph));
    for (size_t i = 0; i < marked->count && marked->node != NULL; i++)
        bg__marked_node_free(&marked->node[i]);
    free(marked->node);
    free(marked->edge);
    *marked = (bg__marked_graph){.marks = marked->marks};
}

bg_status bg__marked_graph_create(bg__marked_graph *marked, const bg_graph *graph, int segment, cudaGraph_t source)
{
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    size_t count = 0;
    bg_status status;

    *marked = (bg__marked_graph){.exec = NULL};
    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    if (source != NULL)
        BG__TRY_CUDA(cudaGraphGetNodes(source, NULL, &count));
    BG__TRY(bg__marks_acquire(BG__MARK_NODES + (count <= BG__MARKED_NODES_MAX ? count : 0), &marked->marks));
    if (count > BG__MARKED_NODES_MAX)
        BG__FAIL(BG_ERROR_UNSUPPORTED, "it has %zu nodes; at most %d can be followed one by one", count,
                 BG__MARKED_NODES_MAX);
    if (source == NULL)
        goto done;
    marked->node = calloc(count + 1, sizeof *marked->node);
    if (marked->node == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu nodes", count);
    marked->count = count;
    status = make_copy(marked, graph, segment, source);
    if (status != BG_OK)
        destroy_copy(marked);
done:
    bg__relaxed_mode_end(relaxed);
    return status;
}

void bg__marked_graph_free(bg__marked_graph *marked)
{
    destroy_copy(marked);
    bg__marks_release(&marked->marks);
}
