#include "hostcuda/src/runtime/runtime_copy.h"

#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/call/driver_translation.h"
#include "hostcuda/src/memory/backing.h"
#include "hostcuda/src/memory/memory_blocks.h"
#include "hostcuda/src/stream/queue_run.h"
#include "hostcuda/src/stream/submit.h"

static bool is_pageable(const void *address)
{
    return !hc_block_find(address) && !hc_backing_owns(address);
}

static bool is_empty_copy(const struct hc_copy *copy)
{
    return !copy->width || !copy->height;
}

/* Pageable sources are read now, unless a graph reads them in each launch. */
static cudaError_t issue_copy(const struct hc_copy *copy, cudaStream_t stream)
{
    bool snapshot = !stream->capture && is_pageable(copy->from);
    struct hc_op *op = hc_op_make_copy(copy, snapshot);
    return op ? hc_stream_submit(stream, op) : cudaErrorMemoryAllocation;
}

static bool is_on_device(const void *address)
{
    const struct hc_block *block = hc_block_find(address);
    return block && block->kind == HC_MEMORY_DEVICE;
}

/* Whether the call returns only when the copy is done. CUDA's call does, too, for copies to pageable memory and for
 * copies within the host (measured). */
static bool is_awaited(const struct hc_copy *copy)
{
    return is_pageable(copy->to) || (!is_on_device(copy->to) && !is_on_device(copy->from));
}

/* Whether the copy is between the memories of two devices on the legacy stream, so that all work of both devices is
 * ordered with it. */
static bool is_between_devices(const struct hc_copy *copy, const struct CUstream_st *stream)
{
    return !stream->capture && stream == hc_device(stream->device)->legacy && is_on_device(copy->from) &&
           is_on_device(copy->to) && hc_block_find(copy->from)->device != hc_block_find(copy->to)->device;
}

/* Runs all work that must come before a copy between devices. The caller then waits for the copy, so that all later
 * work follows it. */
static cudaError_t wait_for_both_devices(const struct hc_copy *copy, const struct CUstream_st *stream)
{
    const int devices[] = {hc_block_find(copy->from)->device, hc_block_find(copy->to)->device, stream->device};
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; !error && i < sizeof devices / sizeof *devices; i++)
        error = hc_run_device(devices[i]);
    return error;
}

cudaError_t hc_copy_async(const struct hc_copy *copy, cudaStream_t handle)
{
    cudaStream_t stream = NULL;
    cudaError_t error = hc_stream_for_work(handle, &stream);
    if (error || is_empty_copy(copy))
        return error;
    error = hc_copy_check(copy);
    bool across = !error && is_between_devices(copy, stream);
    if (across)
        error = wait_for_both_devices(copy, stream);
    if (!error)
        error = issue_copy(copy, stream);
    if (!error && !stream->capture && (across || is_awaited(copy)))
        error = hc_run_stream(stream);
    return error;
}

/* A copy between device memories need not be done when the call returns. */
cudaError_t hc_copy_sync(const struct hc_copy *copy)
{
    cudaStream_t stream = NULL;
    cudaError_t error = hc_stream_for_work(cudaStreamLegacy, &stream);
    if (error || is_empty_copy(copy))
        return error;
    error = hc_copy_check(copy);
    if (error)
        return error;
    bool across = is_between_devices(copy, stream),
         stays = is_on_device(copy->from) && is_on_device(copy->to) && !across;
    error = across ? wait_for_both_devices(copy, stream) : cudaSuccess;
    if (!error)
        error = issue_copy(copy, stream);
    return error || stays ? error : hc_run_stream(stream);
}

static struct hc_copy copy_of_rows(void *to, const void *from, size_t to_pitch, size_t from_pitch, size_t width,
                                   size_t height, enum cudaMemcpyKind kind)
{
    return (struct hc_copy){.to = to,
                            .from = from,
                            .to_pitch = to_pitch,
                            .from_pitch = from_pitch,
                            .width = width,
                            .height = height,
                            .kind = kind};
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY2D driver;
    if (HC_GOES_THROUGH_DRIVER) {
        HC_THROUGH_DRIVER_IF(kind == cudaMemcpyHostToDevice, cuMemcpyHtoD, HC_ADDRESS(dst), src, count);
        HC_THROUGH_DRIVER_IF(kind == cudaMemcpyDeviceToHost, cuMemcpyDtoH, dst, HC_ADDRESS(src), count);
        HC_THROUGH_DRIVER_IF(kind == cudaMemcpyDeviceToDevice, cuMemcpyDtoD, HC_ADDRESS(dst), HC_ADDRESS(src), count);
        HC_THROUGH_DRIVER_IF(kind == cudaMemcpyDefault, cuMemcpy, HC_ADDRESS(dst), HC_ADDRESS(src), count);
        HC_THROUGH_DRIVER_IF(hc_copy_2d_to_driver(dst, count, src, count, count, 1, kind, &driver), cuMemcpy2D,
                             &driver);
    }
    const struct hc_copy copy = copy_of_rows(dst, src, count, count, count, 1, kind);
    HC_CALL(hc_copy_sync(&copy));
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    CUDA_MEMCPY2D driver;
    if (HC_GOES_THROUGH_DRIVER) {
        HC_THROUGH_DRIVER_IF(kind == cudaMemcpyHostToDevice, cuMemcpyHtoDAsync, HC_ADDRESS(dst), src, count, stream);
        HC_THROUGH_DRIVER_IF(kind == cudaMemcpyDeviceToHost, cuMemcpyDtoHAsync, dst, HC_ADDRESS(src), count, stream);
        HC_THROUGH_DRIVER_IF(kind == cudaMemcpyDeviceToDevice, cuMemcpyDtoDAsync, HC_ADDRESS(dst), HC_ADDRESS(src),
                             count, stream);
        HC_THROUGH_DRIVER_IF(kind == cudaMemcpyDefault, cuMemcpyAsync, HC_ADDRESS(dst), HC_ADDRESS(src), count, stream);
        HC_THROUGH_DRIVER_IF(hc_copy_2d_to_driver(dst, count, src, count, count, 1, kind, &driver), cuMemcpy2DAsync,
                             &driver, stream);
    }
    const struct hc_copy copy = copy_of_rows(dst, src, count, count, count, 1, kind);
    HC_CALL(hc_copy_async(&copy, stream));
}

cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                         enum cudaMemcpyKind kind)
{
    CUDA_MEMCPY2D driver;
    HC_THROUGH_DRIVER_IF(hc_copy_2d_to_driver(dst, dpitch, src, spitch, width, height, kind, &driver), cuMemcpy2D,
                         &driver);
    const struct hc_copy copy = copy_of_rows(dst, src, dpitch, spitch, width, height, kind);
    HC_CALL(hc_copy_sync(&copy));
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    CUDA_MEMCPY2D driver;
    HC_THROUGH_DRIVER_IF(hc_copy_2d_to_driver(dst, dpitch, src, spitch, width, height, kind, &driver), cuMemcpy2DAsync,
                         &driver, stream);
    const struct hc_copy copy = copy_of_rows(dst, src, dpitch, spitch, width, height, kind);
    HC_CALL(hc_copy_async(&copy, stream));
}

cudaError_t hc_fill_memory(const struct cudaMemsetParams *params, cudaStream_t handle, bool wait)
{
    cudaStream_t stream = NULL;
    cudaError_t error = hc_stream_for_work(handle, &stream);
    if (error || !params->width || !params->height)
        return error;
    /* in a capture, CUDA does not check the memory (measured) */
    error = stream->capture ? hc_fill_check_shape(params) : hc_fill_check(params);
    if (error)
        return error;
    bool stays = is_on_device(params->dst);
    struct hc_op *op = hc_op_make_fill(params);
    if (op)
        op->unchecked = hc_fill_check(params) != cudaSuccess;
    error = op ? hc_stream_submit(stream, op) : cudaErrorMemoryAllocation;
    return error || !wait || stays ? error : hc_run_stream(stream);
}

static struct cudaMemsetParams fill_of_rows(void *address, size_t pitch, int value, size_t width, size_t height)
{
    return (struct cudaMemsetParams){address, pitch, (unsigned)value & 255u, 1, width, height};
}

cudaError_t cudaMemset(void *devPtr, int value, size_t count)
{
    HC_THROUGH_DRIVER(cuMemsetD8, HC_ADDRESS(devPtr), (unsigned char)value, count);
    const struct cudaMemsetParams params = fill_of_rows(devPtr, 0, value, count, 1);
    HC_CALL(hc_fill_memory(&params, cudaStreamLegacy, true));
}

cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
    HC_THROUGH_DRIVER(cuMemsetD8Async, HC_ADDRESS(devPtr), (unsigned char)value, count, stream);
    const struct cudaMemsetParams params = fill_of_rows(devPtr, 0, value, count, 1);
    HC_CALL(hc_fill_memory(&params, stream, false));
}

cudaError_t cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width, size_t height)
{
    HC_THROUGH_DRIVER(cuMemsetD2D8, HC_ADDRESS(devPtr), pitch, (unsigned char)value, width, height);
    const struct cudaMemsetParams params = fill_of_rows(devPtr, pitch, value, width, height);
    HC_CALL(hc_fill_memory(&params, cudaStreamLegacy, true));
}

cudaError_t cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream)
{
    HC_THROUGH_DRIVER(cuMemsetD2D8Async, HC_ADDRESS(devPtr), pitch, (unsigned char)value, width, height, stream);
    const struct cudaMemsetParams params = fill_of_rows(devPtr, pitch, value, width, height);
    HC_CALL(hc_fill_memory(&params, stream, false));
}
