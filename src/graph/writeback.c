/* Write-backs: a body may leave an output at another address than the one that the graph reads; a write-back copies it.
 *
 * A separate copy between two launches costs as much as a launch. So the copies of a call at a break become the first
 * node of the next segment, before its forks. If a body leaves an output at another address or with another extent, the
 * replay updates that node of the executable graph; if all outputs are in place, it disables the node. The node is one
 * kernel that does all copies of the call at once: updating it costs less than updating memcpy nodes (tests/bench). No
 * copy reads what another one writes: outputs.c checks that. A copy is a COPY step instead if the segment has no other
 * work, or the memory is not device memory. */
#include "kernels/library/rows.h"

#include "graph/graph.h"

#include <cuda.h>
#include <stdlib.h>

/* The node. The rows are the kernel's argument; a copy that is not done has an empty row. */
struct bg__writeback_node {
    struct bg__writeback_node *next; /* of the same eager call */
    cudaGraphNode_t node;
    int segment; /* -1: none, the copies are COPY steps */
    int count;
    bool enabled, changed; /* changed: the rows have changed since the node was updated */
    cudaGraphExec_t exec;
    CUresult (*update)(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *params);
    CUDA_KERNEL_NODE_PARAMS params;
    void *argument; /* the rows */
    bgk_rows rows[];
};

static bgk_rows make_rows(const bg__output_copy *move)
{
    return (bgk_rows){.target = move->target,
                      .source = move->source,
                      .copied = move->bytes,
                      .tail = move->tail,
                      .row = 1,
                      .kind = BGK_TAIL_PATTERN};
}

/* Clears *on_device unless kernels of that device can access ptr, whoever allocated it. */
static bg_status check_device_memory(const void *ptr, int device, bool *on_device)
{
    bg__pointer_attributes place;
    bg_status status;
    BG__TRY(bg__pointer_get_attributes(ptr, &place));
    *on_device &= place.managed || (place.type == CU_MEMORYTYPE_DEVICE && place.device == device);
done:
    return status;
}

/* ---- at capture ---- */

static bg_status add_copy_step(bg_graph *graph, bg__writeback_copy *copy, cudaStream_t stream)
{
    bg_status status;
    BG__TRY(bg__graph_add_step(graph, (bg__step){.kind = BG__STEP_COPY, .of.copy = copy}));
    BG__TRY(bg__output_copy_run(&copy->move, stream));
done:
    return status;
}

bg_status bg__writeback_add(bg_graph *graph, bg__writeback_copy **list, bg__writeback_copy *copy, cudaStream_t stream)
{
    bool foldable = true;
    bg_status status = BG_OK;

    copy->device = graph->device;
    if (copy->move.source != NULL)
        BG__TRY(check_device_memory(copy->move.source, copy->device, &foldable));
    BG__TRY(check_device_memory(copy->move.target, copy->device, &foldable));
    if (!foldable)
        return add_copy_step(graph, copy, stream);
    while (*list != NULL)
        list = &(*list)->next;
    *list = copy;
done:
    return status;
}

/* Finds the last node of the stream, which the caller has just captured. */
static bg_status find_last_node(cudaStream_t stream, cudaGraphNode_t *node)
{
    enum cudaStreamCaptureStatus capturing;
    const cudaGraphNode_t *nodes = NULL;
    size_t count = 0;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaStreamGetCaptureInfo(stream, &capturing, NULL, NULL, &nodes, NULL, &count));
    if (capturing != cudaStreamCaptureStatusActive || count != 1)
        return bg__fail(BG_ERROR_CAPTURE_INVALID, "a write-back left no node in the capture");
    *node = nodes[0];
done:
    return status;
}

/* Captures one node with the next copies, as many as one kernel takes; *copy becomes the first copy after them. */
static bg_status capture_writeback_node(bg__writeback_copy **copy, cudaStream_t stream)
{
    const bg__call *call = (*copy)->eager->call;
    bg__writeback_node *fold = calloc(1, sizeof *fold + BGK_ROWS_MAX * sizeof fold->rows[0]);
    bg_status status = BG_OK;
    cudaError_t error;

    if (fold == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the write-backs of %s", call->name);
    fold->next = (*copy)->eager->writeback_nodes;
    (*copy)->eager->writeback_nodes = fold;
    fold->segment = -1;
    fold->enabled = true;
    for (; *copy != NULL && fold->count < BGK_ROWS_MAX; *copy = (*copy)->next) {
        (*copy)->fold = fold;
        (*copy)->place = fold->count;
        fold->rows[fold->count++] = make_rows(&(*copy)->move);
    }
    error = bgk_move_rows(fold->rows, fold->count, stream);
    if (error != cudaSuccess) {
        status = bg__fail_cuda(error, "cudaLaunchKernelExC");
        bg__error_add_location("the kernel that writes the outputs of %s back", call->name);
        goto done;
    }
    BG__TRY(find_last_node(stream, &fold->node));
done:
    return status;
}

bg_status bg__writeback_capture(bg__writeback_copy *list, cudaStream_t stream)
{
    bg_status status = BG_OK;
    while (list != NULL)
        BG__TRY(capture_writeback_node(&list, stream));
done:
    return status;
}

bool bg__writeback_is_whole_segment(const bg__writeback_copy *list, size_t nodes)
{
    size_t count = 0;
    for (; list != NULL; list = list->next)
        count += list->place == 0;
    return count > 0 && nodes == count;
}

bg_status bg__writeback_make_steps(bg_graph *graph, bg__writeback_copy **list, cudaStream_t stream)
{
    bg_status status = BG_OK;
    while (*list != NULL) {
        bg__writeback_copy *copy = *list;
        *list = copy->next;
        copy->next = NULL;
        copy->fold = NULL;
        BG__TRY(add_copy_step(graph, copy, stream));
    }
done:
    return status;
}

void bg__writeback_set_segment(bg__writeback_copy **list, int segment)
{
    bg__writeback_copy *next;
    for (bg__writeback_copy *copy = *list; copy != NULL; copy = next) {
        next = copy->next;
        copy->next = NULL;
        copy->fold->segment = segment;
        copy->enabled = true;
    }
    *list = NULL;
}

static bg_status prepare_node_update(const bg_graph *graph, bg__writeback_node *fold)
{
    CUresult (*get_params)(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS * params) = NULL;
    bg_status status;

    BG__TRY(bg__driver_get_entry_point("cuGraphKernelNodeGetParams", 12000, (void *)&get_params));
    BG__TRY(bg__driver_get_entry_point("cuGraphExecKernelNodeSetParams", 12000, (void *)&fold->update));
    BG__TRY_DRIVER("cuGraphKernelNodeGetParams", get_params(fold->node, &fold->params));
    fold->exec = graph->segments[fold->segment].exec;
    fold->argument = fold->rows;
    fold->params.kernelParams = &fold->argument;
done:
    return status;
}

static int compare_entries(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const bg__writeback_entry *)a)->node,
              y = (uintptr_t)((const bg__writeback_entry *)b)->node;
    return (x > y) - (x < y);
}

bg_status bg__writeback_prepare_updates(bg_graph *graph)
{
    size_t capacity = 0;
    bg_status status = BG_OK;

    for (const bg__eager_call *eager = graph->eagers; eager != NULL; eager = eager->previous)
        for (bg__writeback_node *fold = eager->writeback_nodes; fold != NULL; fold = fold->next) {
            if (fold->segment < 0)
                continue;
            BG__TRY(prepare_node_update(graph, fold));
            BG__TRY(BG__ARRAY_GROW(graph->folded, graph->folded_count, capacity, "write-backs"));
            graph->folded[graph->folded_count++] = (bg__writeback_entry){fold->node, eager, fold};
        }
    if (graph->folded_count > 0)
        qsort(graph->folded, graph->folded_count, sizeof *graph->folded, compare_entries);
done:
    return status;
}

void bg__writeback_free(bg__writeback_node *writeback_nodes)
{
    while (writeback_nodes != NULL) {
        bg__writeback_node *fold = writeback_nodes;
        writeback_nodes = fold->next;
        free(fold);
    }
}

/* ---- in replays ---- */

/* Clears the copy's row, and queues the copy on stream if it is needed. */
static bg_status copy_outside_node(bg__writeback_copy *copy, const bg__output_copy *move, cudaStream_t stream,
                                   bool *steady)
{
    *steady = false;
    if (copy->enabled) {
        copy->enabled = false;
        copy->fold->rows[copy->place] = (bgk_rows){.kind = BGK_TAIL_PATTERN};
        copy->fold->changed = true;
    }
    bg__foreign_error_forget();
    return bg__output_copy_run(move, stream);
}

bg_status bg__writeback_update_copy(bg__writeback_copy *copy, const bg__output_copy *move, cudaStream_t stream,
                                    bool *steady)
{
    const bg__output_copy *held = &copy->move;
    bg_status status = BG_OK;
    bool fits = true;

    if (copy->fold == NULL) {
        copy->move = *move;
        return BG_OK;
    }
    if (!bg__output_copy_is_needed(move))
        return copy_outside_node(copy, move, stream, steady);
    if (copy->enabled && held->source == move->source && held->target == move->target && held->bytes == move->bytes &&
        held->tail == move->tail)
        return BG_OK;
    if (move->source != NULL && move->source != held->source)
        BG__TRY(check_device_memory(move->source, copy->device, &fits));
    if (move->target != held->target)
        BG__TRY(check_device_memory(move->target, copy->device, &fits));
    if (!fits)
        return copy_outside_node(copy, move, stream, steady);
    copy->move = *move;
    copy->enabled = true;
    copy->fold->rows[copy->place] = make_rows(move);
    copy->fold->changed = true;
done:
    return status;
}

static bg_status set_node_enabled(bg__writeback_node *fold, bool on)
{
    bg_status status = BG_OK;
    if (fold->enabled == on)
        return BG_OK;
    bg__foreign_error_forget();
    BG__TRY_CUDA(cudaGraphNodeSetEnabled(fold->exec, fold->node, on));
    fold->enabled = on;
done:
    return status;
}

static bool any_row_enabled(const bg__writeback_node *fold)
{
    for (int i = 0; i < fold->count; i++)
        if (fold->rows[i].copied + fold->rows[i].tail > 0)
            return true;
    return false;
}

/* CUDA failed to update the node: queues all its copies on stream. */
static bg_status copy_all_outside_node(bg__eager_call *eager, const bg__writeback_node *fold, cudaStream_t stream,
                                       bool *steady)
{
    bg_status status = BG_OK;
    for (int i = 0; i < eager->outputs; i++) {
        bg__writeback_copy *copy = eager->copies[i];
        if (copy != NULL && copy->fold == fold && copy->enabled)
            BG__TRY(copy_outside_node(copy, &copy->move, stream, steady));
    }
done:
    return status;
}

bg_status bg__writeback_update_nodes(bg__eager_call *eager, cudaStream_t stream, bool *steady)
{
    bg_status status = BG_OK;
    for (bg__writeback_node *fold = eager->writeback_nodes; fold != NULL; fold = fold->next) {
        bool on;
        if (!fold->changed)
            continue;
        on = any_row_enabled(fold);
        fold->params.gridDimX = bgk_rows_blocks(fold->rows, fold->count);
        if (on && fold->update(fold->exec, fold->node, &fold->params) != CUDA_SUCCESS) {
            BG__TRY(copy_all_outside_node(eager, fold, stream, steady));
            on = false;
        }
        BG__TRY(set_node_enabled(fold, on));
        fold->changed = false;
    }
done:
    return status;
}

const bg__writeback_entry *bg__writeback_find_node(const bg_graph *graph, cudaGraphNode_t node)
{
    const bg__writeback_entry wanted = {.node = node};
    if (graph->folded_count == 0)
        return NULL;
    return bsearch(&wanted, graph->folded, graph->folded_count, sizeof wanted, compare_entries);
}

bool bg__writeback_is_enabled(const bg__writeback_node *fold)
{
    return fold->enabled;
}
