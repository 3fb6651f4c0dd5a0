/* The nodes and edges of a segment that has just ended. */
#include "compile/compile.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int compare_handles(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct bg__piece_handle *)a)->node,
              y = (uintptr_t)((const struct bg__piece_handle *)b)->node;
    return (x > y) - (x < y);
}

size_t bg__piece_find_node(const bg__piece *piece, cudaGraphNode_t node)
{
    struct bg__piece_handle wanted = {node, 0};
    const struct bg__piece_handle *found =
        bsearch(&wanted, piece->handles, piece->count, sizeof wanted, compare_handles);
    return found != NULL ? found->place : piece->count;
}

static bg_status allocate_nodes(bg__piece *piece)
{
    size_t room = piece->count + 1;

    piece->nodes = calloc(room, sizeof *piece->nodes);
    piece->handles = calloc(room, sizeof *piece->handles);
    piece->before = calloc(room, sizeof *piece->before);
    piece->after = calloc(room, sizeof *piece->after);
    piece->previous = calloc(room, sizeof *piece->previous);
    piece->next = calloc(room, sizeof *piece->next);
    piece->no_op = calloc(room, sizeof *piece->no_op);
    piece->kept = calloc(room, sizeof *piece->kept);
    if (piece->nodes == NULL || piece->handles == NULL || piece->before == NULL || piece->after == NULL ||
        piece->previous == NULL || piece->next == NULL || piece->no_op == NULL || piece->kept == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu nodes", piece->count);
    return BG_OK;
}

static void count_edge(bg__piece *piece, size_t edge)
{
    const bg__edges *edges = &piece->edges;
    bool chained =
        edge + 1 < piece->count && edges->from[edge] == piece->nodes[edge] && edges->to[edge] == piece->nodes[edge + 1];
    size_t from = chained ? edge : bg__piece_find_node(piece, edges->from[edge]);
    size_t to = chained ? edge + 1 : bg__piece_find_node(piece, edges->to[edge]);

    piece->unordered |= from > to;
    piece->after[from]++;
    piece->before[to]++;
    piece->previous[to] = from;
    piece->next[from] = to;
}

static bg_status read_types(bg__piece *piece)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < piece->count; i++) {
        enum cudaGraphNodeType type;
        BG__TRY_CUDA(cudaGraphNodeGetType(piece->nodes[i], &type));
        piece->kept[i] = type != cudaGraphNodeTypeKernel && type != cudaGraphNodeTypeMemcpy &&
                         type != cudaGraphNodeTypeMemset && type != cudaGraphNodeTypeEmpty;
        piece->memory |= type == cudaGraphNodeTypeMemAlloc || type == cudaGraphNodeTypeMemFree;
    }
done:
    return status;
}

bg_status bg__piece_read_graph(bg__piece *piece)
{
    bg_status status;

    if (piece->read)
        return BG_OK;
    piece->read = true;
    piece->count = piece->segment->nodes;
    BG__TRY(allocate_nodes(piece));
    if (piece->count > 0)
        BG__TRY_CUDA(cudaGraphGetNodes(piece->segment->graph, piece->nodes, &piece->count));
    for (size_t i = 0; i < piece->count; i++)
        piece->handles[i] = (struct bg__piece_handle){piece->nodes[i], i};
    qsort(piece->handles, piece->count, sizeof *piece->handles, compare_handles);
    BG__TRY(bg__edges_list(&piece->edges, piece->segment->graph, piece->nodes, piece->count));
    for (size_t i = 0; i < piece->edges.count; i++)
        count_edge(piece, i);
    BG__TRY(read_types(piece));
done:
    return status;
}

void bg__piece_free(bg__piece *piece)
{
    free(piece->nodes);
    free(piece->handles);
    free(piece->before);
    free(piece->after);
    free(piece->previous);
    free(piece->next);
    free(piece->no_op);
    free(piece->kept);
    bg__edges_free(&piece->edges);
}

/* ---- public accessors ---- */

cudaGraph_t bg_piece_graph(const bg_piece *piece)
{
    return piece->segment->graph;
}

const char *bg_piece_name(const bg_piece *piece)
{
    return piece->name;
}

int bg_piece_calls(const bg_piece *piece)
{
    return piece->capture->inlined_count;
}

size_t bg_piece_nodes(const bg_piece *piece)
{
    return piece->segment->nodes;
}

int bg__call_rows(const bg__call *call)
{
    bg__output output = {0};
    const bg_tensor *tensor = bg__output_next(call->op, &output) ? bg__output_tensor(&output, call->kept) : NULL;
    if (tensor == NULL || tensor->rank < 1)
        return 1;
    return tensor->dim[0] < INT_MAX ? (int)tensor->dim[0] : INT_MAX;
}

int bg_piece_rows(const bg_piece *piece)
{
    return piece->capture->inlined_count > 0 ? bg__call_rows(piece->capture->inlined[0]) : 1;
}
