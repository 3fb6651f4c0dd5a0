/* cudaMemset3D: one fill of rows, or one fill for each slice if the slices are not contiguous. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/runtime/runtime_copy.h"

/* Whether the slices exceed the address space. The fills themselves find memory that does not exist. */
static bool is_too_large(const struct cudaPitchedPtr *box, struct cudaExtent extent)
{
    size_t slice = 0, end = 0;
    return __builtin_mul_overflow(box->pitch, box->ysize, &slice) ||
           __builtin_mul_overflow(slice, extent.depth, &end) || __builtin_add_overflow((uintptr_t)box->ptr, end, &end);
}

static bool is_empty_box(struct cudaExtent extent)
{
    return !extent.width || !extent.height || !extent.depth;
}

/* Whether more rows are filled than a slice has, or more bytes than a row. */
static bool is_invalid_box(const struct cudaPitchedPtr *box, struct cudaExtent extent)
{
    return is_too_large(box, extent) || (!is_empty_box(extent) && extent.height > box->ysize);
}

/* If all bytes of the slices are filled, they count as one slice that has all rows (measured). */
static struct cudaExtent join_slices(const struct cudaPitchedPtr *box, struct cudaExtent extent)
{
    bool whole = extent.width == box->pitch && extent.height == box->ysize;
    return whole ? (struct cudaExtent){extent.width, extent.height * extent.depth, 1} : extent;
}

static struct cudaMemsetParams slice_of(const struct cudaPitchedPtr *box, int value, struct cudaExtent extent, size_t i)
{
    char *address = box->ptr ? (char *)box->ptr + i * box->pitch * box->ysize : NULL;
    return (struct cudaMemsetParams){address, box->pitch,   (unsigned)value & 255u,
                                     1,       extent.width, extent.depth ? extent.height : 0};
}

/* An empty fill still checks the stream. */
static cudaError_t fill_box(const struct cudaPitchedPtr *box, int value, struct cudaExtent extent, cudaStream_t stream,
                            bool wait)
{
    cudaError_t error = is_invalid_box(box, extent) ? cudaErrorInvalidValue : cudaSuccess;
    const struct cudaExtent slices = join_slices(box, extent);
    size_t count = is_empty_box(slices) ? 1 : slices.depth;
    for (size_t i = 0; !error && i < count; i++) {
        const struct cudaMemsetParams slice = slice_of(box, value, slices, i);
        error = hc_fill_memory(&slice, stream, wait);
    }
    return error;
}

/* ---- forwarded to the driver, which fills rows ------------------------------------------------------------------- */

#define ROWS(slice) HC_ADDRESS((slice).dst), (slice).pitch, (unsigned char)(slice).value, (slice).width, (slice).height

/* Fills all slices but the first. These fills are not calls of the program. The arguments refer to each slice as
 * `slice`. */
#define FILL_OTHERS(entry, arguments)                                                                                  \
    for (size_t i_ = 1; !result_ && i_ < slices.depth; i_++) {                                                         \
        struct hc_forward inner_;                                                                                      \
        const struct cudaMemsetParams slice = slice_of(&pitchedDevPtr, value, slices, i_);                             \
        hc_forward_begin(&inner_, NULL, HC_TEXT(entry));                                                               \
        result_ = (CUresult)hc_forward_end(&inner_, hc_driver_library.entry arguments);                                \
    }

cudaError_t cudaMemset3D(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent)
{
    const struct cudaExtent slices = join_slices(&pitchedDevPtr, extent);
    const struct cudaMemsetParams first = slice_of(&pitchedDevPtr, value, slices, 0);
    HC_THROUGH_DRIVER_THEN(extent.depth && !is_invalid_box(&pitchedDevPtr, extent),
                           FILL_OTHERS(cuMemsetD2D8, (ROWS(slice))), cuMemsetD2D8, ROWS(first));
    HC_CALL(fill_box(&pitchedDevPtr, value, extent, cudaStreamLegacy, true));
}

cudaError_t cudaMemset3DAsync(struct cudaPitchedPtr pitchedDevPtr, int value, struct cudaExtent extent,
                              cudaStream_t stream)
{
    const struct cudaExtent slices = join_slices(&pitchedDevPtr, extent);
    const struct cudaMemsetParams first = slice_of(&pitchedDevPtr, value, slices, 0);
    HC_THROUGH_DRIVER_THEN(extent.depth && !is_invalid_box(&pitchedDevPtr, extent),
                           FILL_OTHERS(cuMemsetD2D8Async, (ROWS(slice), stream)), cuMemsetD2D8Async, ROWS(first),
                           stream);
    HC_CALL(fill_box(&pitchedDevPtr, value, extent, stream, false));
}
