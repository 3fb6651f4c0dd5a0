#include "references.h"

#include <string.h>

#include "debug/memory/allocate.h"
#include "debug/memory/tensors.h"

static void pop_call(bg__references *r)
{
    bg__reference_call *c = &r->stack[--r->count];
    for (int i = 0; i < c->tensors; i++)
        bg__device_free(c->inputs[i]);
    free(c->inputs);
}

static bg_status push_call(bg__references *r, const bg__call *call, const void *args)
{
    bg__reference_call c = {.call = call, .tensors = bg__field_tensor_count(call->op, args)};
    bg_status status;

    BG__TRY(BG__ARRAY_GROW(r->stack, r->count, r->capacity, "calls of references"));
    BG__TRY(BG__ALLOCATE(c.inputs, c.tensors, "inputs of a reference"));
    r->stack[r->count++] = c;
done:
    return status;
}

/* Whether the tensor is an output, or an input that shares bytes with one. */
static bool is_overwritten(const bg_op *op, const void *args, const bg__field_tensor *tensor)
{
    bg__field_tensor t = {0};
    if (tensor->output)
        return true;
    while (bg__field_tensor_next(op, args, &t))
        if (t.output && bg__tensor_overlaps(t.tensor, tensor->tensor))
            return true;
    return false;
}

bg_status bg__references_before(bg__references *r, const bg__call *call, const void *args, cudaStream_t stream)
{
    bg__field_tensor t = {0};
    bg_status status = BG_OK;

    if (call->op->attributes_.reference == NULL)
        return BG_OK;
    BG__TRY(push_call(r, call, args));
    for (int i = 0; bg__field_tensor_next(call->op, args, &t); i++) {
        void **input = &r->stack[r->count - 1].inputs[i];
        bool reached = false;
        if (is_overwritten(call->op, args, &t))
            BG__TRY(bg__tensor_is_accessible(t.tensor, &reached));
        if (!reached)
            continue;
        BG__TRY(bg__device_alloc(bg_tensor_bytes(t.tensor), input));
        BG__TRY_CUDA(cudaMemcpyAsync(*input, t.tensor->data, bg_tensor_bytes(t.tensor), cudaMemcpyDefault, stream));
    }
done:
    return status;
}

/* Points args to the copies, so that the reference does not change the outputs of the op, with which the pass
 * continues. An output without memory before the call gets some. */
static bg_status redirect_tensors(const bg__reference_call *c, void *args)
{
    bg__field_tensor t = {0};
    bg_status status = BG_OK;

    for (int i = 0; bg__field_tensor_next(c->call->op, args, &t); i++) {
        bg_tensor *tensor = (bg_tensor *)((char *)args + ((const char *)t.tensor - (const char *)args));
        size_t bytes = bg_tensor_bytes(tensor);
        if (t.output && c->inputs[i] == NULL && bytes > 0)
            BG__TRY(bg__device_alloc(bytes, &c->inputs[i]));
        if (c->inputs[i] != NULL)
            tensor->data = c->inputs[i];
    }
done:
    return status;
}

static bg_status compare_outputs(const bg__references *r, const bg__call *call, const void *args, const void *theirs,
                                 cudaStream_t stream)
{
    bg__field_tensor a = {0}, b = {0};
    bg_status status = BG_OK;

    while (bg__field_tensor_next(call->op, args, &a) && bg__field_tensor_next(call->op, theirs, &b)) {
        const bg_tolerance *tolerance = bg__tolerances_find(r->tolerances, call, a.tensor->dtype);
        const bg_tensor rows = bg__field_batch_rows(call, &a);
        bgk_difference found;
        char text[300];
        bool reached = false;
        if (a.output)
            BG__TRY(bg__tensor_is_accessible(a.tensor, &reached));
        if (!reached)
            continue;
        if (!bg__tensors_have_same_shape(a.tensor, b.tensor) || b.tensor->data == NULL) {
            bg__report_add(r->report, "differs-from-reference", BG_FAULT, call, a.tensor->data, "",
                           "%s of %s has another shape or dtype than that of its reference", a.name, call->name);
            continue;
        }
        BG__TRY(bg__compare(&rows, b.tensor->data, rows.data, tolerance, r->room, stream, &found));
        BG__TRY(bg__comparison_record(r->report, call, a.name, &rows, "reference", &found));
        if (found.beyond > 0)
            bg__report_add(r->report, "differs-from-reference", BG_FAULT, call, a.tensor->data,
                           "the op itself is wrong, whether it is captured or eager: correct it, or its reference",
                           "%s of %s differs from its reference on the same inputs: %s", a.name, call->name,
                           bg__compare_text(&rows, &found, text, sizeof text));
    }
done:
    return status;
}

/* Runs the reference as a plain call. Its inner calls are not observed. */
static bg_status run_reference(const bg__call *call, void *args, cudaStream_t stream)
{
    bg__thread *self = bg__thread_self();
    bg__call *outer = self->call, plain = {.op = call->op, .site = call->site, .stream = stream, .segment = -1};
    bg_phase phase = self->phase;
    const bg__op_observer *watcher = self->watcher;
    bg_status status;

    self->call = &plain;
    self->phase = BG_PHASE_PLAIN;
    self->watcher = NULL;
    status = bg__plain_call_get_blocks(&plain);
    if (status == BG_OK)
        status = bg__call_run_body(&plain, call->op->attributes_.reference, args, stream);
    self->call = outer;
    self->phase = phase;
    self->watcher = watcher;
    if (status != BG_OK) {
        if (bg_last_error()[0] == '\0')
            bg__fail(status, "it returned %s (%s)", bg_status_name(status), bg_status_text(status));
        bg__error_add_location("the reference of %s, for call %s", call->op->name, call->name);
    }
    return status;
}

bg_status bg__references_after(bg__references *r, const bg__call *call, const void *args, cudaStream_t stream)
{
    void *theirs = NULL;
    bg_status status = BG_OK;

    if (call->op->attributes_.reference == NULL)
        return BG_OK;
    while (r->count > 1 && r->stack[r->count - 1].call != call) /* removes inner calls that failed */
        pop_call(r);
    theirs = malloc(call->op->args_size);
    if (theirs == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a reference's call");
    memcpy(theirs, args, call->op->args_size);
    BG__TRY(redirect_tensors(&r->stack[r->count - 1], theirs));
    BG__TRY(run_reference(call, theirs, stream));
    BG__TRY(compare_outputs(r, call, args, theirs, stream));
done:
    pop_call(r);
    free(theirs);
    return status;
}

void bg__references_free(bg__references *r)
{
    while (r->count > 0)
        pop_call(r);
    free(r->stack);
    r->stack = NULL;
    r->capacity = 0;
}
