/* The static buffers for the inputs and outputs of `forward`: declaration and growth. */
#include "runner/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- declaration ---- */

static bg__buffer *find_buffer_named(const bg__buffers *buffers, const char *name)
{
    for (size_t i = 0; i < buffers->count; i++)
        if (strcmp(buffers->list[i].name, name) == 0)
            return &buffers->list[i];
    return NULL;
}

static bg_status check_not_frozen(const bg_runner *runner, const char *function)
{
    if (runner->frozen || runner->running)
        return bg__fail(BG_ERROR_BUSY,
                        "%s: the runner has already captured or run, and graphs may use its buffers; declare "
                        "buffers before bg_runner_capture",
                        function);
    return BG_OK;
}

/* Makes the tensor at its largest size: `rows` tokens, or dim[0] if rows is 0. */
static bg_status make_full_tensor(const char *function, const char *name, bg_dtype dtype, int rank, const int64_t *dim,
                                  int rows, bg_tensor *tensor)
{
    *tensor = (bg_tensor){.dtype = dtype, .rank = rank};
    if (rank < 1 || rank > BG_MAX_RANK || bg_dtype_bytes(dtype) == 0)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "%s: %s has dtype %d and rank %d; allowed are a bg_dtype and a rank of 1 to %d", function, name,
                        (int)dtype, rank, BG_MAX_RANK);
    for (int i = 0; i < rank; i++)
        tensor->dim[i] = i == 0 && rows > 0 ? rows : dim[i];
    for (int i = 0; i < rank; i++)
        if (tensor->dim[i] < 1)
            return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s: dimension %d of %s is %lld; it must be at least 1",
                            function, i, name, (long long)tensor->dim[i]);
    if (bg_tensor_bytes(tensor) == 0)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s: the bytes of %s do not fit into a size_t; lower its dimensions",
                        function, name);
    return BG_OK;
}

/* Waits for the device: the caller may write there next, on any stream. */
static bg_status zero_memory(const bg_runner *runner, void *memory, size_t bytes)
{
    bg__relaxed_mode relaxed;
    bg_status status;

    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    BG__TRY_CUDA(cudaMemsetAsync(memory, 0, bytes, runner->stream));
    BG__TRY_CUDA(cudaStreamSynchronize(runner->stream));
done:
    bg__relaxed_mode_end(relaxed);
    return status;
}

/* Reserved addresses take no memory, but a process has at most 2^47 of them. */
static size_t bytes_to_reserve(size_t bytes)
{
    const size_t times = 64, least = (size_t)256 << 20, most = (size_t)1 << 40;
    size_t wanted = bytes < most / times ? times * bytes : most;
    if (wanted < bytes)
        wanted = bytes;
    return wanted < least ? least : wanted;
}

/* Enters the buffer in the ledger as "input token". */
static bg_status record_in_ledger(const bg_runner *runner, const bg__buffers *buffers, const bg__buffer *buffer)
{
    const char *kind = buffers == &runner->inputs ? "input" : buffers == &runner->outputs ? "output" : "buffer";
    char name[BG__OWNER_NAME];
    snprintf(name, sizeof name, "%s %s", kind, buffer->name);
    return bg_ledger_alloc(buffer->tensor.data, bg_tensor_bytes(&buffer->tensor), name);
}

/* After an error, too, the caller frees the buffer's memory. */
static bg_status allocate_buffer(const bg_runner *runner, bg__buffer *buffer)
{
    size_t bytes = bg_tensor_bytes(&buffer->tensor);
    bg_status status;

    if (!buffer->by_tokens || runner->pool == NULL)
        return bg__device_alloc(bytes, &buffer->tensor.data);
    BG__TRY(bg__pages_init(&buffer->pages, runner->device, bytes_to_reserve(bytes), 0));
    BG__TRY(bg__pages_grow(&buffer->pages, BG__LOW, bytes));
    buffer->tensor.data = bg__pages_address(&buffer->pages, BG__LOW, 0, bytes);
done:
    return status;
}

static void free_buffer_memory(bg__buffer *buffer)
{
    if (buffer->pages.base != NULL)
        bg__pages_clear(&buffer->pages);
    else
        bg__device_free(buffer->tensor.data);
}

static void release_buffer(bg__buffer *buffer)
{
    if (buffer->bound)
        return;
    if (bg_ledger_free(buffer->tensor.data) != BG_OK)
        bg__warn("buffer %s of a runner: %s", buffer->name, bg_last_error());
    free_buffer_memory(buffer);
}

/* *made is the new buffer; fields that are not parameters are 0. */
static bg_status add_buffer(bg_runner *runner, bg__buffers *buffers, const char *function, const char *name,
                            const bg_tensor *shape, bool by_tokens, bg__buffer **made)
{
    bg__buffer buffer = {.tensor = *shape, .by_tokens = by_tokens};
    size_t bytes = bg_tensor_bytes(shape);
    bg_status status;

    BG__TRY(check_not_frozen(runner, function));
    BG__TRY(bg__runner_check_thread_device(runner, function));
    if (find_buffer_named(&runner->inputs, name) || find_buffer_named(&runner->outputs, name) ||
        find_buffer_named(&runner->extra, name))
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "%s: the runner already has a buffer named %s", function, name);
    BG__TRY(BG__ARRAY_GROW(buffers->list, buffers->count, buffers->capacity, "buffers"));
    buffer.name = strdup(name);
    if (buffer.name == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "%s: out of host memory for a name", function);
    BG__TRY(allocate_buffer(runner, &buffer));
    BG__TRY(zero_memory(runner, buffer.tensor.data, bytes));
    buffer.row = bytes / (size_t)shape->dim[0];
    BG__TRY(record_in_ledger(runner, buffers, &buffer));
    buffers->list[buffers->count] = buffer;
    *made = &buffers->list[buffers->count++];
    buffer = (bg__buffer){.name = NULL};
done:
    free(buffer.name);
    free_buffer_memory(&buffer);
    if (status != BG_OK && !bg__error_has_location())
        bg__error_add_location("buffer %s of %d rows", name, (int)shape->dim[0]);
    return status;
}

/* Adds rows during a run; they are zero for all later work on its stream. */
static bg_status grow_buffer(const bg_runner *runner, bg__buffer *buffer, int rows)
{
    const size_t before = (size_t)buffer->tensor.dim[0] * buffer->row;
    bg_status status = BG_OK;

    if (buffer->tensor.dim[0] >= rows)
        return BG_OK;
    if (buffer->bound)
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT,
                 "it is bound to the caller's memory of %lld rows; raise config.max_tokens, and bind memory for as "
                 "many rows",
                 (long long)buffer->tensor.dim[0]);
    if (buffer->pages.base == NULL)
        BG__FAIL(
            BG_ERROR_OUT_OF_MEMORY,
            "the device does not support virtual memory management, so it cannot grow; raise config.max_tokens, or "
            "split the batch");
    if ((size_t)rows > buffer->pages.bytes / buffer->row)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY,
                 "its reserved addresses hold %zu rows; raise config.max_tokens, or split the batch",
                 buffer->pages.bytes / buffer->row);
    BG__TRY(bg__pages_grow(&buffer->pages, BG__LOW, (size_t)rows * buffer->row));
    BG__TRY_CUDA(
        cudaMemsetAsync((char *)buffer->tensor.data + before, 0, (size_t)rows * buffer->row - before, runner->stream));
    buffer->tensor.dim[0] = rows;
    bg__ledger_resize(buffer->tensor.data, (size_t)rows * buffer->row);
done:
    if (status != BG_OK)
        bg__error_add_location("static buffer %s, for %d rows", buffer->name, rows);
    return status;
}

static bg_status grow_buffers(const bg_runner *runner, bg__buffers *buffers, int rows)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < buffers->count; i++)
        if (buffers->list[i].by_tokens)
            BG__TRY(grow_buffer(runner, &buffers->list[i], rows));
done:
    return status;
}

bg_status bg__buffers_grow(bg_runner *runner, int rows)
{
    bg_status status = BG_OK;

    if (rows <= runner->rows)
        return BG_OK;
    BG__TRY(grow_buffers(runner, &runner->inputs, rows));
    BG__TRY(grow_buffers(runner, &runner->outputs, rows));
    BG__TRY(grow_buffers(runner, &runner->extra, rows));
    runner->rows = rows;
done:
    return status;
}

bg_status bg_runner_add_input(bg_runner *runner, const char *name, bg_dtype dtype, int rank, const int64_t *dim,
                              bg_padding padding, double pad_value, bg_tensor *tensor)
{
    uint64_t pattern = 0;
    bg__buffer *made;
    bg_tensor shape;
    bg_status status;

    BG__NEED(runner);
    BG__NEED(name);
    BG__NEED(dim);
    BG__NEED(tensor);
    bg__foreign_error_note();
    if ((int)padding < BG_PAD_ZERO || padding > BG_PAD_KEEP)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "bg_runner_add_input: padding of %s is %d, which is not a bg_padding", name, (int)padding);
    BG__TRY(make_full_tensor(__func__, name, dtype, rank, dim, runner->rows, &shape));
    if (padding == BG_PAD_SENTINEL && !bg__pattern_make(dtype, pad_value, &pattern))
        BG__FAIL(BG_ERROR_INVALID_ARGUMENT, "bg_runner_add_input: pad_value %g of %s cannot be represented as %s",
                 pad_value, name, bg_dtype_name(dtype));
    BG__TRY(add_buffer(runner, &runner->inputs, __func__, name, &shape, true, &made));
    made->padding = padding;
    made->pattern = pattern;
    *tensor = made->tensor;
done:
    return status;
}

bg_status bg_runner_add_output(bg_runner *runner, const char *name, bg_dtype dtype, int rank, const int64_t *dim,
                               bg_tensor *tensor)
{
    bg__buffer *made;
    bg_tensor shape;
    bg_status status;

    BG__NEED(runner);
    BG__NEED(name);
    BG__NEED(dim);
    BG__NEED(tensor);
    bg__foreign_error_note();
    BG__TRY(make_full_tensor(__func__, name, dtype, rank, dim, runner->rows, &shape));
    BG__TRY(add_buffer(runner, &runner->outputs, __func__, name, &shape, true, &made));
    *tensor = made->tensor;
done:
    return status;
}

bg_status bg_runner_add_buffer(bg_runner *runner, const char *name, bg_dtype dtype, int rank, const int64_t *dim,
                               bg_tensor *tensor)
{
    bg__buffer *made;
    bg_tensor shape;
    bool by_tokens;
    bg_status status;

    BG__NEED(runner);
    BG__NEED(name);
    BG__NEED(dim);
    BG__NEED(tensor);
    bg__foreign_error_note();
    by_tokens = rank > 0 && dim[0] == 0;
    BG__TRY(make_full_tensor(__func__, name, dtype, rank, dim, by_tokens ? runner->rows : 0, &shape));
    BG__TRY(add_buffer(runner, &runner->extra, __func__, name, &shape, by_tokens, &made));
    *tensor = made->tensor;
done:
    return status;
}

static bool owns_address(const bg__buffer *buffer, const void *ptr)
{
    if (buffer->bound)
        return false;
    if (buffer->pages.base != NULL)
        return bg__pages_contain(&buffer->pages, BG__LOW, ptr);
    return (uintptr_t)ptr - (uintptr_t)buffer->tensor.data < bg_tensor_bytes(&buffer->tensor);
}

/* Rejects memory of a static input: releasing that input would free the memory, or two inputs would fill its padding
 * rows. */
static bg_status check_not_owned(const bg_runner *runner, const void *data)
{
    for (size_t i = 0; i < runner->inputs.count; i++) {
        const bg__buffer *input = &runner->inputs.list[i];
        if (owns_address(input, data))
            return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                            "bg_runner_bind_input: %p is in the static buffer of input %s, which the runner owns; "
                            "bind memory of the caller, or do not bind the input",
                            data, input->name);
    }
    return BG_OK;
}

static bg_status refuse_unknown_input(const bg_runner *runner, const char *name)
{
    bg__nearest nearest = bg__nearest_begin(name, strlen(name));
    char hint[BG__HINT_BYTES];
    for (size_t i = 0; i < runner->inputs.count; i++)
        bg__nearest_add(&nearest, runner->inputs.list[i].name, strlen(runner->inputs.list[i].name));
    return bg__fail(BG_ERROR_NOT_FOUND,
                    "bg_runner_bind_input: the runner has no input %s%s; declare it with bg_runner_add_input", name,
                    bg__nearest_hint(&nearest, "", hint));
}

bg_status bg_runner_bind_input(bg_runner *runner, const char *name, void *data, bg_tensor *tensor)
{
    bg__buffer *input;
    bool reached;
    bg_status status;

    BG__NEED(runner);
    BG__NEED(name);
    BG__NEED(data);
    BG__NEED(tensor);
    bg__foreign_error_note();
    BG__TRY(check_not_frozen(runner, __func__));
    input = find_buffer_named(&runner->inputs, name);
    if (input == NULL)
        return refuse_unknown_input(runner, name);
    if ((uintptr_t)data % bg_dtype_bytes(input->tensor.dtype) != 0)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "bg_runner_bind_input: %p, for %s of %s, is not aligned to %zu bytes", data, name,
                        bg_dtype_name(input->tensor.dtype), bg_dtype_bytes(input->tensor.dtype));
    BG__TRY(check_not_owned(runner, data));
    BG__TRY(bg__check_device_access(runner, data, &reached));
    if (!reached)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "bg_runner_bind_input: the device cannot access %p for %s; bind memory of device %d, or "
                        "host memory of cudaMallocHost",
                        data, name, runner->device);
    if (!input->bound)
        release_buffer(input);
    input->bound = true;
    input->tensor.data = data;
    *tensor = input->tensor;
done:
    return status;
}

void bg__buffers_free(bg__buffers *buffers)
{
    for (size_t i = 0; i < buffers->count; i++) {
        release_buffer(&buffers->list[i]);
        free(buffers->list[i].name);
    }
    free(buffers->list);
    *buffers = (bg__buffers){NULL, 0, 0};
}

static bg_status record_buffers(const bg__buffers *buffers, int rows, bg_graph *graph)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < buffers->count; i++) {
        bg_tensor tensor = buffers->list[i].tensor;
        if (buffers->list[i].by_tokens)
            tensor.dim[0] = rows;
        BG__TRY(
            bg__recorded_addresses_add(&graph->noted, &(bg__recorded_tensor){.name = buffers->list[i].name}, &tensor));
    }
done:
    return status;
}

bg_status bg__buffers_record(const bg_runner *runner, int rows, bg_graph *graph)
{
    bg_status status;
    BG__TRY(record_buffers(&runner->inputs, rows, graph));
    BG__TRY(record_buffers(&runner->outputs, rows, graph));
    BG__TRY(record_buffers(&runner->extra, rows, graph));
done:
    return status;
}
