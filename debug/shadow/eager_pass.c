#include "eager_pass.h"

#include <stdlib.h>
#include <string.h>

#include "capture/replay.h"
#include "debug/memory/allocate.h"
#include "debug/memory/tensors.h"
#include "memory/ledger.h"

bg_status bg__eager_pass_create(bg__eager_pass *pass, const char *name, bg_forward forward, void *user,
                                const bg_capture_options *options, bg__snapshot *before)
{
    pass->before = before;
    pass->inner.begun = true;
    return bg__graph_create_forward(&pass->graph, name, forward, user, options);
}

/* ---- while it runs ---- */

static bg_status record_inputs(void *user, const bg__call *call, const void *args, cudaStream_t stream)
{
    bg__eager_pass *pass = user;
    bg__field_tensor t = {0};
    bg_status status = BG_OK;

    while (bg__field_tensor_next(call->op, args, &t)) {
        uintptr_t begin = (uintptr_t)t.tensor->data, end = begin + bg_tensor_bytes(t.tensor);
        bool reached;
        if (!t.output || begin == 0 || bg__snapshot_has(pass->before, begin, end))
            continue;
        BG__TRY(bg__tensor_is_accessible(t.tensor, &reached));
        if (reached)
            BG__TRY(bg__snapshot_add(pass->before, begin, end, stream));
    }
    BG__TRY(bg__inputs_add(&pass->inputs, call, args, pass->calls.count, pass->record, stream));
    if (pass->record && call->parent->op != NULL)
        BG__TRY(bg__pass_calls_add(&pass->inner, call, args, true, stream));
    if (pass->also != NULL)
        BG__TRY(pass->also->before(pass->also->user, call, args, stream));
    if (pass->references != NULL)
        BG__TRY(bg__references_before(pass->references, call, args, stream));
done:
    return status;
}

/* A wait for the device would invalidate a capture. A capture by the program on a non-blocking stream is not
 * detected. */
bool bg__eager_pass_can_synchronize(void)
{
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    cudaError_t error = cudaStreamIsCapturing(cudaStreamLegacy, &capturing);
    bg__clear_cuda_error(error);
    return error == cudaSuccess && capturing == cudaStreamCaptureStatusNone && !bg__capturing_streams_any();
}

static bg_status segment_waits_for_event(const bg__segment *segment, bool *waits)
{
    cudaGraphNode_t *nodes = NULL;
    size_t count = 0;
    bg_status status = BG_OK;

    BG__TRY(bg__graph_list_nodes(segment->graph, &nodes, &count));
    for (size_t i = 0; i < count; i++) {
        enum cudaGraphNodeType type;
        BG__TRY_CUDA(cudaGraphNodeGetType(nodes[i], &type));
        *waits |= type == cudaGraphNodeTypeWaitEvent;
    }
done:
    free(nodes);
    return status;
}

/* The program may order by such a wait what the call leaves on another stream. */
bg_status bg__eager_pass_has_later_wait(const bg_graph *graph, const bg__call *call, bool *waits)
{
    bool behind = false;
    bg_status status = BG_OK;

    *waits = false;
    for (int i = 0; graph != NULL && i < bg__graph_step_count(graph) && !*waits; i++) {
        const bg__step_view step = bg__graph_step(graph, i);
        *waits = behind && step.kind == BG__STEP_WAIT;
        if (behind && step.kind == BG__STEP_LAUNCH)
            BG__TRY(segment_waits_for_event(bg__graph_segment(graph, step.place), waits));
        behind |= step.kind == BG__STEP_CALL && strcmp(step.call->name, call->name) == 0;
    }
done:
    return status;
}

static bg_status record_outputs(void *user, const bg__call *call, const void *args, cudaStream_t stream)
{
    bg__eager_pass *pass = user;
    bool waits = false;
    bg_status status = BG_OK;

    if (pass->record && call->eager)
        BG__TRY(bg__eager_pass_has_later_wait(pass->captured, call, &waits));
    if (waits && bg__eager_pass_can_synchronize())
        BG__TRY(bg__wait_for_device("a shadow"));
    BG__TRY(bg__pass_calls_add(&pass->calls, call, args, pass->record, stream));
    if (pass->also != NULL)
        BG__TRY(pass->also->after(pass->also->user, call, args, stream));
    if (pass->references != NULL)
        BG__TRY(bg__references_after(pass->references, call, args, stream));
done:
    return status;
}

/* The pass has joined its other streams to this one. Waits also after a failure, since queued work writes tensors that
 * are restored next. */
static bg_status wait_after_pass(cudaStream_t stream, bg_status status)
{
    cudaError_t error = cudaStreamSynchronize(stream);
    bg__clear_cuda_error(error);
    return status == BG_OK && error != cudaSuccess ? bg__fail_cuda(error, "cudaStreamSynchronize") : status;
}

bg_status bg__eager_pass_run(bg__eager_pass *pass, cudaStream_t stream, bool record, const char *function)
{
    const bg__op_observer watcher = {record_inputs, record_outputs, pass};
    bg_status status;

    bg__pass_calls_clear(&pass->calls);
    bg__pass_calls_clear(&pass->inner);
    bg__inputs_clear(&pass->inputs);
    pass->record = record;
    status = bg__forward_pass(pass->graph, BG_PHASE_REPLAY, stream, &watcher);
    if (pass->references != NULL)
        bg__references_free(pass->references); /* frees what calls that failed have left */
    bg__foreign_error_note();                  /* `forward` may have left a CUDA error */
    status = wait_after_pass(stream, status);
    if (status != BG_OK)
        bg__error_add_location("%s, the pass run eagerly", function);
    return status;
}

/* ---- afterwards ---- */

bg_status bg__eager_pass_add_outputs(const bg__eager_pass *pass, bg__spans *written)
{
    bg_status status = BG_OK;

    for (size_t i = 0; i < pass->calls.count; i++) {
        bg__field_tensor t = {0};
        while (bg__field_tensor_next(pass->calls.list[i].call->op, pass->calls.list[i].args, &t)) {
            uintptr_t begin = (uintptr_t)t.tensor->data, end = begin + bg_tensor_bytes(t.tensor);
            uint64_t generation = 0;
            bool reached;
            if (!t.output || begin == 0)
                continue;
            BG__TRY(bg__driver_get_generation(t.tensor->data, &generation)); /* 0: the pass has freed it */
            reached = generation != 0 && bg__snapshot_has(pass->before, begin, end);
            if (generation != 0 && !reached)
                BG__TRY(bg__tensor_is_accessible(t.tensor, &reached));
            if (reached)
                BG__TRY(bg__spans_add(written, begin, end));
        }
    }
done:
    return status;
}

void bg__eager_pass_free(bg__eager_pass *pass)
{
    bg__pass_calls_free(&pass->calls);
    bg__pass_calls_free(&pass->inner);
    bg__inputs_free(&pass->inputs);
    bg_graph_destroy(pass->graph);
    *pass = (bg__eager_pass){0};
}
