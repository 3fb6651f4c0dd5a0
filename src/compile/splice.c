/* Puts ops into a segment's graph in place of runs of calls. While a stream captures into a graph, CUDA lets nodes be
 * added but not removed. So one capture adds all ops, each after its run's dependencies, and the runs' nodes are
 * removed afterwards. */
#include "compile/compile.h"

#include <stdlib.h>
#include <string.h>

/* A set of nodes: a run's dependencies, or the last nodes of its op. */
typedef struct nodes {
    cudaGraphNode_t *list;
    size_t count, capacity;
} nodes;

/* An op in the graph. */
typedef struct placed_op {
    bg__fusion *run;
    nodes last;
} placed_op;

/* A node of an op. */
typedef struct made {
    cudaGraphNode_t node;
    const bg__call *run;
} made;

typedef struct splice {
    const bg__piece *piece;
    placed_op *list; /* in order of the pass */
    size_t count;
    size_t *placed_at; /* by node of the piece: 1 + the index in list of the applied run that has it; 0: none */
    made *made;
    size_t made_count, made_capacity;
} splice;

static bg_status add_node(nodes *to, cudaGraphNode_t node)
{
    bg_status status;

    for (size_t i = 0; i < to->count; i++)
        if (to->list[i] == node)
            return BG_OK;
    BG__TRY(BG__ARRAY_GROW(to->list, to->count, to->capacity, "nodes"));
    to->list[to->count++] = node;
done:
    return status;
}

/* Adds the node itself, or the last nodes of the op that replaces it. */
static bg_status add_replacement_nodes(const splice *s, nodes *to, size_t place)
{
    const placed_op *at = s->placed_at[place] > 0 ? &s->list[s->placed_at[place] - 1] : NULL;
    bg_status status = BG_OK;

    if (at == NULL)
        return add_node(to, s->piece->nodes[place]);
    for (size_t i = 0; i < at->last.count; i++)
        BG__TRY(add_node(to, at->last.list[i]));
done:
    return status;
}

/* A run's dependencies come before it in the pass, so that their ops are already in the graph. */
static bg_status list_dependencies(const splice *s, const bg__fusion *run, nodes *before)
{
    const bg__piece *piece = s->piece;
    bg_status status = BG_OK;

    if (piece->before[run->first] == 1)
        return add_replacement_nodes(s, before, piece->previous[run->first]);
    for (size_t i = 0; piece->before[run->first] > 1 && i < piece->edges.count; i++)
        if (piece->edges.to[i] == piece->nodes[run->first])
            BG__TRY(add_replacement_nodes(s, before, bg__piece_find_node(piece, piece->edges.from[i])));
done:
    return status;
}

/* ---- the ops ---- */

static bg_status read_capture_dependencies(cudaStream_t stream, nodes *last)
{
    enum cudaStreamCaptureStatus capturing;
    const cudaGraphNode_t *list = NULL;
    size_t count = 0;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaStreamGetCaptureInfo(stream, &capturing, NULL, NULL, &list, NULL, &count));
    if (capturing != cudaStreamCaptureStatusActive)
        BG__FAIL(BG_ERROR_CAPTURE_INVALID, "the body made a call that CUDA forbids during capture");
    for (size_t i = 0; i < count; i++)
        BG__TRY(add_node(last, list[i]));
done:
    return status;
}

static bool has_node(const nodes *of, cudaGraphNode_t node)
{
    for (size_t i = 0; i < of->count; i++)
        if (of->list[i] == node)
            return true;
    return false;
}

/* Adds a node unless it is known. Nodes of the piece and of earlier ops are known: the op may have edges to them that
 * other edges make redundant. */
static bg_status add_op_node(splice *s, cudaGraphNode_t node, const bg__call *run)
{
    bool known = bg__piece_find_node(s->piece, node) < s->piece->count;
    bg_status status = BG_OK;

    for (size_t i = 0; i < s->made_count && !known; i++)
        known = s->made[i].node == node;
    if (known)
        return BG_OK;
    BG__TRY(BG__ARRAY_GROW(s->made, s->made_count, s->made_capacity, "nodes"));
    s->made[s->made_count++] = (made){node, run};
done:
    return status;
}

static bg_status add_dependency_nodes(splice *s, cudaGraphNode_t node, const bg__call *run)
{
    cudaGraphNode_t *list = NULL;
    cudaGraphEdgeData *data = NULL; /* without room for it CUDA lists no edges of special kinds */
    size_t count = 0;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaGraphNodeGetDependencies(node, NULL, NULL, &count));
    if (count == 0)
        goto done;
    list = calloc(count, sizeof(cudaGraphNode_t));
    data = calloc(count, sizeof *data);
    if (list == NULL || data == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu edges", count);
    BG__TRY_CUDA(cudaGraphNodeGetDependencies(node, list, data, &count));
    for (size_t i = 0; i < count; i++)
        BG__TRY(add_op_node(s, list[i], run));
done:
    free(list);
    free(data);
    return status;
}

/* Lists the nodes of an op, from its last ones back to its dependencies. */
static bg_status list_op_nodes(splice *s, const placed_op *at)
{
    size_t first = s->made_count;
    bg_status status = BG_OK;

    for (size_t i = 0; i < at->last.count; i++)
        BG__TRY(add_op_node(s, at->last.list[i], at->run->call));
    for (size_t i = first; i < s->made_count; i++)
        BG__TRY(add_dependency_nodes(s, s->made[i].node, at->run->call));
    at->run->call->first_node = (long)first; /* equal: the op has left no work */
    at->run->call->end_node = (long)s->made_count;
done:
    return status;
}

static bg_status capture_op(splice *s, placed_op *at)
{
    const bg_capture *capture = s->piece->capture;
    bg__fusion *run = at->run;
    nodes before = {NULL, 0, 0};
    bg_status status;

    BG__TRY(bg__call_add_run(run->calls, run->rule->count, run->rule->op, run->name, &run->call));
    run->call->tolerance = run->rule->attributes_.tolerance;
    BG__TRY(list_dependencies(s, run, &before));
    BG__TRY_CUDA(cudaStreamUpdateCaptureDependencies(capture->origin, before.list, NULL, before.count,
                                                     cudaStreamSetCaptureDependencies));
    run->call->kept = run->call->want;
    BG__TRY(bg__call_run(run->call, run->rule->op->body, run->args, capture->origin));
    bg__foreign_error_note(); /* the body may have left an error of its own */
    run->call->stream = run->calls[0]->stream;
    BG__TRY(bg__owned_add(&capture->graph->owned, run->args, free)); /* a memcpy node may read them */
    run->args = NULL;
    BG__TRY(read_capture_dependencies(capture->origin, &at->last));
    BG__TRY(list_op_nodes(s, at));
done:
    free(before.list);
    if (status != BG_OK)
        bg__error_add_location("%s", run->name);
    return status;
}

static bg_status capture_ops(splice *s)
{
    const bg_capture *capture = s->piece->capture;
    cudaError_t error;
    bg_status status = BG_OK;

    bg__capturing_streams_enter();
    BG__TRY_CUDA(
        cudaStreamBeginCaptureToGraph(capture->origin, s->piece->segment->graph, NULL, NULL, 0, capture->options.mode));
    for (size_t i = 0; i < s->count && status == BG_OK; i++)
        status = capture_op(s, &s->list[i]);
    error =
        bg__stream_end_capture(capture->origin, &s->piece->segment->graph); /* the same graph; NULL after an error */
    if (status != BG_OK)
        bg__clear_cuda_error(error);
    else if (error != cudaSuccess)
        status = bg__fail_cuda(error, "cudaStreamEndCapture");
done:
    bg__capturing_streams_leave();
    return status;
}

/* ---- dependents ---- */

static bg_status add_edges_to_node(const splice *s, const placed_op *at, cudaGraphNode_t to)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < at->last.count; i++)
        BG__TRY_CUDA(cudaGraphAddDependencies(s->piece->segment->graph, &at->last.list[i], &to, NULL, 1));
done:
    return status;
}

/* Adds edges from the op to those dependents of the run that are not themselves replaced by ops; a replacing op already
 * has the edges from its dependencies. */
static bg_status connect_dependents(const splice *s, const placed_op *at)
{
    const bg__piece *piece = s->piece;
    size_t tail = at->run->end - 1;
    bg_status status = BG_OK;

    if (piece->after[tail] == 1)
        return s->placed_at[piece->next[tail]] > 0 ? BG_OK : add_edges_to_node(s, at, piece->nodes[piece->next[tail]]);
    for (size_t i = 0; piece->after[tail] > 1 && i < piece->edges.count; i++)
        if (piece->edges.from[i] == piece->nodes[tail] &&
            s->placed_at[bg__piece_find_node(piece, piece->edges.to[i])] == 0)
            BG__TRY(add_edges_to_node(s, at, piece->edges.to[i]));
done:
    return status;
}

static bg_status remove_fused_nodes(const splice *s)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < s->piece->count; i++)
        if (s->placed_at[i] > 0)
            BG__TRY_CUDA(cudaGraphDestroyNode(s->piece->nodes[i]));
done:
    return status;
}

/* ---- no-ops ---- */

typedef cudaError_t (*neighbours)(cudaGraphNode_t node, cudaGraphNode_t *list, cudaGraphEdgeData *data, size_t *count);

static bg_status read_neighbours(neighbours read, const char *call, cudaGraphNode_t node, nodes *found)
{
    cudaGraphEdgeData *data = NULL; /* as above */
    size_t count = 0;
    cudaError_t error = read(node, NULL, NULL, &count);
    bg_status status = BG_OK;

    if (error != cudaSuccess)
        return bg__fail_cuda(error, call);
    found->list = calloc(count + 1, sizeof(cudaGraphNode_t));
    data = calloc(count + 1, sizeof *data);
    if (found->list == NULL || data == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu edges", count);
    error = count > 0 ? read(node, found->list, data, &count) : cudaSuccess;
    if (error != cudaSuccess)
        status = bg__fail_cuda(error, call);
    found->count = count;
done:
    free(data);
    return status;
}

static bg_status add_edge_once(const splice *s, cudaGraphNode_t from, cudaGraphNode_t to)
{
    nodes before = {NULL, 0, 0};
    bg_status status;

    BG__TRY(read_neighbours(cudaGraphNodeGetDependencies, "cudaGraphNodeGetDependencies", to, &before));
    if (!has_node(&before, from))
        BG__TRY_CUDA(cudaGraphAddDependencies(s->piece->segment->graph, &from, &to, NULL, 1));
done:
    free(before.list);
    return status;
}

/* Connects the node's dependents to its dependencies, and removes it. With several of both it stays, since it saves
 * edges. */
static bg_status remove_no_op(const splice *s, cudaGraphNode_t node)
{
    nodes before = {NULL, 0, 0}, after = {NULL, 0, 0};
    bg_status status;

    BG__TRY(read_neighbours(cudaGraphNodeGetDependencies, "cudaGraphNodeGetDependencies", node, &before));
    BG__TRY(read_neighbours(cudaGraphNodeGetDependentNodes, "cudaGraphNodeGetDependentNodes", node, &after));
    if (before.count > 1 && after.count > 1)
        goto done;
    for (size_t i = 0; i < before.count; i++)
        for (size_t k = 0; k < after.count; k++)
            BG__TRY(add_edge_once(s, before.list[i], after.list[k]));
    BG__TRY_CUDA(cudaGraphDestroyNode(node));
done:
    free(before.list);
    free(after.list);
    return status;
}

static bg_status remove_no_ops(const splice *s)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < s->piece->count; i++)
        if (s->piece->no_op[i] && s->placed_at[i] == 0)
            BG__TRY(remove_no_op(s, s->piece->nodes[i]));
done:
    return status;
}

/* ---- where each node comes from ---- */

static int compare_op_nodes(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const made *)a)->node, y = (uintptr_t)((const made *)b)->node;
    return (x > y) - (x < y);
}

static bg__node_origin find_origin(const splice *s, cudaGraphNode_t node)
{
    const made wanted = {node, NULL};
    const made *found =
        s->made_count > 0 ? bsearch(&wanted, s->made, s->made_count, sizeof wanted, compare_op_nodes) : NULL;
    return found != NULL ? (bg__node_origin){0, found->run}
                         : (bg__node_origin){bg__piece_find_node(s->piece, node), NULL};
}

static bg_status record_origins(splice *s)
{
    bg__segment *segment = s->piece->segment;
    cudaGraphNode_t *list = NULL;
    size_t count = 0;
    bg_status status = BG_OK;

    BG__TRY(bg__graph_list_nodes(segment->graph, &list, &count));
    segment->origins = calloc(count + 1, sizeof *segment->origins);
    if (segment->origins == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu nodes", count);
    if (s->made_count > 0)
        qsort(s->made, s->made_count, sizeof *s->made, compare_op_nodes);
    for (size_t i = 0; i < count; i++)
        segment->origins[i] = find_origin(s, list[i]);
    segment->nodes_at_capture = s->piece->count;
    segment->nodes = count;
done:
    free(list);
    return status;
}

/* ---- all of it ---- */

static int compare_placed_ops(const void *a, const void *b)
{
    size_t x = ((const placed_op *)a)->run->first, y = ((const placed_op *)b)->run->first;
    return (x > y) - (x < y);
}

static bg_status list_applied_fusions(splice *s)
{
    const bg__compiled *compiled = s->piece->compiled;
    int runs = compiled->run_count - s->piece->first_run;

    s->list = calloc((size_t)runs + 1, sizeof *s->list);
    s->placed_at = calloc(s->piece->count + 1, sizeof *s->placed_at);
    if (s->list == NULL || s->placed_at == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %d runs of calls", runs);
    for (int i = s->piece->first_run; i < compiled->run_count; i++)
        if (compiled->runs[i].state == BG_FUSION_APPLIED)
            s->list[s->count++].run = &compiled->runs[i];
    if (s->count > 0)
        qsort(s->list, s->count, sizeof *s->list, compare_placed_ops);
    for (size_t i = 0; i < s->count; i++)
        for (size_t node = s->list[i].run->first; node < s->list[i].run->end; node++)
            s->placed_at[node] = i + 1;
    return BG_OK;
}

bg_status bg__splice_ops(const bg__piece *piece)
{
    splice s = {.piece = piece};
    bool any = false;
    bg_status status;

    for (size_t i = 0; i < piece->count && !any; i++)
        any = piece->no_op[i];
    BG__TRY(list_applied_fusions(&s));
    if (s.count == 0 && !any)
        goto done;
    if (s.count > 0)
        BG__TRY(capture_ops(&s));
    for (size_t i = 0; i < s.count; i++)
        BG__TRY(connect_dependents(&s, &s.list[i]));
    BG__TRY(remove_fused_nodes(&s));
    BG__TRY(remove_no_ops(&s));
    BG__TRY(record_origins(&s));
done:
    for (size_t i = 0; i < s.count; i++)
        free(s.list[i].last.list);
    free(s.list);
    free(s.placed_at);
    free(s.made);
    return status;
}
