#include "hostcuda/src/memory/memory_copy.h"

#include "hostcuda/src/memory/memory_blocks.h"

enum side { SIDE_ANY, SIDE_HOST, SIDE_DEVICE };

/* Returns the number of bytes from the first to the last byte that one side of a copy accesses. */
static size_t touched_bytes(size_t pitch, size_t width, size_t height)
{
    return (height - 1) * pitch + width;
}

static size_t touched_bytes_3d(const struct hc_copy *copy, size_t pitch, size_t slice)
{
    return touched_bytes(pitch, copy->width, copy->height) + (copy->depth > 1 ? (copy->depth - 1) * slice : 0);
}

/* A device side must be memory that the device knows, which includes pinned host memory. */
static cudaError_t check_side(const void *address, size_t bytes, enum side side)
{
    if (!address || (side == SIDE_DEVICE && !hc_block_find(address)))
        return cudaErrorInvalidValue;
    return hc_block_range_overruns(address, bytes) ? cudaErrorInvalidValue : cudaSuccess;
}

bool hc_row_fits(size_t pitch, size_t into, size_t width)
{
    return pitch < width || into <= pitch - width; /* a pitch that is too small is another error */
}

cudaError_t hc_copy_check(const struct hc_copy *copy)
{
    static const struct {
        enum side from, to;
    } sides[] = {
        [cudaMemcpyHostToHost] = {SIDE_HOST, SIDE_HOST},     [cudaMemcpyHostToDevice] = {SIDE_HOST, SIDE_DEVICE},
        [cudaMemcpyDeviceToHost] = {SIDE_DEVICE, SIDE_HOST}, [cudaMemcpyDeviceToDevice] = {SIDE_DEVICE, SIDE_DEVICE},
        [cudaMemcpyDefault] = {SIDE_ANY, SIDE_ANY},
    };
    if ((int)copy->kind < cudaMemcpyHostToHost || copy->kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if ((copy->height > 1 || copy->depth > 1) && (copy->width > copy->to_pitch || copy->width > copy->from_pitch))
        return cudaErrorInvalidPitchValue;
    if ((copy->to_pitch && copy->width > copy->to_pitch) || (copy->from_pitch && copy->width > copy->from_pitch))
        return cudaErrorInvalidValue; /* also for a single row (measured) */
    if ((copy->height > 1 || copy->depth > 1) && (copy->to_pitch > HC_PITCH_MAX || copy->from_pitch > HC_PITCH_MAX))
        return cudaErrorInvalidValue;
    cudaError_t error =
        check_side(copy->to, touched_bytes_3d(copy, copy->to_pitch, copy->to_slice), sides[copy->kind].to);
    if (!error)
        error =
            check_side(copy->from, touched_bytes_3d(copy, copy->from_pitch, copy->from_slice), sides[copy->kind].from);
    return error;
}

cudaError_t hc_fill_check_shape(const struct cudaMemsetParams *fill)
{
    unsigned size = fill->elementSize;
    if ((size != 1 && size != 2 && size != 4) || !fill->width || !fill->height)
        return cudaErrorInvalidValue;
    if ((uintptr_t)fill->dst % size || (fill->height > 1 && fill->pitch % size))
        return cudaErrorInvalidValue;
    if (fill->width > SIZE_MAX / size || (fill->height > 1 && fill->pitch < fill->width * size))
        return cudaErrorInvalidValue;
    return fill->pitch > SIZE_MAX / fill->height ? cudaErrorInvalidValue : cudaSuccess;
}

cudaError_t hc_fill_check(const struct cudaMemsetParams *fill)
{
    cudaError_t error = hc_fill_check_shape(fill);
    size_t width = fill->width * fill->elementSize;
    return error ? error : check_side(fill->dst, touched_bytes(fill->pitch, width, fill->height), SIDE_DEVICE);
}
