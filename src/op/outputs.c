/* How a call's outputs reach the caller. A body may leave a result in any memory; it is copied to the caller's memory,
 * or to a bridge buffer if the caller gave none. */
#include "op/op.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_output(const bg_field *field)
{
    return field->role == BG_ROLE_OUT || field->role == BG_ROLE_INOUT || field->role == BG_ROLE_OUTS;
}

bool bg__output_next(const bg_op *op, bg__output *output)
{
    while (output->next_field < op->field_count) {
        const bg_field *field = &op->fields[output->next_field];
        uint32_t at = output->next_element * (uint32_t)sizeof(bg_tensor);
        if (!is_output(field) || at >= field->size) {
            output->next_field++;
            output->next_element = 0;
            continue;
        }
        output->ordinal = output->field == NULL ? 0 : output->ordinal + 1;
        output->field = field;
        output->element = (int)output->next_element++;
        output->offset = field->offset + at;
        return true;
    }
    return false;
}

int bg__output_count(const bg_op *op)
{
    bg__output output = {0};
    int count = 0;
    while (bg__output_next(op, &output))
        count++;
    return count;
}

bool bg__op_has_results(const bg_op *op)
{
    for (uint32_t i = 0; i < op->field_count; i++)
        if (op->fields[i].role == BG_ROLE_RESULT)
            return true;
    return false;
}

void bg__copy_results(const bg_op *op, void *to, const void *from)
{
    const bg_field *end = op->fields + op->field_count;
    for (const bg_field *field = op->fields; field < end; field++)
        if (field->role == BG_ROLE_RESULT)
            memcpy((char *)to + field->offset, (const char *)from + field->offset, field->size);
}

/* "token", or "parts[2]" for an element of BG_OUTS. */
static const char *format_output_name(const bg__output *output, char *name, size_t bytes)
{
    if (output->field->role != BG_ROLE_OUTS)
        return output->field->name;
    snprintf(name, bytes, "%s[%d]", output->field->name, output->element);
    return name;
}

static const char *format_shape(const bg_tensor *tensor, char *text, size_t bytes)
{
    size_t used = (size_t)snprintf(text, bytes, "%s [", bg_dtype_name(tensor->dtype));
    for (int i = 0; i < tensor->rank && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%lld", i ? ", " : "", (long long)tensor->dim[i]);
    if (used < bytes)
        snprintf(text + used, bytes - used, "]");
    return text;
}

bool bg__tensor_is_valid(const bg_tensor *tensor)
{
    size_t bytes;
    return bg__tensor_get_bytes(tensor, &bytes);
}

/* *missing: some output has no memory. */
static bg_status check_tensors(const bg_op *op, const void *args, bool *missing)
{
    const bg_field *end = op->fields + op->field_count;
    size_t bytes;

    *missing = false;
    for (const bg_field *field = op->fields; field < end; field++) {
        const bg_tensor *tensor = bg__field_tensors(field, args);
        for (int rest = bg__field_count_tensors(field); rest > 0; rest--, tensor++) {
            if (!bg__tensor_get_bytes(tensor, &bytes))
                return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                                "%s is not a valid tensor: dtype %d, rank %d (allowed are 0 to %d); dimensions must "
                                "not be negative",
                                field->name, (int)tensor->dtype, tensor->rank, BG_MAX_RANK);
            if (tensor->data != NULL)
                continue;
            *missing |= is_output(field);
            if (field->role == BG_ROLE_INOUT && bytes > 0)
                return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s has no memory, but the op reads it; set its data",
                                field->name);
        }
    }
    return BG_OK;
}

/* Whether an output's memory and shape are unknown until the body has run. */
static bool has_unknown_shape(const bg_tensor *tensor)
{
    return tensor->data == NULL && tensor->rank == 0;
}

static bg_status alloc_bridge(bg__call *call, int ordinal, bg_tensor *tensor)
{
    size_t bytes = bg_tensor_bytes(tensor);
    bg_status status = BG_OK;
    if (bytes == 0)
        return BG_OK;
    BG__TRY(bg__call_get_block(call, BG__BRIDGE, ordinal, bytes, &tensor->data));
done:
    return status;
}

/* Returns room for a copy of the arguments: `few` if they fit into it; *kept if the call is in a graph, since replays
 * use that room again; else memory that the caller frees. */
enum { ARGS_BUFFER_BYTES = 1024 };

static void *get_args_buffer(const bg__call *call, char few[ARGS_BUFFER_BYTES], void **kept)
{
    size_t bytes = call->op->args_size;
    if (bytes <= ARGS_BUFFER_BYTES)
        return few;
    if (!call->recorded)
        return malloc(bytes);
    if (*kept == NULL)
        *kept = malloc(bytes);
    return *kept;
}

static void release_args_buffer(void *room, const char few[ARGS_BUFFER_BYTES], const void *kept)
{
    if (room != few && room != kept)
        free(room);
}

/* Calls the op's shape function for the outputs without a shape. It gets a copy of args, since only these outputs may
 * change. */
static bg_status infer_shapes(bg__call *call, void *args)
{
    const bg_op *op = call->op;
    bg__output output = {0};
    bg_status status = BG_OK;
    bool any_open = false, missing;
    char few[ARGS_BUFFER_BYTES];
    void *copy = NULL;

    while (bg__output_next(op, &output))
        any_open |= has_unknown_shape(bg__output_tensor(&output, args));
    if (!any_open || op->attributes_.shape == NULL)
        return BG_OK;
    copy = get_args_buffer(call, few, &call->shaped);
    if (copy == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %u bytes of arguments", op->args_size);
    memcpy(copy, args, op->args_size);
    BG__TRY(op->attributes_.shape(copy));
    BG__TRY(check_tensors(op, copy, &missing));
    output = (bg__output){0};
    while (bg__output_next(op, &output)) {
        bg_tensor *tensor = bg__output_tensor(&output, args);
        if (has_unknown_shape(tensor)) {
            *tensor = *bg__output_tensor(&output, copy);
            tensor->data = NULL;
        }
    }
done:
    release_args_buffer(copy, few, call->shaped);
    return status;
}

static bg_status alloc_missing_outputs(bg__call *call, void *args)
{
    bg__output output = {0};
    bg_status status;

    bg__foreign_error_note();
    BG__TRY(infer_shapes(call, args));
    while (bg__output_next(call->op, &output)) {
        bg_tensor *tensor = bg__output_tensor(&output, args);
        if (tensor->data == NULL && tensor->rank > 0)
            BG__TRY(alloc_bridge(call, output.ordinal, tensor));
    }
done:
    return status;
}

/* *missing: some output had no memory, and args may have changed. */
static inline bg_status prepare_outputs(bg__call *call, void *args, bool *missing)
{
    bg_status status = check_tensors(call->op, args, missing);
    return status == BG_OK && *missing ? alloc_missing_outputs(call, args) : status;
}

bg_status bg__outputs_prepare(bg__call *call, void *args)
{
    bool missing;
    return prepare_outputs(call, args, &missing);
}

static bg_status compare_shapes(const bg_op *op, const bg__output *output, const bg_tensor *want, const bg_tensor *got)
{
    char name[80], expected[200], found[200];
    bool fits = want->dtype == got->dtype && want->rank == got->rank;

    for (int i = 0; fits && i < want->rank; i++)
        fits = i == 0 && op->attributes_.allow_fewer_rows ? got->dim[i] <= want->dim[i] : got->dim[i] == want->dim[i];
    if (fits)
        return BG_OK;
    return bg__fail(want->dtype != got->dtype ? BG_ERROR_DTYPE : BG_ERROR_SHAPE,
                    "output %s is %s where %s is expected; a call's outputs must keep dtype and shape",
                    format_output_name(output, name, sizeof name), format_shape(got, found, sizeof found),
                    format_shape(want, expected, sizeof expected));
}

bg_status bg__output_check_shape(const bg__call *call, const bg__output *output, const bg_tensor *captured, void *args)
{
    return compare_shapes(call->op, output, captured, bg__output_tensor(output, args));
}

/* Whether the copy of an output to its place writes into the bytes at source. */
static bool copy_overlaps(const bg__call *call, const bg_tensor *want, const bg_tensor *left, const void *source,
                          size_t bytes)
{
    uintptr_t from = (uintptr_t)source, begin = (uintptr_t)want->data, end = begin + bg_tensor_bytes(want);
    if (left->data == want->data)
        begin = call->zero_tail ? begin + bg_tensor_bytes(left) : end;
    return begin < end && begin < from + bytes && from < end;
}

/* Outputs are copied one after the other, so no source may overlap the target of another output. */
static bg_status check_overlap(const bg__call *call, const bg__output *moved, void *want, void *got, const void *source,
                               size_t bytes)
{
    char name[80], other_name[80];
    bg__output other = {0};

    while (bg__output_next(call->op, &other)) {
        if (!copy_overlaps(call, bg__output_tensor(&other, want), bg__output_tensor(&other, got), source, bytes))
            continue;
        return bg__fail(
            BG_ERROR_OP,
            "the body left output %s in the memory of output %s; outputs cannot swap memory, use bg_scratch",
            format_output_name(moved, name, sizeof name), format_output_name(&other, other_name, sizeof other_name));
    }
    return BG_OK;
}

bg_status bg__output_copy_run(const bg__output_copy *move, cudaStream_t stream)
{
    bg_status status = BG_OK;
    if (move->source != NULL)
        BG__TRY_CUDA(cudaMemcpyAsync(move->target, move->source, move->bytes, cudaMemcpyDefault, stream));
    if (move->tail > 0)
        BG__TRY_CUDA(cudaMemsetAsync((char *)move->target + move->bytes, 0, move->tail, stream));
done:
    return status;
}

static bg_status adopt_body_shape(bg__call *call, const bg__output *output, bg_tensor *want, const bg_tensor *got)
{
    *want = *got;
    want->data = NULL;
    return alloc_bridge(call, output->ordinal, want);
}

bg_status bg__output_plan_copy(bg__call *call, const bg__output *output, void *want_args, void *got_args,
                               bg__output_copy *move)
{
    bg_tensor *want = bg__output_tensor(output, want_args), *got = bg__output_tensor(output, got_args);
    bg_status status = BG_OK;
    size_t whole;
    char name[80];

    *move = (bg__output_copy){0};
    if (!bg__tensor_get_bytes(got, &move->bytes) || !bg__tensor_get_bytes(want, &whole))
        return bg__fail(BG_ERROR_SHAPE,
                        "output %s has dtype %d and rank %d (allowed are 0 to %d); dimensions must not be negative",
                        format_output_name(output, name, sizeof name), (int)got->dtype, got->rank, BG_MAX_RANK);
    if (has_unknown_shape(want)) {
        BG__TRY(adopt_body_shape(call, output, want, got));
        whole = move->bytes;
    } else {
        BG__TRY(compare_shapes(call->op, output, want, got));
    }
    move->target = want->data;
    if (want->data == NULL && whole > 0)
        return bg__fail(
            BG_ERROR_OP,
            "output %s has no memory: its data is NULL in what bg_graph_args returns; set it to device memory",
            format_output_name(output, name, sizeof name));
    if (call->zero_tail)
        move->tail = whole - move->bytes;
    if (got->data == want->data || move->bytes == 0)
        goto done;
    move->source = got->data;
    if (got->data == NULL)
        status = bg__fail(BG_ERROR_OP,
                          "the body left output %s without memory; write where its data points, or use bg_scratch",
                          format_output_name(output, name, sizeof name));
    else
        status = check_overlap(call, output, want_args, got_args, move->source, move->bytes);
done:
    return status;
}

static bg_status copy_outputs(bg__call *call, void *want, void *got, cudaStream_t stream)
{
    bg__output output = {0};
    bg_status status = BG_OK;
    bg__output_copy move;

    while (bg__output_next(call->op, &output)) {
        const bg_tensor *there = bg__output_tensor(&output, want);
        if (there->data != NULL && bg__tensors_are_same(there, bg__output_tensor(&output, got)))
            continue;
        bg__foreign_error_note();
        BG__TRY(bg__output_plan_copy(call, &output, want, got, &move));
        BG__TRY(bg__output_copy_run(&move, stream));
    }
done:
    return status;
}

/* Whether all outputs are at their places; they have memory. Does not use memcmp, since a program need not initialize
 * padding bytes between arguments. */
static inline bool outputs_are_in_place(const bg_op *op, const void *want, const void *got)
{
    const bg_field *end = op->fields + op->field_count;

    for (const bg_field *field = op->fields; field < end; field++)
        for (uint32_t at = 0; is_output(field) && at < field->size; at += (uint32_t)sizeof(bg_tensor))
            if (!bg__tensors_are_same((const bg_tensor *)((const char *)want + field->offset + at),
                                      (const bg_tensor *)((const char *)got + field->offset + at)))
                return false;
    return true;
}

bg_status bg__call_run_body(bg__call *call, bg_op_body body, void *args, cudaStream_t stream)
{
    bg_status status;
    call->args = args;
    call->stream = stream;
    status = body(args, stream);
    call->args = NULL;
    return status;
}

void bg__outputs_clear_bridges(const bg__call *call, void *args)
{
    bg__output output = {0};
    while (bg__output_next(call->op, &output)) {
        bg_tensor *tensor = bg__output_tensor(&output, args);
        for (size_t i = 0; call->memory != NULL && i < call->memory->count; i++)
            if (tensor->data == call->memory->blocks[i].ptr)
                tensor->data = NULL;
    }
}

bg_status bg__call_run(bg__call *call, bg_op_body body, void *args, cudaStream_t stream)
{
    uint32_t bytes = call->op->args_size;
    char few[ARGS_BUFFER_BYTES];
    bg__thread *self = bg__thread_self();
    bg__call *outer = self->call;
    void *want = call->want != NULL ? call->want : get_args_buffer(call, few, &call->shaped);
    bg_status status;
    bool missing;
    char hidden;

    if (want == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %u bytes of arguments", bytes);
    hidden = bg__error_set_aside();
    if (call->ranges)
        bg__nvtx_range_push(call->name);
    memcpy(want, args, bytes);
    self->call = call;
    BG__TRY(prepare_outputs(call, want, &missing));
    if (missing)
        memcpy(args, want, bytes);
    BG__TRY(bg__call_run_body(call, body, args, stream));
    if (missing || !outputs_are_in_place(call->op, want, args))
        BG__TRY(copy_outputs(call, want, args, stream));
    bg__copy_results(call->op, want, args);
    memcpy(args, want, bytes);
done:
    self->call = outer;
    if (call->ranges)
        bg__nvtx_range_pop();
    if (status != BG_OK) {
        bg__outputs_clear_bridges(call, want);
        memcpy(args, want, bytes);
    }
    if (want != call->want)
        release_args_buffer(want, few, call->shaped);
    if (status != BG_OK)
        bg__error_add_call(call, status);
    else
        bg__error_restore(hidden);
    return status;
}
