#include "specials.h"

/* rows: the whole tensor, or the rows of the batch. */
static bg_status count_tensor_specials(bg__specials_search *look, const bg__call *call, const bg__field_tensor *t,
                                       bg_tensor rows, bgk_specials *counts)
{
    const bgk_specials none = BGK_SPECIALS_NONE;
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg_status status = BG_OK;
    bool reached;

    *counts = none;
    if (!bg__tensor_is_float(t->tensor) || t->tensor->data == NULL || bg_tensor_bytes(t->tensor) == 0)
        return BG_OK;
    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    BG__TRY(bg__tensor_is_accessible(t->tensor, &reached));
    if (reached) {
        BG__TRY(bg__tensor_count_specials(&rows, look->room, look->stream, counts));
        look->elements += bg_tensor_bytes(&rows) / bg_dtype_bytes(rows.dtype);
    } else {
        bg__report_add(look->report, "not-counted", BG_NOTE, call, t->tensor->data,
                       "check the graph's addresses (bg_check), unless this is host memory on purpose",
                       "%s of %s is in memory that the device cannot access; its NaN and infinities are not counted",
                       t->name, call->name);
    }
done:
    bg__relaxed_mode_end(relaxed);
    return status;
}

bg_status bg__specials_count_inputs(bg__specials_search *look, const bg__call *call, const void *args,
                                    bg__special_counts *inputs)
{
    bg__field_tensor t = {0};
    bg_status status = BG_OK;

    *inputs = (bg__special_counts){.nan = 0};
    while (bg__field_tensor_next(call->op, args, &t)) {
        const bg_tensor rows = bg__tensor_batch_rows(call, t.tensor);
        bgk_specials counts, all;
        if (!t.input)
            continue;
        BG__TRY(count_tensor_specials(look, call, &t, rows, &counts));
        inputs->nan += counts.nan;
        inputs->inf += counts.inf;
        if (bg__tensors_have_same_shape(&rows, t.tensor))
            continue;
        BG__TRY(count_tensor_specials(look, call, &t, *t.tensor, &all));
        inputs->padding_nan += all.nan - counts.nan;
        inputs->padding_inf += all.inf - counts.inf;
    }
done:
    return status;
}

/* Returns the number of elements that were counted. */
static size_t counted_elements(const bg__call *call, const bg__field_tensor *t)
{
    const bg_tensor counted = bg__tensor_batch_rows(call, t->tensor);
    return bg_tensor_bytes(&counted) / bg_dtype_bytes(counted.dtype);
}

/* An attention mask holds -inf and 0 alone. */
static bool is_attention_mask(const bgk_specials *counts)
{
    return counts->inf > 0 && counts->positive_inf == 0 && counts->nan == 0 && counts->numbers == 0;
}

/* It is unknown whether the call reads padding rows; BG_CHECK=padding finds out. */
static void report_nan_in_padding(bg__specials_search *look, const bg__call *call, const bg__field_tensor *t,
                                  const bgk_specials *counts)
{
    bg__report_add(look->report, "nan-input", BG_NOTE, call, t->tensor->data,
                   "run breakgraph check --what=padding, which tells whether padding rows reach the batch",
                   "%s of %s holds %llu NaN (of %zu elements), the first at index %llu; of its inputs only the "
                   "padding rows of the batch hold any",
                   t->name, call->name, counts->nan, counted_elements(call, t), counts->first_nan);
}

static void report_nan_origin(bg__specials_search *look, const bg__call *call, const bg__field_tensor *t,
                              const bgk_specials *counts)
{
    bg__report_add(look->report, "nan-origin", BG_WARNING, call, t->tensor->data,
                   "dump the call's tensors (bg_step_dump), and recompute its outputs from its inputs",
                   "%s of %s holds %llu NaN (of %zu elements), the first at index %llu, and no input of the call "
                   "holds any",
                   t->name, call->name, counts->nan, counted_elements(call, t), counts->first_nan);
}

static void report_inf_origin(bg__specials_search *look, const bg__call *call, const bg__field_tensor *t,
                              const bgk_specials *counts, bool in_padding)
{
    bool mask = is_attention_mask(counts), *reported = mask ? &look->mask_reported : &look->inf_reported;

    if (!*reported)
        bg__report_add(look->report, "inf-origin", mask || in_padding ? BG_NOTE : BG_WARNING, call, t->tensor->data,
                       mask ? "ignore it if the call makes a mask; else dump its tensors (bg_step_dump)"
                            : "dump the call's tensors (bg_step_dump), and recompute its outputs from its inputs",
                       "%s of %s holds %llu infinities (of %zu elements), the first at index %llu, and no input of "
                       "the call holds any%s%s",
                       t->name, call->name, counts->inf, counted_elements(call, t), counts->first_inf,
                       in_padding ? " but in padding rows of the batch" : "",
                       mask ? "; all are -inf, and all other elements are 0" : "");
    *reported = true;
}

bg_status bg__specials_check_outputs(bg__specials_search *look, const bg__call *call, const void *args,
                                     const bg__special_counts *inputs, bg__special_counts *outputs)
{
    bg__field_tensor t = {0};
    bool tell_nan = inputs->nan == 0 && !look->nan_reported;
    bg_status status = BG_OK;

    *outputs = (bg__special_counts){.nan = 0};
    while (bg__field_tensor_next(call->op, args, &t)) {
        bgk_specials counts;
        if (!t.output)
            continue;
        BG__TRY(count_tensor_specials(look, call, &t, bg__tensor_batch_rows(call, t.tensor), &counts));
        if (counts.nan > 0 && tell_nan && outputs->nan == 0)
            (inputs->padding_nan > 0 ? report_nan_in_padding : report_nan_origin)(look, call, &t, &counts);
        if (counts.inf > 0 && inputs->inf == 0)
            report_inf_origin(look, call, &t, &counts, inputs->padding_inf > 0);
        outputs->nan += counts.nan;
        outputs->inf += counts.inf;
    }
    look->nan_reported |= tell_nan && outputs->nan > 0;
done:
    return status;
}
