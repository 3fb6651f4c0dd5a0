#include "specials.h"

static bg_status count_tensor(bg__look *look, const bg__call *call, const bg__field_tensor *t, bgk_specials *counts)
{
    const bgk_specials none = BGK_SPECIALS_NONE;
    bg__relaxed relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg_status status = BG_OK;
    bg_tensor counted = bg__tensor_of_batch(call, t->tensor);
    bool reached;

    *counts = none;
    if (!bg__tensor_is_float(t->tensor) || t->tensor->data == NULL || bg_tensor_bytes(t->tensor) == 0)
        return BG_OK;
    BG__TRY(bg__relax_begin(&relaxed));
    BG__TRY(bg__tensor_reach(t->tensor, &reached));
    if (reached) {
        BG__TRY(bg__tensor_count(&counted, look->room, look->stream, counts));
        look->elements += bg_tensor_bytes(&counted) / bg_dtype_bytes(counted.dtype);
    } else {
        bg__report_add(look->report, "not-counted", BG_NOTE, call, t->tensor->data,
                       "check the graph's addresses (bg_check), unless this is host memory on purpose",
                       "%s of %s is in memory that the device cannot access; its NaN and infinities are not counted",
                       t->name, call->name);
    }
done:
    bg__relax_end(relaxed);
    return status;
}

bg_status bg__look_at_inputs(bg__look *look, const bg__call *call, const void *args, bg__held *inputs)
{
    bg__field_tensor t = {0};
    bg_status status = BG_OK;

    *inputs = (bg__held){0, 0};
    while (bg__field_tensor_next(call->op, args, &t)) {
        bgk_specials counts;
        if (!t.input)
            continue;
        BG__TRY(count_tensor(look, call, &t, &counts));
        inputs->nan += counts.nan;
        inputs->inf += counts.inf;
    }
done:
    return status;
}

/* Of those that were looked at. */
static size_t count_elements(const bg__call *call, const bg__field_tensor *t)
{
    const bg_tensor counted = bg__tensor_of_batch(call, t->tensor);
    return bg_tensor_bytes(&counted) / bg_dtype_bytes(counted.dtype);
}

/* What attention masks hold. */
static bool is_mask(const bgk_specials *counts)
{
    return counts->inf > 0 && counts->positive_inf == 0 && counts->nan == 0 && counts->numbers == 0;
}

static void report_nan(bg__look *look, const bg__call *call, const bg__field_tensor *t, const bgk_specials *counts)
{
    bg__report_add(look->report, "nan-origin", BG_WARNING, call, t->tensor->data,
                   "dump the call's tensors (bg_step_dump), and look at what it computes from them",
                   "%s of %s holds %llu NaN (of %zu elements), the first at index %llu, and no input of the call holds "
                   "any",
                   t->name, call->name, counts->nan, count_elements(call, t), counts->first_nan);
}

static void report_inf(bg__look *look, const bg__call *call, const bg__field_tensor *t, const bgk_specials *counts)
{
    bool mask = is_mask(counts), *reported = mask ? &look->mask_reported : &look->inf_reported;

    if (!*reported)
        bg__report_add(look->report, "inf-origin", mask ? BG_NOTE : BG_WARNING, call, t->tensor->data,
                       mask ? "ignore it if the call makes a mask; else dump its tensors (bg_step_dump)"
                            : "dump the call's tensors (bg_step_dump), and look at what it computes from them",
                       "%s of %s holds %llu infinities (of %zu elements), the first at index %llu, and no input of the "
                       "call holds any%s",
                       t->name, call->name, counts->inf, count_elements(call, t), counts->first_inf,
                       mask ? "; all are -inf, and all other elements are 0" : "");
    *reported = true;
}

bg_status bg__look_at_outputs(bg__look *look, const bg__call *call, const void *args, const bg__held *inputs,
                              bg__held *outputs)
{
    bg__field_tensor t = {0};
    bool tell_nan = inputs->nan == 0 && !look->nan_reported;
    bg_status status = BG_OK;

    *outputs = (bg__held){0, 0};
    while (bg__field_tensor_next(call->op, args, &t)) {
        bgk_specials counts;
        if (!t.output)
            continue;
        BG__TRY(count_tensor(look, call, &t, &counts));
        if (counts.nan > 0 && tell_nan && outputs->nan == 0)
            report_nan(look, call, &t, &counts);
        if (counts.inf > 0 && inputs->inf == 0)
            report_inf(look, call, &t, &counts);
        outputs->nan += counts.nan;
        outputs->inf += counts.inf;
    }
    look->nan_reported |= tell_nan && outputs->nan > 0;
done:
    return status;
}
