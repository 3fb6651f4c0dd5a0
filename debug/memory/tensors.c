#include "tensors.h"

#include "capture/replay.h"

#include <breakgraph/config.h>

#include <cuda.h>
#include <cudaTypedefs.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Avoids snprintf except for elements of lists. Most tools visit the tensors of every call, but use few names, and
 * snprintf would take most of their time. */
static void write_tensor_name(bg__field_tensor *t)
{
    size_t length = strlen(t->field->name);

    if (t->field->role == BG_ROLE_OUTS) {
        snprintf(t->name, sizeof t->name, "%s[%u]", t->field->name, t->next_element);
        return;
    }
    length = length < sizeof t->name ? length : sizeof t->name - 1;
    memcpy(t->name, t->field->name, length);
    t->name[length] = '\0';
}

bool bg__field_tensor_next(const bg_op *op, const void *args, bg__field_tensor *t)
{
    while (t->next_field < op->field_count) {
        const bg_field *field = &op->fields[t->next_field];
        size_t at = t->next_element * sizeof(bg_tensor);
        if (!bg__field_has_tensors(field) || at >= field->size) {
            t->next_field++;
            t->next_element = 0;
            continue;
        }
        t->field = field;
        t->tensor = (const bg_tensor *)(const void *)((const char *)args + field->offset + at);
        write_tensor_name(t);
        t->input = field->role == BG_ROLE_IN || field->role == BG_ROLE_INOUT;
        t->output = field->role != BG_ROLE_IN;
        t->next_element++;
        return true;
    }
    return false;
}

int bg__field_tensor_count(const bg_op *op, const void *args)
{
    bg__field_tensor t = {0};
    int count = 0;
    while (bg__field_tensor_next(op, args, &t))
        count++;
    return count;
}

/* *covered: allocations that CUDA knows cover the whole tensor. A tensor in memory that was mapped in pieces has
 * several allocations. */
static bg_status is_covered_by_allocations(const bg_tensor *tensor, bool *covered)
{
    PFN_cuMemGetAddressRange_v3020 get_range = NULL;
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)tensor->data, end = at + bg_tensor_bytes(tensor), base;
    bg_status status;
    size_t bytes;

    *covered = false;
    BG__TRY(bg__driver_get_entry_point("cuMemGetAddressRange", 3020, (void *)&get_range));
    while (at < end) {
        CUresult result = get_range(&base, &bytes, at);
        if (result == CUDA_ERROR_NOT_FOUND || result == CUDA_ERROR_INVALID_VALUE) /* CUDA knows no memory there */
            goto done;
        BG__TRY_DRIVER("cuMemGetAddressRange", result);
        if (base + bytes <= at)
            goto done;
        at = base + bytes;
    }
    *covered = true;
done:
    return status;
}

bg_status bg__tensor_is_accessible(const bg_tensor *tensor, bool *reached)
{
    struct cudaPointerAttributes attributes;
    bg_status status = BG_OK;

    *reached = false;
    if (tensor->data == NULL || bg_tensor_bytes(tensor) == 0)
        return BG_OK;
    BG__TRY_CUDA(cudaPointerGetAttributes(&attributes, tensor->data));
    if (attributes.type != cudaMemoryTypeUnregistered && attributes.devicePointer != NULL)
        BG__TRY(is_covered_by_allocations(tensor, reached));
done:
    return status;
}

static const bg_forward_context *find_forward_context(const bg__call *call)
{
    while (call->parent != NULL)
        call = call->parent;
    return call->context;
}

bg_tensor bg__field_batch_rows(const bg__call *call, const bg__field_tensor *t)
{
    const bg_forward_context *context = find_forward_context(call);
    const bool rows = context != NULL && t->tensor->rank > 0 && t->tensor->dim[0] == context->padded_tokens;
    return rows || (t->output && !t->input && t->tensor->rank > 1) ? bg__tensor_batch_rows(call, t->tensor)
                                                                   : *t->tensor;
}

bg_tensor bg__tensor_batch_rows(const bg__call *call, const bg_tensor *tensor)
{
    const bg_forward_context *context = find_forward_context(call);
    bg_tensor rows = *tensor;

    if (context != NULL && context->batch.tokens < context->padded_tokens && rows.rank > 0 &&
        rows.dim[0] % context->padded_tokens == 0)
        rows.dim[0] = rows.dim[0] / context->padded_tokens * context->batch.tokens;
    return rows;
}

bool bg__tensor_overlaps(const bg_tensor *a, const bg_tensor *b)
{
    uintptr_t x = (uintptr_t)a->data, y = (uintptr_t)b->data;
    return x < y + bg_tensor_bytes(b) && y < x + bg_tensor_bytes(a);
}

static bool writes_into(const bg__call *call, const bg_tensor *tensor)
{
    bg__field_tensor t = {0};
    while (call->kept != NULL && bg__field_tensor_next(call->op, call->kept, &t))
        if (t.output && bg__tensor_overlaps(t.tensor, tensor))
            return true;
    return false;
}

/* The index of a call in its run. */
static int place_in_run(const bg__call *call)
{
    int place = 0;
    while (call->run->members[place] != call)
        place++;
    return place;
}

bool bg__run_writes_before(const bg__call *call, const bg_tensor *tensor)
{
    bool makes = false;
    for (int i = 0, end = call->run != NULL ? place_in_run(call) : 0; i < end && !makes; i++)
        makes = writes_into(call->run->members[i], tensor);
    return makes;
}

bool bg__run_writes_after(const bg__call *call, const bg_tensor *tensor)
{
    bool overwrites = false;
    for (int i = call->run != NULL ? place_in_run(call) + 1 : INT_MAX; call->run != NULL && i < call->run->member_count;
         i++)
        overwrites |= writes_into(call->run->members[i], tensor);
    return overwrites;
}

bool bg__call_is_idle(const bg__call *call)
{
    if (call->eager || call->first_node < 0 || call->end_node < 0 || call->segment != call->end_segment ||
        call->first_node != call->end_node)
        return false;
    for (const bg__call *child = call->child; child != NULL; child = child->next)
        if (!bg__call_is_idle(child))
            return false;
    return true;
}

bg_status bg__wait_for_device(const char *function)
{
    bg_status status = BG_OK;
    if (bg__capturing_streams_any())
        return bg__fail(BG_ERROR_BUSY,
                        "%s waits for the device, which would invalidate the capture that another thread has open; "
                        "call it when no thread captures",
                        function);
    BG__TRY_CUDA(cudaDeviceSynchronize());
done:
    return status;
}

bg_status bg__wait_for_stream(cudaStream_t stream)
{
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg_status status;

    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    BG__TRY_CUDA(cudaStreamSynchronize(stream));
done:
    bg__relaxed_mode_end(relaxed);
    return status;
}

bg_status bg__copy_and_wait(void *to, const void *from, size_t bytes, cudaStream_t stream)
{
    bg_status status = BG_OK;
    BG__TRY_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
    BG__TRY_CUDA(cudaStreamSynchronize(stream));
done:
    return status;
}

bg_status bg__spans_read(const bg__spans *spans, void *to, cudaStream_t stream)
{
    unsigned char *next = to;
    bg_status status = BG_OK;
    for (size_t i = 0; i < spans->count; i++) {
        const bg__span *span = &spans->list[i];
        BG__TRY_CUDA(
            cudaMemcpyAsync(next, (const void *)span->begin, span->end - span->begin, cudaMemcpyDefault, stream));
        next += span->end - span->begin;
    }
    BG__TRY_CUDA(cudaStreamSynchronize(stream));
done:
    return status;
}

static bool find_float_format(bg_dtype dtype, bgk_float *format)
{
    switch (dtype) {
    case BG_F32: *format = BGK_F32; return true;
    case BG_F64: *format = BGK_F64; return true;
    case BG_F16: *format = BGK_F16; return true;
    case BG_BF16: *format = BGK_BF16; return true;
    default: return false;
    }
}

bg_status bg__tensor_count_specials(const bg_tensor *tensor, bgk_specials *room, cudaStream_t stream,
                                    bgk_specials *counts)
{
    const bgk_specials none = BGK_SPECIALS_NONE;
    bgk_float format = BGK_F32;
    bg_status status = BG_OK;
    cudaError_t error;

    find_float_format(tensor->dtype, &format);
    *counts = none;
    BG__TRY_CUDA(cudaMemcpyAsync(room, &none, sizeof none, cudaMemcpyHostToDevice, stream));
    error =
        bgk_count_specials(room, tensor->data, bg_tensor_bytes(tensor) / bg_dtype_bytes(tensor->dtype), format, stream);
    if (error != cudaSuccess) {
        status = bg__fail_cuda(error, "cudaLaunchKernelExC");
        bg__error_add_location("the kernel that counts NaN and infinities");
        goto done;
    }
    BG__TRY(bg__copy_and_wait(counts, room, sizeof *counts, stream));
done:
    return status;
}
