#include "hostcuda/src/op/op_kinds.h"

#include "hostcuda/src/kernel/integer_division.h"
#include "hostcuda/src/memory/backing.h"
#include "hostcuda/src/memory/fence.h"
#include "hostcuda/src/memory/memory_modes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hc_op *hc_op_make(enum hc_op_kind kind, size_t storage_bytes)
{
    struct hc_op *op = calloc(1, sizeof *op + storage_bytes);
    if (op) {
        op->references = 1;
        op->kind = kind;
    }
    return op;
}

static void release_arguments(const struct hc_op *op)
{
    op->launch.kernel->hooks->release(op->launch.arguments);
}

struct hc_op *hc_op_make_launch(struct hc_kernel *kernel, dim3 grid, dim3 block, size_t shared_bytes, void **arguments)
{
    size_t count = kernel->type->count;
    /* 15 more bytes: parameters may need an alignment of 16 behind the pointers */
    size_t pointers = (count * sizeof(void *) + 15) / 16 * 16;
    struct hc_op *op = hc_op_make(HC_OP_KERNEL, pointers + hc_kernel_parameter_bytes(kernel));
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
    if (kernel->hooks) {
        kernel->hooks->retain(op->launch.arguments);
        op->release_references = release_arguments;
    }
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

struct hc_op *hc_op_make_copy(const struct hc_copy *copy, bool snapshot)
{
    size_t slice = copy->width * copy->height;
    struct hc_op *op = hc_op_make(HC_OP_COPY, snapshot ? slice * (copy->depth > 1 ? copy->depth : 1) : 0);
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

struct hc_op *hc_op_make_fill(const struct cudaMemsetParams *fill)
{
    struct hc_op *op = hc_op_make(HC_OP_FILL, 0);
    if (op)
        op->fill = *fill;
    return op;
}

struct hc_op *hc_op_make_host(cudaHostFn_t function, void *user)
{
    struct hc_op *op = hc_op_make(HC_OP_HOST, 0);
    if (op)
        op->host = (struct cudaHostNodeParams){function, user};
    return op;
}

struct callback {
    cudaStreamCallback_t function;
    cudaStream_t stream;
    void *user;
    cudaError_t error;
};

static void run_callback(void *data)
{
    const struct callback *callback = data;
    callback->function(callback->stream, callback->error, callback->user);
}

bool hc_op_runs_after_error(const struct hc_op *op)
{
    return op->kind == HC_OP_HOST && op->host.fn == run_callback;
}

void hc_op_set_error(struct hc_op *op, cudaError_t error)
{
    if (hc_op_runs_after_error(op))
        ((struct callback *)op->host.userData)->error = error;
}

struct hc_op *hc_op_make_callback(cudaStreamCallback_t callback, cudaStream_t stream, void *user)
{
    struct hc_op *op = hc_op_make(HC_OP_HOST, sizeof(struct callback));
    if (op) {
        const struct callback contents = {callback, stream, user, cudaSuccess};
        memcpy(op->storage, &contents, sizeof contents);
        op->host = (struct cudaHostNodeParams){run_callback, op->storage};
    }
    return op;
}

struct hc_op *hc_op_make_empty(void)
{
    return hc_op_make(HC_OP_EMPTY, 0);
}

static void release_block(const struct hc_op *op)
{
    hc_block_release(op->block);
}

static struct hc_op *make_memory_op(enum hc_op_kind kind, struct hc_block *block, size_t storage_bytes)
{
    struct hc_op *op = hc_op_make(kind, storage_bytes);
    if (op) {
        op->block = block;
        op->release_references = release_block;
        hc_block_retain(block);
    }
    return op;
}

struct hc_op *hc_op_make_memory(enum hc_op_kind kind, struct hc_block *block)
{
    return make_memory_op(kind, block, 0);
}

struct hc_op *hc_op_make_allocation(struct hc_block *block, const struct cudaMemAccessDesc *access, size_t count)
{
    struct hc_op *op = make_memory_op(HC_OP_ALLOC, block, count * sizeof *access);
    if (op)
        op->access_count = count;
    if (op && count)
        memcpy(op->storage, access, count * sizeof *access);
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
    if (op->release_references)
        op->release_references(op);
    free(op);
}

/* Returns the pattern that a GPU repeats along a row: a value too large for its element also sets the elements behind
 * it (measured). */
static uint32_t fill_word(const struct cudaMemsetParams *fill)
{
    uint32_t word = fill->value;
    if (fill->elementSize == 1)
        word |= word << 8;
    return fill->elementSize == 4 ? word : word | word << 16;
}

static void fill_row(unsigned char *row, const struct cudaMemsetParams *fill)
{
    const uint32_t word = fill_word(fill);
    const size_t bytes = fill->width * fill->elementSize;
    if (word == (word & 255u) * 0x01010101u) {
        memset(row, (int)(word & 255u), bytes);
        return;
    }
    size_t at = 0;
    for (; at + sizeof word <= bytes; at += sizeof word)
        memcpy(row + at, &word, sizeof word);
    memcpy(row + at, &word, bytes - at);
}

/* Checks the memory again, since it may exist now although it did not at the capture. Instantiation checks it, too; an
 * update does not. */
static cudaError_t run_fill(const struct hc_op *op)
{
    cudaError_t error = cudaSuccess;
    if (op->unchecked) {
        hc_lock();
        error = hc_fill_check(&op->fill);
        hc_unlock();
    }
    if (error) {
        fprintf(stderr,
                "hostcuda: a memset node at %p (%zu bytes in each of %zu rows) writes memory that is not allocated; "
                "allocate it before the launch\n",
                op->fill.dst, op->fill.width * op->fill.elementSize, op->fill.height);
        return cudaErrorIllegalAddress;
    }
    for (size_t row = 0; row < op->fill.height; row++)
        fill_row((unsigned char *)op->fill.dst + row * op->fill.pitch, &op->fill);
    return cudaSuccess;
}

static void run_host_function(const struct cudaHostNodeParams *host)
{
    struct hc_thread *thread = hc_thread();
    const struct hc_call_state around = thread->inside;
    thread->inside = (struct hc_call_state){.host_function = true}; /* API calls are not permitted there */
    host->fn(host->userData);
    hc_division_recheck_handler();
    thread->inside = around;
}

/* Needs the lock: other threads allocate and free memory meanwhile. */
static void set_block_live(const struct hc_op *op)
{
    hc_lock();
    hc_backing_set_live(op->block->base, op->kind == HC_OP_ALLOC);
    hc_unlock();
}

static cudaError_t run_op(const void *data)
{
    const struct hc_op *op = data;
    switch (op->kind) {
    case HC_OP_KERNEL:
        return hc_kernel_run(op->launch.kernel, op->launch.grid, op->launch.block, op->launch.shared_bytes,
                             op->launch.arguments);
    case HC_OP_COPY: copy_rows(&op->copy, op->copy.from, op->copy.from_pitch); break;
    case HC_OP_FILL: return run_fill(op);
    case HC_OP_HOST: run_host_function(&op->host); break;
    case HC_OP_EMPTY:
    case HC_OP_RECORD:
    case HC_OP_WAIT:
    case HC_OP_CHILD: break;
    case HC_OP_ALLOC:
    case HC_OP_FREE: set_block_live(op); break;
    }
    return cudaSuccess;
}

static const char *op_name(const struct hc_op *op, char *text, size_t bytes)
{
    if (op->kind == HC_OP_COPY)
        return "a memcpy";
    if (op->kind == HC_OP_FILL)
        return "a memset";
    if (op->kind != HC_OP_KERNEL)
        return "device work";
    snprintf(text, bytes, "kernel %s", hc_kernel_name_unlocked(op->launch.kernel));
    return text;
}

cudaError_t hc_op_run(const struct hc_op *op)
{
    char name[300];
    if (!(hc_memory_modes & HC_FENCE))
        return run_op(op);
    hc_fence_install_handler();
    /* a host function may not access device memory */
    return op->kind == HC_OP_HOST ? run_op(op) : hc_fence_run(run_op, op, op_name(op, name, sizeof name));
}

bool hc_op_ready(const struct hc_op *op, uint64_t sequence)
{
    return !hc_op_may_wait(op) || op->launch.kernel->hooks->ready(op->launch.arguments, sequence);
}

bool hc_op_may_wait(const struct hc_op *op)
{
    return op->kind == HC_OP_KERNEL && op->launch.kernel->hooks;
}

void hc_op_skip(const struct hc_op *op)
{
    if (hc_op_may_wait(op))
        op->launch.kernel->hooks->skip(op->launch.arguments);
}

void hc_op_finish(const struct hc_op *op)
{
    if (op->kind == HC_OP_FREE)
        hc_block_release(op->block); /* the program's reference; the op has its own */
}
