#include "pass_calls.h"

#include <stdlib.h>
#include <string.h>

/* ---- keeping ---- */

static bool is_copied_tensor(const bg__pass_calls *calls, const bg__field_tensor *t)
{
    return calls->begun ? t->input : t->output;
}

static bg_status copy_tensors(bg__pass_calls *calls, const bg__pass_call *c, cudaStream_t stream)
{
    bg__field_tensor t = {0};
    bg_status status = BG_OK;

    for (int i = 0; bg__field_tensor_next(c->call->op, c->args, &t); i++) {
        bool reached = false;
        if (is_copied_tensor(calls, &t))
            BG__TRY(bg__tensor_is_accessible(t.tensor, &reached));
        if (!reached)
            continue;
        BG__TRY(bg__chunks_allocate(&calls->copies, bg_tensor_bytes(t.tensor), &c->held[i]));
        BG__TRY_CUDA(cudaMemcpyAsync(c->held[i], t.tensor->data, bg_tensor_bytes(t.tensor), cudaMemcpyDefault, stream));
    }
done:
    return status;
}

bg_status bg__pass_calls_add(bg__pass_calls *calls, const bg__call *call, const void *args, bool hold,
                             cudaStream_t stream)
{
    bg__pass_call *c;
    bg_status status;

    BG__TRY(BG__ARRAY_GROW(calls->list, calls->count, calls->capacity, "calls of a pass"));
    c = &calls->list[calls->count];
    *c = (bg__pass_call){.call = call, .tensors = bg__field_tensor_count(call->op, args)};
    c->args = malloc(call->op->args_size);
    c->held = calloc((size_t)c->tensors + 1, sizeof *c->held);
    if (c->args == NULL || c->held == NULL)
        status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a call of %s", call->op->name);
    else
        status = bg__call_index_add(&calls->index, call->name, call);
    if (status != BG_OK) {
        free(c->args);
        free(c->held);
        return status;
    }
    memcpy(c->args, args, call->op->args_size);
    calls->count++;
    if (hold)
        status = copy_tensors(calls, c, stream);
done:
    return status;
}

void bg__pass_calls_clear(bg__pass_calls *calls)
{
    for (size_t i = 0; i < calls->count; i++) {
        free(calls->list[i].held);
        free(calls->list[i].args);
    }
    calls->count = 0;
    bg__chunks_free(&calls->copies);
    bg__call_index_clear(&calls->index);
}

void bg__pass_calls_free(bg__pass_calls *calls)
{
    bg__pass_calls_clear(calls);
    bg__call_index_free(&calls->index);
    free(calls->list);
    *calls = (bg__pass_calls){0};
}

/* ---- finding and comparing ---- */

const bg__pass_call *bg__pass_calls_find(const bg__pass_calls *calls, const char *name)
{
    const bg__call_key *key = bg__call_index_find_name(&calls->index, name);
    return key != NULL ? &calls->list[key - calls->index.keys] : NULL;
}

const bg_tensor *bg__pass_call_find_tensor(const bg__pass_call *call, const char *field, int *place)
{
    bg__field_tensor t = {0};
    for (*place = 0; bg__field_tensor_next(call->call->op, call->args, &t); ++*place)
        if (strcmp(t.name, field) == 0)
            return t.tensor;
    return NULL;
}

/* Whether the op has returned fewer rows, and may do so: a walk over a graph gets the shape that the body left, a plain
 * call the shape that its caller asked for. */
static bool is_shorter(const bg_op *op, const bg_tensor *tensor, const bg_tensor *than)
{
    bg_tensor same = *than;
    if (!op->attributes_.allow_fewer_rows || tensor->rank == 0 || tensor->dim[0] > than->dim[0])
        return false;
    same.dim[0] = tensor->dim[0];
    return bg__tensors_have_same_shape(&same, tensor);
}

static bg_status compare_tensor(const bg__pass_call *kept, const bg__call *call, const bg__field_tensor *field,
                                const bg__pass_comparison *c)
{
    bg__pass_difference d = {.call = call, .field = field};
    bg_status status = BG_OK;
    int place;

    d.tensor = bg__pass_call_find_tensor(kept, field->name, &place);
    d.held = d.tensor != NULL ? kept->held[place] : NULL;
    if (d.held == NULL)
        return BG_OK;
    d.shape = !bg__tensors_have_same_shape(d.tensor, field->tensor) && !is_shorter(call->op, field->tensor, d.tensor);
    d.compared = bg__field_batch_rows(call, field);
    if (!d.shape)
        BG__TRY(bg__compare(&d.compared, d.held, d.compared.data,
                            bg__tolerances_find(c->tolerances, call, d.tensor->dtype), c->room, c->stream, &d.found));
    BG__TRY(c->each(c->user, &d));
done:
    return status;
}

/* Finds the same call in another run of the same side; otherwise finds it by its name. */
static const bg__pass_call *find_call(const bg__pass_calls *calls, const bg__call *call)
{
    const bg__call_key *key = bg__call_index_find_call(&calls->index, call);
    return key != NULL ? &calls->list[key - calls->index.keys] : bg__pass_calls_find(calls, call->name);
}

bg_status bg__pass_calls_compare(const bg__pass_calls *calls, const bg__call *call, const void *args,
                                 bool (*skip)(const bg__call *call, const bg_tensor *tensor),
                                 const bg__pass_comparison *comparison)
{
    const bg__pass_call *kept = find_call(calls, call);
    bg__field_tensor t = {0};
    bg_status status = BG_OK;

    while (kept != NULL && bg__field_tensor_next(call->op, args, &t)) {
        bool reached;
        if (!is_copied_tensor(calls, &t) || (skip != NULL && skip(call, t.tensor)))
            continue;
        BG__TRY(bg__tensor_is_accessible(t.tensor, &reached));
        if (reached)
            BG__TRY(compare_tensor(kept, call, &t, comparison));
    }
done:
    return status;
}
