/* Write-backs: results that a body leaves elsewhere than where the graph reads them.
 *
 * A copy of its own between two launches costs as much as a launch. So the copies of a call at a break become the first
 * nodes of the next segment, before its forks; where the body answers with another address or extent, a replay changes
 * the node of the executable graph, and where it wrote in place, switches it off. A copy is a step of its own where
 * nothing else follows in the segment, or the memory is not the device's. */
#include "capture/capture.h"

static bg_status check_device_memory(const void *ptr, bool *on_device)
{
    struct cudaPointerAttributes attributes;
    bg_status status = BG_OK;
    BG__TRY_CUDA(cudaPointerGetAttributes(&attributes, ptr));
    *on_device &= attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
done:
    return status;
}

/* ---- at capture ---- */

static bg_status add_step(bg_capture *capture, bg__copy *copy)
{
    bg_status status;
    BG__TRY(bg__graph_add_step(capture->graph, (bg__step){.kind = BG__COPY, .of.copy = copy}));
    BG__TRY(bg__move_run(&copy->move, capture->origin));
done:
    return status;
}

bg_status bg__writeback_add(bg_capture *capture, bg__copy *copy)
{
    bg__copy **end = &capture->writebacks;
    bool foldable = copy->move.source != NULL && copy->move.tail == 0;
    bg_status status = BG_OK;

    if (foldable)
        BG__TRY(check_device_memory(copy->move.source, &foldable));
    if (foldable)
        BG__TRY(check_device_memory(copy->move.target, &foldable));
    if (!foldable)
        return add_step(capture, copy);
    while (*end != NULL)
        end = &(*end)->next;
    *end = copy;
done:
    return status;
}

/* The last node of the origin, which the call before has added. */
static bg_status last_node(cudaStream_t origin, cudaGraphNode_t *node)
{
    enum cudaStreamCaptureStatus capturing;
    const cudaGraphNode_t *nodes = NULL;
    size_t count = 0;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaStreamGetCaptureInfo(origin, &capturing, NULL, NULL, &nodes, NULL, &count));
    if (capturing != cudaStreamCaptureStatusActive || count != 1)
        return bg__fail(BG_ERROR_CAPTURE_INVALID, "a write-back left no node in the capture");
    *node = nodes[0];
done:
    return status;
}

bg_status bg__writeback_capture(bg_capture *capture)
{
    bg_status status = BG_OK;
    for (bg__copy *copy = capture->writebacks; copy != NULL; copy = copy->next) {
        BG__TRY(bg__move_run(&copy->move, capture->origin));
        BG__TRY(last_node(capture->origin, &copy->node));
    }
done:
    return status;
}

bool bg__writeback_alone(const bg_capture *capture, size_t nodes)
{
    size_t count = 0;
    for (const bg__copy *copy = capture->writebacks; copy != NULL; copy = copy->next)
        count++;
    return count > 0 && nodes == count;
}

bg_status bg__writeback_unfold(bg_capture *capture)
{
    bg_status status = BG_OK;
    while (capture->writebacks != NULL) {
        bg__copy *copy = capture->writebacks;
        capture->writebacks = copy->next;
        copy->next = NULL;
        copy->node = NULL;
        BG__TRY(add_step(capture, copy));
    }
done:
    return status;
}

void bg__writeback_fold(bg_capture *capture, int segment)
{
    bg__copy *next;
    for (bg__copy *copy = capture->writebacks; copy != NULL; copy = next) {
        next = copy->next;
        copy->next = NULL;
        copy->segment = segment;
        copy->folded = copy->enabled = true;
    }
    capture->writebacks = NULL;
}

void bg__writeback_bind(const bg_graph *graph)
{
    for (const bg__eager *eager = graph->eagers; eager != NULL; eager = eager->previous) {
        for (int i = 0; i < eager->outputs; i++) {
            bg__copy *copy = eager->copies[i];
            if (copy != NULL && copy->folded)
                copy->exec = graph->segments[copy->segment].exec;
        }
    }
}

/* ---- in replays ---- */

static bg_status switch_node(bg__copy *copy, bool on)
{
    bg_status status = BG_OK;
    if (copy->enabled == on)
        return BG_OK;
    bg__pending_forget();
    BG__TRY_CUDA(cudaGraphNodeSetEnabled(copy->exec, copy->node, on));
    copy->enabled = on;
done:
    return status;
}

/* False: CUDA refuses, as it may where the memory is of another kind. */
static bool update_node(bg__copy *copy, const bg__move *move)
{
    const bg__move *held = &copy->move;
    cudaError_t error;
    if (held->source == move->source && held->target == move->target && held->bytes == move->bytes)
        return true;
    error = cudaGraphExecMemcpyNodeSetParams1D(copy->exec, copy->node, move->target, move->source, move->bytes,
                                               cudaMemcpyDefault);
    if (error != cudaSuccess) {
        bg__pending_forget();
        bg__ignore(error);
        return false;
    }
    copy->move = *move;
    return true;
}

bg_status bg__writeback_settle(bg__copy *copy, const bg__move *move, cudaStream_t stream, bool *steady)
{
    bg_status status = BG_OK;
    if (!copy->folded) {
        copy->move = *move;
        return BG_OK;
    }
    if (move->source != NULL && move->tail == 0 && update_node(copy, move))
        return switch_node(copy, true);
    *steady = false;
    BG__TRY(switch_node(copy, false));
    bg__pending_forget();
    BG__TRY(bg__move_run(move, stream));
done:
    return status;
}
