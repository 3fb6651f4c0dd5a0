/* Converts between bg_tensor and DLPack's DLTensor. Needs DLPack's header (Debian: libdlpack-dev).
 * Threads: pure functions. */
#ifndef BREAKGRAPH_DLPACK_H
#define BREAKGRAPH_DLPACK_H

#include <breakgraph/tensor.h>
#include <breakgraph/workspace.h>
#include <dlpack/dlpack.h>
#include <string.h>

/* DLPack's type code kDLBool; some headers do not define it. */
enum { BG_DLPACK_BOOL_ = 6 };

/* Makes *view a view of tensor on CUDA device `device`. shape: room for BG_MAX_RANK numbers, which the caller owns and
 * which must live as long as the view. view->strides is NULL, which means contiguous.
 * Errors: INVALID_ARGUMENT (a NULL, an invalid tensor). */
static inline bg_status bg_tensor_to_dlpack(const bg_tensor *tensor, int device, int64_t *shape, DLTensor *view)
{
    static const uint8_t codes[] = {kDLFloat, kDLFloat, kDLBfloat, kDLFloat,       kDLInt,
                                    kDLUInt,  kDLInt,   kDLInt,    BG_DLPACK_BOOL_};
    if (!tensor || !shape || !view || bg_dtype_bytes(tensor->dtype) == 0 || tensor->rank < 0 ||
        tensor->rank > BG_MAX_RANK)
        return bg_report_failure(BG_ERROR_INVALID_ARGUMENT, "bg_tensor_to_dlpack", "a NULL or an invalid tensor",
                                 "check dtype and rank");
    memset(view, 0, sizeof *view);
    view->data = tensor->data;
    view->ndim = tensor->rank;
    view->dtype.code = codes[tensor->dtype];
    view->dtype.bits = BG_CAST_(uint8_t, 8 * bg_dtype_bytes(tensor->dtype));
    view->dtype.lanes = 1;
    view->device.device_type = kDLCUDA;
    view->device.device_id = device;
    memcpy(shape, tensor->dim, sizeof tensor->dim);
    view->shape = shape;
    return BG_OK;
}

static inline int bg_dlpack_is_contiguous_(const DLTensor *view)
{
    int64_t stride = 1;
    if (!view->strides)
        return 1;
    for (int i = view->ndim - 1; i >= 0; i--) {
        if (view->shape[i] != 1 && view->strides[i] != stride)
            return 0;
        stride *= view->shape[i];
    }
    return 1;
}

/* Makes *tensor a tensor in the memory of view. The owner of that memory does not change.
 * Errors: INVALID_ARGUMENT (a NULL, too many dimensions), UNSUPPORTED (not on a CUDA device, not contiguous), DTYPE
 * (no bg_dtype for the type). */
static inline bg_status bg_tensor_from_dlpack(bg_tensor *tensor, const DLTensor *view)
{
    static const struct {
        uint8_t code, bits;
        bg_dtype dtype;
    } types[] = {{kDLFloat, 32, BG_F32}, {kDLFloat, 16, BG_F16}, {kDLBfloat, 16, BG_BF16},
                 {kDLFloat, 64, BG_F64}, {kDLInt, 8, BG_I8},     {kDLUInt, 8, BG_U8},
                 {kDLInt, 32, BG_I32},   {kDLInt, 64, BG_I64},   {BG_DLPACK_BOOL_, 8, BG_BOOL}};
    size_t type = 0;

    if (!tensor || !view || view->ndim < 0 || view->ndim > BG_MAX_RANK)
        return bg_report_failure(BG_ERROR_INVALID_ARGUMENT, "bg_tensor_from_dlpack", "a NULL or too many dimensions",
                                 "a bg_tensor has at most 8");
    if (view->device.device_type != kDLCUDA || !bg_dlpack_is_contiguous_(view))
        return bg_report_failure(BG_ERROR_UNSUPPORTED, "bg_tensor_from_dlpack",
                                 "the tensor is not on a CUDA device, or not contiguous",
                                 "make a contiguous copy on the device");
    while (type < sizeof types / sizeof types[0] &&
           (types[type].code != view->dtype.code || types[type].bits != view->dtype.bits || view->dtype.lanes != 1))
        type++;
    if (type == sizeof types / sizeof types[0])
        return bg_report_failure(BG_ERROR_DTYPE, "bg_tensor_from_dlpack", "a type without a bg_dtype",
                                 "convert it first");
    memset(tensor, 0, sizeof *tensor);
    tensor->data = BG_CAST_(char *, view->data) + view->byte_offset;
    tensor->dtype = types[type].dtype;
    tensor->rank = view->ndim;
    for (int i = 0; i < view->ndim; i++)
        tensor->dim[i] = view->shape[i];
    return BG_OK;
}

#endif
