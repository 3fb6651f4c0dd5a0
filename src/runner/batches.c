/* Copies batches into the static buffers, and results out of them. */
#include "runner/runner.h"

typedef struct moves {
    bgk_rows list[BGK_ROWS_MAX];
    int count;
    cudaStream_t stream;
} moves;

static bg_status flush_moves(moves *m)
{
    bg_status status = BG_OK;
    cudaError_t error = m->count > 0 ? bgk_move_rows(m->list, m->count, m->stream) : cudaSuccess;
    if (error != cudaSuccess) {
        status = bg__fail_cuda(error, "cudaLaunchKernelExC");
        bg__error_add_location("the kernel that moves rows to and from the static buffers");
    }
    m->count = 0;
    return status;
}

static bg_status queue_move(moves *m, const bgk_rows *rows)
{
    bg_status status = BG_OK;
    if (m->count == BGK_ROWS_MAX)
        BG__TRY(flush_moves(m));
    m->list[m->count++] = *rows;
done:
    return status;
}

bg_status bg__check_device_access(const bg_runner *runner, const void *ptr, bool *reached)
{
    bg__pointer_attributes place;
    bg_status status;

    BG__TRY(bg__pointer_get_attributes(ptr, &place));
    *reached = place.managed || place.type == CU_MEMORYTYPE_HOST ||
               (place.type == CU_MEMORYTYPE_DEVICE && place.device == runner->device);
done:
    return status;
}

static bgk_rows make_padding_rows(const bg__buffer *input, int tokens, int padded)
{
    bgk_rows rows = {.target = input->tensor.data, .copied = (size_t)tokens * input->row, .row = input->row};
    rows.pattern = input->pattern;
    rows.kind = input->padding == BG_PAD_REPEAT_LAST && tokens > 0 ? BGK_TAIL_REPEAT : BGK_TAIL_PATTERN;
    if (input->padding != BG_PAD_KEEP)
        rows.tail = (size_t)(padded - tokens) * input->row;
    return rows;
}

bg_status bg__inputs_fill_padding(bg_runner *runner, int count)
{
    moves m = {.stream = runner->stream};
    bg_status status = BG_OK;

    for (size_t i = 0; i < runner->inputs.count; i++) {
        bgk_rows rows = make_padding_rows(&runner->inputs.list[i], 0, count);
        if (rows.tail > 0)
            BG__TRY(queue_move(&m, &rows));
    }
    BG__TRY(flush_moves(&m));
done:
    return status;
}

static bg_status check_shape(const bg__buffer *buffer, const char *what, const bg_tensor *tensor, int tokens)
{
    const bg_tensor *want = &buffer->tensor;
    if (tensor->dtype != want->dtype)
        return bg__fail(BG_ERROR_DTYPE, "bg_runner_run: %s %s is %s, but was declared as %s", what, buffer->name,
                        bg_dtype_name(tensor->dtype), bg_dtype_name(want->dtype));
    if (tensor->rank != want->rank)
        return bg__fail(BG_ERROR_SHAPE, "bg_runner_run: %s %s has rank %d, but was declared with %d", what,
                        buffer->name, tensor->rank, want->rank);
    if (tensor->dim[0] != tokens)
        return bg__fail(BG_ERROR_SHAPE, "bg_runner_run: %s %s has %lld rows, but the batch has %d tokens", what,
                        buffer->name, (long long)tensor->dim[0], tokens);
    for (int i = 1; i < want->rank; i++)
        if (tensor->dim[i] != want->dim[i])
            return bg__fail(BG_ERROR_SHAPE, "bg_runner_run: dimension %d of %s %s is %lld, but was declared as %lld", i,
                            what, buffer->name, (long long)tensor->dim[i], (long long)want->dim[i]);
    return BG_OK;
}

/* Warns once about an input that the caller was to write in place, but that must be copied. */
static void warn_of_copied_input(const bg_runner *runner, bg__buffer *input)
{
    if (input->elsewhere || (!input->bound && runner->config.copy_inputs))
        return;
    input->elsewhere = true;
    bg__warn("input %s of this run is not at its static buffer's address, so it is copied; write it there to save "
             "the copy (shown once)",
             input->name);
}

static bg_status load_input(bg_runner *runner, moves *m, bg__buffer *input, const void *source, int tokens, int padded)
{
    bgk_rows rows = make_padding_rows(input, tokens, padded);
    bool reached = true;
    bg_status status = BG_OK;

    if (source != NULL && source != input->tensor.data) {
        warn_of_copied_input(runner, input);
        BG__TRY(bg__check_device_access(runner, source, &reached));
        if (reached)
            rows.source = source;
        else
            BG__TRY_CUDA(cudaMemcpyAsync(input->tensor.data, source, rows.copied, cudaMemcpyDefault, runner->stream));
    }
    if (rows.source != NULL || rows.tail > 0)
        BG__TRY(queue_move(m, &rows));
done:
    if (status != BG_OK)
        bg__error_add_location("bg_runner_run: input %s", input->name);
    return status;
}

/* ---- overlaps: the rows of all tensors are copied at once ---- */

static bool ranges_overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
    uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
    return x < y + b_bytes && y < x + a_bytes;
}

/* Returns the caller's rows; NULL: the rows are in the static buffer. */
static const void *rows_elsewhere(const bg__buffer *buffer, const bg_tensor *tensor)
{
    return tensor->data != buffer->tensor.data ? tensor->data : NULL;
}

static bg_status refuse_overlap(const char *what, const bg__buffer *buffer, const bg__buffer *other)
{
    return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                    "bg_runner_run: %s %s overlaps the rows of the static buffer of %s that the run needs; give it "
                    "its own memory, or place it at the start of its own static buffer",
                    what, buffer->name, other->name);
}

/* Rejects a source that overlaps rows which this run writes. */
static bg_status check_sources(const bg_runner *runner, const bg_tensor *tensors, int tokens, int padded)
{
    const bg__buffers *inputs = &runner->inputs;
    for (size_t i = 0; i < inputs->count; i++) {
        const bg__buffer *input = &inputs->list[i];
        const void *source = rows_elsewhere(input, &tensors[i]);
        for (size_t j = 0; j < inputs->count && source != NULL; j++) {
            const bg__buffer *other = &inputs->list[j];
            bgk_rows rows = make_padding_rows(other, tokens, padded);
            size_t skipped = rows_elsewhere(other, &tensors[j]) != NULL ? 0 : rows.copied;
            if (ranges_overlap(source, (size_t)tokens * input->row, (char *)rows.target + skipped,
                               rows.copied - skipped + rows.tail))
                return refuse_overlap("input", input, other);
        }
    }
    return BG_OK;
}

/* Rejects a target that overlaps rows of a static output. */
static bg_status check_targets(const bg_runner *runner, const bg_tensor *tensors, int tokens)
{
    const bg__buffers *outputs = &runner->outputs;
    for (size_t i = 0; i < outputs->count; i++) {
        const bg__buffer *output = &outputs->list[i];
        const void *target = rows_elsewhere(output, &tensors[i]);
        for (size_t j = 0; j < outputs->count && target != NULL; j++) {
            const bg__buffer *other = &outputs->list[j];
            if (ranges_overlap(target, (size_t)tokens * output->row, other->tensor.data, (size_t)tokens * other->row))
                return refuse_overlap("output", output, other);
        }
    }
    return BG_OK;
}

bool bg__inputs_are_copied(const bg_runner *runner, const bg_tensor *tensors)
{
    for (size_t i = 0; i < runner->inputs.count; i++)
        if (tensors == NULL || tensors[i].data == NULL || rows_elsewhere(&runner->inputs.list[i], &tensors[i]) == NULL)
            return false;
    return true;
}

bg_status bg__inputs_load(bg_runner *runner, const bg_tensor *tensors, int tokens, int padded)
{
    moves m = {.stream = runner->stream};
    bg_status status = BG_OK;

    for (size_t i = 0; i < runner->inputs.count; i++)
        if (tensors != NULL && tensors[i].data != NULL)
            BG__TRY(check_shape(&runner->inputs.list[i], "input", &tensors[i], tokens));
    if (tensors != NULL)
        BG__TRY(check_sources(runner, tensors, tokens, padded));
    for (size_t i = 0; i < runner->inputs.count; i++)
        BG__TRY(load_input(runner, &m, &runner->inputs.list[i], tensors ? tensors[i].data : NULL, tokens, padded));
    BG__TRY(flush_moves(&m));
done:
    return status;
}

/* A view from the previous run requests a view again. */
static bool wants_view(const bg__buffer *output, const bg_tensor *tensor)
{
    return tensor->data == NULL || tensor->data == output->tensor.data;
}

bg_status bg__outputs_check(const bg_runner *runner, const bg_tensor *tensors, int tokens)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < runner->outputs.count && tensors != NULL && status == BG_OK; i++)
        if (!wants_view(&runner->outputs.list[i], &tensors[i]))
            status = check_shape(&runner->outputs.list[i], "output", &tensors[i], tokens);
    return status == BG_OK && tensors != NULL ? check_targets(runner, tensors, tokens) : status;
}

static bg_status store_output(bg_runner *runner, moves *m, const bg__buffer *output, bg_tensor *tensor, int tokens)
{
    size_t bytes = (size_t)tokens * output->row;
    bgk_rows rows = {.target = tensor->data, .source = output->tensor.data, .copied = bytes, .row = output->row};
    bool reached;
    bg_status status = BG_OK;

    if (wants_view(output, tensor)) {
        *tensor = output->tensor;
        tensor->dim[0] = tokens;
        return BG_OK;
    }
    BG__TRY(bg__check_device_access(runner, tensor->data, &reached));
    if (reached)
        BG__TRY(queue_move(m, &rows));
    else
        BG__TRY_CUDA(cudaMemcpyAsync(tensor->data, output->tensor.data, bytes, cudaMemcpyDefault, runner->stream));
done:
    if (status != BG_OK)
        bg__error_add_location("bg_runner_run: output %s", output->name);
    return status;
}

bg_status bg__outputs_store(bg_runner *runner, bg_tensor *tensors, int tokens)
{
    moves m = {.stream = runner->stream};
    bg_status status = BG_OK;

    for (size_t i = 0; i < runner->outputs.count && tensors != NULL; i++)
        BG__TRY(store_output(runner, &m, &runner->outputs.list[i], &tensors[i], tokens));
    BG__TRY(flush_moves(&m));
done:
    return status;
}
