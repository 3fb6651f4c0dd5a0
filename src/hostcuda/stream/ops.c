#include "hostcuda/stream/ops.h"

#include "hostcuda/stream/event.h"
#include "hostcuda/graph/graph.h"
#include "hostcuda/memory/backing.h"
#include "hostcuda/memory/fence.h"
#include "hostcuda/memory/modes.h"

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct hc_op *make(enum hc_op_kind kind, size_t storage_bytes)
{
    struct hc_op *op = calloc(1, sizeof *op + storage_bytes);
    if (op) {
        op->references = 1;
        op->kind = kind;
    }
    return op;
}

struct hc_op *hc_op_launch(struct hc_kernel *kernel, dim3 grid, dim3 block, size_t shared_bytes, void **arguments)
{
    size_t count = kernel->type->count;
    /* 15 bytes more: parameters may be aligned to 16, behind the pointers */
    size_t pointers = (count * sizeof(void *) + 15) / 16 * 16;
    struct hc_op *op = make(HC_OP_KERNEL, pointers + hc_kernel_parameter_bytes(kernel));
    if (!op)
        return NULL;
    op->launch.kernel = kernel;
    op->launch.grid = grid;
    op->launch.block = block;
    op->launch.shared_bytes = shared_bytes;
    op->launch.arguments = (void **)(void *)op->storage;
    for (size_t i = 0; i < count; i++) {
        op->launch.arguments[i] = op->storage + pointers + kernel->type->offsets[i];
        memcpy(op->launch.arguments[i], arguments[i], kernel->type->sizes[i]);
    }
    if (kernel->hooks)
        kernel->hooks->retain(op->launch.arguments);
    return op;
}

static void copy_slice(const struct hc_copy *copy, const void *from, size_t from_pitch)
{
    if (copy->to_pitch == copy->width && from_pitch == copy->width) {
        memmove(copy->to, from, copy->width * copy->height);
        return;
    }
    for (size_t row = 0; row < copy->height; row++)
        memmove((char *)copy->to + row * copy->to_pitch, (const char *)from + row * from_pitch, copy->width);
}

static void copy_rows(const struct hc_copy *copy, const void *from, size_t from_pitch)
{
    struct hc_copy slice = *copy;
    copy_slice(&slice, from, from_pitch);
    for (size_t i = 1; i < copy->depth; i++) {
        slice.to = (char *)copy->to + i * copy->to_slice;
        copy_slice(&slice, (const char *)from + i * copy->from_slice, from_pitch);
    }
}

struct hc_op *hc_op_copy(const struct hc_copy *copy, bool snapshot)
{
    size_t slice = copy->width * copy->height;
    struct hc_op *op = make(HC_OP_COPY, snapshot ? slice * (copy->depth > 1 ? copy->depth : 1) : 0);
    if (!op)
        return NULL;
    op->copy = *copy;
    if (snapshot) {
        struct hc_copy packed = *copy;
        packed.to = op->storage;
        packed.to_pitch = copy->width;
        packed.to_slice = slice;
        copy_rows(&packed, copy->from, copy->from_pitch);
        op->copy.from = op->storage;
        op->copy.from_pitch = copy->width;
        op->copy.from_slice = slice;
    }
    return op;
}

struct hc_op *hc_op_fill(const struct cudaMemsetParams *fill)
{
    struct hc_op *op = make(HC_OP_FILL, 0);
    if (op)
        op->fill = *fill;
    return op;
}

struct hc_op *hc_op_host(cudaHostFn_t function, void *user)
{
    struct hc_op *op = make(HC_OP_HOST, 0);
    if (op)
        op->host = (struct cudaHostNodeParams){function, user};
    return op;
}

struct callback {
    cudaStreamCallback_t function;
    cudaStream_t stream;
    void *user;
};

static void call_back(void *data)
{
    const struct callback *callback = data;
    callback->function(callback->stream, cudaSuccess, callback->user);
}

struct hc_op *hc_op_callback(cudaStreamCallback_t callback, cudaStream_t stream, void *user)
{
    struct hc_op *op = make(HC_OP_HOST, sizeof(struct callback));
    if (op) {
        const struct callback contents = {callback, stream, user};
        memcpy(op->storage, &contents, sizeof contents);
        op->host = (struct cudaHostNodeParams){call_back, op->storage};
    }
    return op;
}

struct hc_op *hc_op_empty(void)
{
    return make(HC_OP_EMPTY, 0);
}

struct hc_op *hc_op_event(enum hc_op_kind kind, cudaEvent_t event)
{
    struct hc_op *op = make(kind, 0);
    if (op) {
        op->event = event;
        hc_event_retain(event);
    }
    return op;
}

struct hc_op *hc_op_memory(enum hc_op_kind kind, struct hc_block *block)
{
    struct hc_op *op = make(kind, 0);
    if (op) {
        op->block = block;
        hc_block_retain(block);
    }
    return op;
}

struct hc_op *hc_op_child(cudaGraph_t child)
{
    struct hc_op *op = make(HC_OP_CHILD, 0);
    if (op) {
        op->child = child;
        child->owned = true;
    }
    return op;
}

struct hc_op *hc_op_retain(struct hc_op *op)
{
    op->references++;
    return op;
}

void hc_op_release(struct hc_op *op)
{
    if (!op || --op->references)
        return;
    if (op->kind == HC_OP_RECORD || op->kind == HC_OP_WAIT)
        hc_event_release(op->event);
    if (op->kind == HC_OP_ALLOC || op->kind == HC_OP_FREE)
        hc_block_release(op->block);
    if (op->kind == HC_OP_CHILD)
        hc_graph_destroy(op->child);
    if (op->kind == HC_OP_KERNEL && op->launch.kernel->hooks)
        op->launch.kernel->hooks->release(op->launch.arguments);
    free(op);
}

static void fill_row(unsigned char *row, const struct cudaMemsetParams *fill)
{
    if (fill->elementSize == 1) {
        memset(row, (int)fill->value, fill->width);
        return;
    }
    uint16_t half = (uint16_t)fill->value;
    uint32_t word = fill->value;
    const void *element = fill->elementSize == 2 ? (const void *)&half : (const void *)&word;
    for (size_t i = 0; i < fill->width; i++)
        memcpy(row + i * fill->elementSize, element, fill->elementSize);
}

/* Memory that was not there at the capture may be by now. Instantiating looks, too; an update does not. */
static cudaError_t run_fill(const struct hc_op *op)
{
    cudaError_t error = cudaSuccess;
    if (op->unchecked) {
        hc_lock();
        error = hc_fill_check(&op->fill);
        hc_unlock();
    }
    if (error) {
        fprintf(stderr, "hostcuda: a captured fill of %zu bytes at %p touches memory that was not allocated\n",
                op->fill.width * op->fill.elementSize, op->fill.dst);
        return cudaErrorIllegalAddress;
    }
    for (size_t row = 0; row < op->fill.height; row++)
        fill_row((unsigned char *)op->fill.dst + row * op->fill.pitch, &op->fill);
    return cudaSuccess;
}

static void run_host(const struct cudaHostNodeParams *host)
{
    struct hc_thread *thread = hc_thread();
    thread->in_host_function = true; /* calls of the API are not permitted there */
    host->fn(host->userData);
    thread->in_host_function = false;
}

/* With the lock: other threads take and give back memory meanwhile. */
static void set_live(const struct hc_op *op)
{
    hc_lock();
    hc_backing_set_live(op->block->base, op->kind == HC_OP_ALLOC);
    hc_unlock();
}

static cudaError_t run(const void *data)
{
    const struct hc_op *op = data;
    switch (op->kind) {
    case HC_OP_KERNEL:
        return hc_kernel_run(op->launch.kernel, op->launch.grid, op->launch.block, op->launch.shared_bytes,
                             op->launch.arguments);
    case HC_OP_COPY: copy_rows(&op->copy, op->copy.from, op->copy.from_pitch); break;
    case HC_OP_FILL: return run_fill(op);
    case HC_OP_HOST: run_host(&op->host); break;
    case HC_OP_EMPTY:
    case HC_OP_RECORD:
    case HC_OP_WAIT:
    case HC_OP_CHILD: break;
    case HC_OP_ALLOC:
    case HC_OP_FREE: set_live(op); break;
    }
    return cudaSuccess;
}

static const char *name_of(const struct hc_op *op, char *text, size_t bytes)
{
    if (op->kind == HC_OP_COPY)
        return "a copy";
    if (op->kind == HC_OP_FILL)
        return "a fill";
    if (op->kind != HC_OP_KERNEL)
        return "device work";
    snprintf(text, bytes, "kernel %s", hc_kernel_known_name(op->launch.kernel));
    return text;
}

cudaError_t hc_op_run(const struct hc_op *op)
{
    char name[300];
    if (!(hc_memory_modes & HC_FENCE))
        return run(op);
    hc_fence_install();
    /* the program's own function is host code, and may touch no device memory */
    return op->kind == HC_OP_HOST ? run(op) : hc_fence_run(run, op, name_of(op, name, sizeof name));
}

bool hc_op_ready(const struct hc_op *op, uint64_t sequence)
{
    return !hc_op_waits(op) || op->launch.kernel->hooks->ready(op->launch.arguments, sequence);
}

bool hc_op_waits(const struct hc_op *op)
{
    return op->kind == HC_OP_KERNEL && op->launch.kernel->hooks;
}

void hc_op_skip(const struct hc_op *op)
{
    if (hc_op_waits(op))
        op->launch.kernel->hooks->skip(op->launch.arguments);
}

void hc_op_finish(const struct hc_op *op)
{
    if (op->kind == HC_OP_FREE)
        hc_block_release(op->block); /* the program's reference; the op keeps its own */
}

/* Parameters in CUDA's `extra` form: one buffer, laid out as the kernel has them. */
struct buffer {
    const char *data;
    size_t bytes;
};

/* An empty list is as none (measured). */
static bool has_buffer(const struct cudaKernelNodeParams *params)
{
    return params->extra && *params->extra != CU_LAUNCH_PARAM_END;
}

/* False: the list is malformed, or there is nothing in the buffer. */
static bool read_buffer(void **extra, struct buffer *buffer)
{
    const size_t *bytes = NULL;
    buffer->data = NULL;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
        if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer->data = extra[1];
        else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
            bytes = extra[1];
        else
            return false;
    }
    buffer->bytes = bytes ? *bytes : 0;
    return buffer->data && buffer->bytes;
}

cudaError_t hc_check_buffer(const struct cudaKernelNodeParams *params)
{
    struct buffer buffer;
    const struct hc_kernel *kernel = hc_kernel_find(params->func);
    if (!has_buffer(params) || !kernel)
        return cudaSuccess;
    if (params->kernelParams || !read_buffer(params->extra, &buffer))
        return cudaErrorInvalidValue;
    return buffer.bytes > hc_kernel_parameter_bytes(kernel) ? cudaErrorLaunchOutOfResources : cudaSuccess;
}

/* What the program will be given when it asks: the op's own copy, as the buffer that it gave; the size comes first, as
 * from CUDA (measured). */
static void keep_packed(struct hc_op *op, size_t bytes)
{
    op->launch.packed = true;
    op->launch.packed_bytes = bytes;
    op->launch.extra[0] = CU_LAUNCH_PARAM_BUFFER_SIZE;
    op->launch.extra[1] = &op->launch.packed_bytes;
    op->launch.extra[2] = CU_LAUNCH_PARAM_BUFFER_POINTER;
    op->launch.extra[3] = op->launch.arguments[0];
    op->launch.extra[4] = CU_LAUNCH_PARAM_END;
}

/* A buffer may end early: what is missing is 0 (measured). */
static cudaError_t from_packed(const struct cudaKernelNodeParams *params, struct hc_kernel *kernel, struct hc_op **op)
{
    size_t count = kernel->type->count;
    struct buffer buffer;
    if (hc_check_buffer(params) || !read_buffer(params->extra, &buffer))
        return cudaErrorInvalidValue;
    void **arguments = calloc(1, count * sizeof(*arguments) + hc_kernel_parameter_bytes(kernel));
    if (!arguments)
        return cudaErrorMemoryAllocation;
    char *whole = (char *)(arguments + count);
    memcpy(whole, buffer.data, buffer.bytes);
    for (size_t i = 0; i < count; i++)
        arguments[i] = whole + kernel->type->offsets[i];
    *op = hc_op_launch(kernel, params->gridDim, params->blockDim, params->sharedMemBytes, arguments);
    free(arguments);
    if (!*op)
        return cudaErrorMemoryAllocation;
    keep_packed(*op, buffer.bytes);
    return cudaSuccess;
}

static bool has_arguments(const struct cudaKernelNodeParams *params, size_t count)
{
    if (count && !params->kernelParams)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!params->kernelParams[i])
            return false;
    return true;
}

cudaError_t hc_op_from_kernel_params(const struct cudaKernelNodeParams *params, struct hc_op **op)
{
    if (!params->func)
        return cudaErrorInvalidDeviceFunction; /* measured */
    struct hc_kernel *kernel = hc_kernel_find(params->func);
    cudaError_t error = hc_kernel_check(kernel, params->gridDim, params->blockDim, params->sharedMemBytes);
    if (error)
        return error;
    hc_kernel_name(kernel); /* while the lock is held: messages need it later */
    if (has_buffer(params))
        return from_packed(params, kernel, op);
    if (!has_arguments(params, kernel->type->count))
        return cudaErrorInvalidValue;
    *op = hc_op_launch(kernel, params->gridDim, params->blockDim, params->sharedMemBytes, params->kernelParams);
    return *op ? cudaSuccess : cudaErrorMemoryAllocation;
}
