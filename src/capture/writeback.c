/* Write-backs: results that a body leaves elsewhere than where the graph reads them.
 *
 * A copy of its own between two launches costs as much as a launch. So the copies of a call at a break become the first
 * nodes of the next segment, before its forks; where the body answers with another address or extent, a replay changes
 * the node of the executable graph, and where it wrote in place, switches it off. The nodes are kernels: one is changed
 * at a third of what a memcpy node costs (H100: the break of a changing output 5.6 us against 6.0 to 6.3, of 5.1 to 5.4
 * for a fixed one). A copy is a step of its own where nothing else follows in the segment, or the memory is not the
 * device's. */
#include <rows.h>

#include "capture/capture.h"

static bgk_rows rows_of(const bg__move *move)
{
    return (bgk_rows){.target = move->target,
                      .source = move->source,
                      .copied = move->bytes,
                      .tail = move->tail,
                      .row = 1,
                      .kind = BGK_TAIL_PATTERN};
}

/* What a kernel of that device may touch, whoever allocated it. */
static bg_status check_device_memory(const void *ptr, int device, bool *on_device)
{
    bg__where place;
    bg_status status;
    BG__TRY(bg__where_is(ptr, &place));
    *on_device &= place.managed || (place.type == CU_MEMORYTYPE_DEVICE && place.device == device);
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
    bool foldable = true;
    bg_status status = BG_OK;

    copy->device = capture->graph->device;
    if (copy->move.source != NULL)
        BG__TRY(check_device_memory(copy->move.source, copy->device, &foldable));
    BG__TRY(check_device_memory(copy->move.target, copy->device, &foldable));
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
        bgk_rows rows = rows_of(&copy->move);
        cudaError_t error = bgk_move_rows(&rows, 1, capture->origin);
        if (error != cudaSuccess) {
            status = bg__fail_cuda(error, "cudaLaunchKernelExC");
            bg__fail_where("the kernel that writes an output of %s back", copy->call->name);
            goto done;
        }
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

/* *done: false where the memory is of another kind now, or CUDA refuses. */
static bg_status update_node(bg__copy *copy, const bg__move *move, bool *done)
{
    const bg__move *held = &copy->move;
    bgk_rows rows = rows_of(move);
    cudaError_t error;
    bg_status status = BG_OK;

    *done = true;
    if (held->source == move->source && held->target == move->target && held->bytes == move->bytes &&
        held->tail == move->tail)
        goto done;
    if (held->source != move->source && move->source != NULL)
        BG__TRY(check_device_memory(move->source, copy->device, done));
    if (held->target != move->target)
        BG__TRY(check_device_memory(move->target, copy->device, done));
    if (!*done)
        goto done;
    error = bgk_update_rows(copy->exec, copy->node, &rows);
    *done = error == cudaSuccess;
    if (*done) {
        copy->move = *move;
    } else {
        bg__pending_forget();
        bg__ignore(error);
    }
done:
    return status;
}

bg_status bg__writeback_settle(bg__copy *copy, const bg__move *move, cudaStream_t stream, bool *steady)
{
    bg_status status = BG_OK;
    bool updated = false;

    if (!copy->folded) {
        copy->move = *move;
        return BG_OK;
    }
    if (bg__move_is_needed(move))
        BG__TRY(update_node(copy, move, &updated));
    if (updated)
        return switch_node(copy, true);
    *steady = false;
    BG__TRY(switch_node(copy, false));
    bg__pending_forget();
    BG__TRY(bg__move_run(move, stream));
done:
    return status;
}
