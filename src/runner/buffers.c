/* The static buffers: where forward finds its inputs and leaves its outputs, and how batches get there and back. */
#include "runner/runner.h"

#include <stdlib.h>
#include <string.h>

/* ---- declaration ---- */

static bg__buffer *find(const bg__buffers *buffers, const char *name)
{
    for (int i = 0; i < buffers->count; i++)
        if (strcmp(buffers->list[i].name, name) == 0)
            return &buffers->list[i];
    return NULL;
}

static bg_status check_open(const bg_runner *runner, const char *function)
{
    if (runner->frozen || runner->running)
        return bg__fail(BG_ERROR_BUSY,
                        "%s: the runner has captured or run already, and graphs may hold its buffers; declare before "
                        "bg_runner_capture",
                        function);
    return BG_OK;
}

/* The tensor at its largest: rows tokens, or dim[0] itself where rows is 0. */
static bg_status make_tensor(const char *function, const char *name, bg_dtype dtype, int rank, const int64_t *dim,
                             int rows, bg_tensor *tensor)
{
    *tensor = (bg_tensor){.dtype = dtype, .rank = rank};
    if (rank < 1 || rank > BG_MAX_RANK || bg_dtype_bytes(dtype) == 0)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                        "%s: %s has dtype %d and rank %d; a bg_dtype and a rank of 1 to %d are needed", function, name,
                        (int)dtype, rank, BG_MAX_RANK);
    for (int i = 0; i < rank; i++)
        tensor->dim[i] = i == 0 && rows > 0 ? rows : dim[i];
    for (int i = 0; i < rank; i++)
        if (tensor->dim[i] < 1)
            return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s: dimension %d of %s is %lld; it must be at least 1",
                            function, i, name, (long long)tensor->dim[i]);
    if (bg_tensor_bytes(tensor) == 0)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s: %s has more bytes than an address can count", function, name);
    return BG_OK;
}

static bg_status reserve(bg__buffers *buffers)
{
    int capacity = buffers->capacity ? 2 * buffers->capacity : 8;
    bg__buffer *list;
    if (buffers->count < buffers->capacity)
        return BG_OK;
    list = realloc(buffers->list, (size_t)capacity * sizeof *list);
    if (list == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "no host memory for %d buffers", capacity);
    buffers->list = list;
    buffers->capacity = capacity;
    return BG_OK;
}

/* In *made what is declared; the buffer's other fields are 0. */
static bg_status add(bg_runner *runner, bg__buffers *buffers, const char *function, const char *name,
                     const bg_tensor *shape, bg__buffer **made)
{
    bg__buffer buffer = {.tensor = *shape};
    size_t bytes = bg_tensor_bytes(shape);
    bg_status status;

    BG__TRY(check_open(runner, function));
    if (find(&runner->inputs, name) || find(&runner->outputs, name) || find(&runner->extra, name)) {
        status =
            bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s: the runner has a buffer of the name %s already", function, name);
        goto done;
    }
    BG__TRY(reserve(buffers));
    buffer.name = strdup(name);
    if (buffer.name == NULL) {
        status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "%s: no host memory for a name", function);
        goto done;
    }
    BG__TRY(bg__pages_init(&buffer.pages, runner->device, 0, 0));
    BG__TRY(bg__pages_grow(&buffer.pages, BG__LOW, bytes));
    buffer.tensor.data = bg__pages_address(&buffer.pages, BG__LOW, 0, bytes);
    BG__TRY_CUDA(cudaMemsetAsync(buffer.tensor.data, 0, bytes, runner->stream));
    buffer.row = bytes / (size_t)shape->dim[0];
    buffers->list[buffers->count] = buffer;
    *made = &buffers->list[buffers->count++];
    buffer = (bg__buffer){.name = NULL};
done:
    free(buffer.name);
    bg__pages_clear(&buffer.pages);
    if (status != BG_OK && !bg__fail_is_placed())
        bg__fail_where("buffer %s of %d rows", name, (int)shape->dim[0]);
    return status;
}

static bg_status grow(bg__buffer *buffer, int rows)
{
    bg_status status = BG_OK;

    if (buffer->tensor.dim[0] >= rows)
        return BG_OK;
    if (buffer->bound) {
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT,
                          "it is bound to memory of the caller's with %lld rows; raise "
                          "config.max_tokens, and bind as much",
                          (long long)buffer->tensor.dim[0]);
        goto done;
    }
    if ((size_t)rows > buffer->pages.bytes / buffer->row) {
        status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "%zu bytes a row are more than the device has; split the batch",
                          buffer->row);
        goto done;
    }
    BG__TRY(bg__pages_grow(&buffer->pages, BG__LOW, (size_t)rows * buffer->row));
    buffer->tensor.dim[0] = rows;
done:
    if (status != BG_OK)
        bg__fail_where("static buffer %s, for %d rows", buffer->name, rows);
    return status;
}

bg_status bg__buffers_grow(bg_runner *runner, int rows)
{
    bg_status status = BG_OK;

    if (rows <= runner->rows)
        return BG_OK;
    for (int i = 0; i < runner->inputs.count; i++)
        BG__TRY(grow(&runner->inputs.list[i], rows));
    for (int i = 0; i < runner->outputs.count; i++)
        BG__TRY(grow(&runner->outputs.list[i], rows));
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
    bg__pending_note();
    if ((int)padding < BG_PAD_ZERO || padding > BG_PAD_KEEP)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_runner_add_input: padding of %s is %d, no bg_padding", name,
                        (int)padding);
    BG__TRY(make_tensor(__func__, name, dtype, rank, dim, runner->rows, &shape));
    if (padding == BG_PAD_SENTINEL && !bg__pattern_make(dtype, pad_value, &pattern)) {
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_runner_add_input: pad_value %g of %s is no value of %s",
                          pad_value, name, bg_dtype_name(dtype));
        goto done;
    }
    BG__TRY(add(runner, &runner->inputs, __func__, name, &shape, &made));
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
    bg__pending_note();
    BG__TRY(make_tensor(__func__, name, dtype, rank, dim, runner->rows, &shape));
    BG__TRY(add(runner, &runner->outputs, __func__, name, &shape, &made));
    *tensor = made->tensor;
done:
    return status;
}

bg_status bg_runner_add_buffer(bg_runner *runner, const char *name, bg_dtype dtype, int rank, const int64_t *dim,
                               bg_tensor *tensor)
{
    bg__buffer *made;
    bg_tensor shape;
    bg_status status;

    BG__NEED(runner);
    BG__NEED(name);
    BG__NEED(dim);
    BG__NEED(tensor);
    bg__pending_note();
    BG__TRY(make_tensor(__func__, name, dtype, rank, dim, 0, &shape));
    BG__TRY(add(runner, &runner->extra, __func__, name, &shape, &made));
    *tensor = made->tensor;
done:
    return status;
}

bg_status bg_runner_bind_input(bg_runner *runner, const char *name, void *data, bg_tensor *tensor)
{
    bg__buffer *input;

    BG__NEED(runner);
    BG__NEED(name);
    BG__NEED(data);
    BG__NEED(tensor);
    if (check_open(runner, __func__) != BG_OK)
        return BG_ERROR_BUSY;
    input = find(&runner->inputs, name);
    if (input == NULL)
        return bg__fail(BG_ERROR_NOT_FOUND,
                        "bg_runner_bind_input: the runner has no input %s; declare it with "
                        "bg_runner_add_input",
                        name);
    bg__pages_clear(&input->pages);
    input->bound = true;
    input->tensor.data = data;
    *tensor = input->tensor;
    return BG_OK;
}

void bg__buffers_free(bg__buffers *buffers)
{
    for (int i = 0; i < buffers->count; i++) {
        bg__pages_clear(&buffers->list[i].pages);
        free(buffers->list[i].name);
    }
    free(buffers->list);
    *buffers = (bg__buffers){NULL, 0, 0};
}

/* ---- batches ---- */

typedef struct moves {
    bgk_rows list[BGK_ROWS_MAX];
    int count;
    cudaStream_t stream;
} moves;

static bg_status flush(moves *m)
{
    bg_status status = BG_OK;
    cudaError_t error = m->count > 0 ? bgk_move_rows(m->list, m->count, m->stream) : cudaSuccess;
    if (error != cudaSuccess) {
        status = bg__fail_cuda(error, "cudaLaunchKernelExC");
        bg__fail_where("the kernel that moves rows to and from the static buffers");
    }
    m->count = 0;
    return status;
}

static bg_status move(moves *m, const bgk_rows *rows)
{
    bg_status status = BG_OK;
    if (m->count == BGK_ROWS_MAX)
        BG__TRY(flush(m));
    m->list[m->count++] = *rows;
done:
    return status;
}

/* Whether a kernel of the runner's device reaches ptr; pageable memory and other devices' a copy must. By the driver's
 * own call, the cheapest. */
static bg_status check_reach(const bg_runner *runner, const void *ptr, bool *reached)
{
    CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                   CU_POINTER_ATTRIBUTE_IS_MANAGED};
    unsigned type = 0, managed = 0;
    int device = -1;
    void *answers[] = {&type, &device, &managed};
    bg_status status = BG_OK;

    BG__TRY_DRIVER("cuPointerGetAttributes",
                   runner->get_attributes(sizeof asked / sizeof *asked, asked, answers, (CUdeviceptr)(uintptr_t)ptr));
    *reached = managed || type == CU_MEMORYTYPE_HOST || (type == CU_MEMORYTYPE_DEVICE && device == runner->device);
done:
    return status;
}

static bgk_rows padding_of(const bg__buffer *input, int tokens, int padded)
{
    bgk_rows rows = {.target = input->tensor.data, .copied = (size_t)tokens * input->row, .row = input->row};
    rows.pattern = input->pattern;
    rows.kind = input->padding == BG_PAD_REPEAT_LAST && tokens > 0 ? BGK_TAIL_REPEAT : BGK_TAIL_PATTERN;
    if (input->padding != BG_PAD_KEEP)
        rows.tail = (size_t)(padded - tokens) * input->row;
    return rows;
}

bg_status bg__inputs_fill(bg_runner *runner, int count)
{
    moves m = {.stream = runner->stream};
    bg_status status = BG_OK;

    for (int i = 0; i < runner->inputs.count; i++) {
        bgk_rows rows = padding_of(&runner->inputs.list[i], 0, count);
        if (rows.tail > 0)
            BG__TRY(move(&m, &rows));
    }
    BG__TRY(flush(&m));
done:
    return status;
}

static bg_status check_shape(const bg__buffer *buffer, const char *what, const bg_tensor *tensor, int tokens)
{
    const bg_tensor *want = &buffer->tensor;
    if (tensor->dtype != want->dtype)
        return bg__fail(BG_ERROR_DTYPE, "bg_runner_run: %s %s is %s, it was declared as %s", what, buffer->name,
                        bg_dtype_name(tensor->dtype), bg_dtype_name(want->dtype));
    if (tensor->rank != want->rank)
        return bg__fail(BG_ERROR_SHAPE, "bg_runner_run: %s %s has rank %d, it was declared with %d", what, buffer->name,
                        tensor->rank, want->rank);
    if (tensor->dim[0] != tokens)
        return bg__fail(BG_ERROR_SHAPE, "bg_runner_run: %s %s has %lld rows, the batch %d tokens", what, buffer->name,
                        (long long)tensor->dim[0], tokens);
    for (int i = 1; i < want->rank; i++)
        if (tensor->dim[i] != want->dim[i])
            return bg__fail(BG_ERROR_SHAPE, "bg_runner_run: dimension %d of %s %s is %lld, it was declared as %lld", i,
                            what, buffer->name, (long long)tensor->dim[i], (long long)want->dim[i]);
    return BG_OK;
}

/* In the caller's place or in one that it was to write to itself: once it is told what that costs. */
static void note_elsewhere(const bg_runner *runner, bg__buffer *input)
{
    if (input->elsewhere || (!input->bound && runner->config.copy_inputs))
        return;
    input->elsewhere = true;
    bg__warn("input %s comes at another address than its static buffer's: it is copied in every run", input->name);
}

static bg_status load(bg_runner *runner, moves *m, bg__buffer *input, const void *source, int tokens, int padded)
{
    bgk_rows rows = padding_of(input, tokens, padded);
    bool reached = true;
    bg_status status = BG_OK;

    if (source != NULL && source != input->tensor.data) {
        note_elsewhere(runner, input);
        BG__TRY(check_reach(runner, source, &reached));
        if (reached)
            rows.source = source;
        else
            BG__TRY_CUDA(cudaMemcpyAsync(input->tensor.data, source, rows.copied, cudaMemcpyDefault, runner->stream));
    }
    if (rows.source != NULL || rows.tail > 0)
        BG__TRY(move(m, &rows));
done:
    if (status != BG_OK)
        bg__fail_where("bg_runner_run: input %s", input->name);
    return status;
}

bg_status bg__inputs_load(bg_runner *runner, const bg_tensor *tensors, int tokens, int padded)
{
    moves m = {.stream = runner->stream};
    bg_status status = BG_OK;

    for (int i = 0; i < runner->inputs.count; i++)
        if (tensors != NULL && tensors[i].data != NULL)
            BG__TRY(check_shape(&runner->inputs.list[i], "input", &tensors[i], tokens));
    for (int i = 0; i < runner->inputs.count; i++)
        BG__TRY(load(runner, &m, &runner->inputs.list[i], tensors ? tensors[i].data : NULL, tokens, padded));
    BG__TRY(flush(&m));
done:
    return status;
}

bg_status bg__outputs_check(const bg_runner *runner, const bg_tensor *tensors, int tokens)
{
    bg_status status = BG_OK;
    for (int i = 0; i < runner->outputs.count && tensors != NULL && status == BG_OK; i++)
        if (tensors[i].data != NULL)
            status = check_shape(&runner->outputs.list[i], "output", &tensors[i], tokens);
    return status;
}

static bg_status store(bg_runner *runner, moves *m, const bg__buffer *output, bg_tensor *tensor, int tokens)
{
    size_t bytes = (size_t)tokens * output->row;
    bgk_rows rows = {.target = tensor->data, .source = output->tensor.data, .copied = bytes, .row = output->row};
    bool reached;
    bg_status status = BG_OK;

    if (tensor->data == NULL) {
        *tensor = output->tensor;
        tensor->dim[0] = tokens;
    }
    if (tensor->data == output->tensor.data)
        return BG_OK;
    BG__TRY(check_reach(runner, tensor->data, &reached));
    if (reached)
        BG__TRY(move(m, &rows));
    else
        BG__TRY_CUDA(cudaMemcpyAsync(tensor->data, output->tensor.data, bytes, cudaMemcpyDefault, runner->stream));
done:
    if (status != BG_OK)
        bg__fail_where("bg_runner_run: output %s", output->name);
    return status;
}

bg_status bg__outputs_store(bg_runner *runner, bg_tensor *tensors, int tokens)
{
    moves m = {.stream = runner->stream};
    bg_status status = BG_OK;

    for (int i = 0; i < runner->outputs.count && tensors != NULL; i++)
        BG__TRY(store(runner, &m, &runner->outputs.list[i], &tensors[i], tokens));
    BG__TRY(flush(&m));
done:
    return status;
}
