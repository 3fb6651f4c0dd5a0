/* Compares the outputs of a run with the kept ones. */
#include "comparison.h"

#include <stddef.h>
#include <string.h>

bool bg__is_rounding(const bg_tensor *tensor, const bgk_difference *found)
{
    enum { ULP = 1024, ULP_OF_HALF = 8 };
    return bg__tensor_is_float(tensor) && found->lost == 0 &&
           found->ulp <= (bg_dtype_bytes(tensor->dtype) <= 2 ? ULP_OF_HALF : ULP);
}

/* The tensor of the output in the last eager run; it may have moved since the kept run. */
static const bg_tensor *find_eager_tensor(bg__shadow *s, const bg__shadow_output *out)
{
    const bg__pass_call *call;
    int place;
    if (out->call == NULL)
        return out->tensor;
    call = bg__pass_calls_find(&s->eager.calls, out->call->name);
    return call != NULL ? bg__pass_call_find_tensor(call, out->field.name, &place) : NULL;
}

/* Outputs that are compared together. */
typedef struct comparison_batch {
    bg__shadow_output *outputs[BG__COMPARED_TOGETHER];
    bg_tensor got[BG__COMPARED_TOGETHER]; /* the batch's rows */
    bool same_shape[BG__COMPARED_TOGETHER];
    bgk_difference found[BG__COMPARED_TOGETHER];
    size_t count;
    bool eager;
    bg_status (*each)(bg__shadow *s, bg__shadow_output *out, const bgk_difference *found);
    size_t beyond;
} comparison_batch;

bg_tensor bg__shadow_batch_rows(const bg__shadow_output *out, const bg_tensor *tensor)
{
    bg__field_tensor field = out->field;
    field.tensor = tensor;
    return out->call != NULL ? bg__field_batch_rows(out->call, &field) : *tensor;
}

static bg_status add_to_batch(bg__shadow *s, comparison_batch *b, bg__shadow_output *out)
{
    const bg_tensor *got = b->eager ? find_eager_tensor(s, out) : out->tensor;
    bool same_shape, reached = false;
    bg_tensor rows;
    bg_status status = BG_OK;

    if (out->expected == NULL || got == NULL)
        return BG_OK;
    same_shape = bg__tensors_have_same_shape(out->eager, got);
    if (same_shape)
        BG__TRY(bg__tensor_is_accessible(got, &reached));
    if (same_shape && !reached)
        goto done;
    if (b->count == 0)
        BG__TRY(bg__compare_begin(s->room, BG__COMPARED_TOGETHER, s->stream));
    rows = bg__shadow_batch_rows(out, got);
    if (same_shape)
        BG__TRY(bg__compare_queue(&rows, out->expected, rows.data,
                                  bg__tolerances_find(&s->tolerances, out->call, rows.dtype), &s->room[b->count],
                                  s->stream));
    b->outputs[b->count] = out;
    b->got[b->count] = rows;
    b->same_shape[b->count++] = same_shape;
done:
    return status;
}

static bg_status read_batch(bg__shadow *s, comparison_batch *b)
{
    bg_status status = BG_OK;

    if (b->count > 0)
        BG__TRY(bg__compare_read(s->room, b->count, s->stream, b->found));
    for (size_t i = 0; i < b->count; i++) {
        const bgk_difference *found = b->same_shape[i] ? &b->found[i] : NULL;
        if (found != NULL && !b->eager && !s->noted && b->outputs[i]->call == NULL)
            BG__TRY(bg__comparison_record(s->report, NULL, b->outputs[i]->name, &b->got[i], "eager", found));
        if (found != NULL && found->beyond == 0)
            continue;
        b->beyond++;
        if (b->each != NULL)
            BG__TRY(b->each(s, b->outputs[i], found));
    }
    b->count = 0;
done:
    return status;
}

bg_status bg__shadow_compare_outputs(bg__shadow *s, bool eager,
                                     bg_status (*each)(bg__shadow *s, bg__shadow_output *out,
                                                       const bgk_difference *found),
                                     size_t *beyond)
{
    comparison_batch b = {.eager = eager, .each = each};
    bg_status status = BG_OK;

    for (size_t i = 0; i < s->output_count; i++) {
        BG__TRY(add_to_batch(s, &b, &s->outputs[i]));
        if (b.count == BG__COMPARED_TOGETHER)
            BG__TRY(read_batch(s, &b));
    }
    BG__TRY(read_batch(s, &b));
done:
    *beyond = b.beyond;
    return status;
}
