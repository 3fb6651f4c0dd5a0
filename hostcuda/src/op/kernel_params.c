/* Kernel ops from the parameters of launch calls, which come one by one or in one buffer. */
#include "hostcuda/src/op/params.h"

#include <cuda.h>
#include <stdlib.h>
#include <string.h>

/* Parameters in CUDA's `extra` form: one buffer with the kernel's layout. */
struct buffer {
    const char *data;
    size_t bytes;
};

/* Whether the parameters come as one buffer. They do not if the list `extra` is empty (measured). */
static bool has_buffer(const struct cudaKernelNodeParams *params)
{
    return params->extra && *params->extra != CU_LAUNCH_PARAM_END;
}

/* Returns false if the list is malformed, or the buffer is empty. */
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

cudaError_t hc_check_packed_params(const struct cudaKernelNodeParams *params)
{
    struct buffer buffer;
    const struct hc_kernel *kernel = hc_kernel_find(params->func);
    if (!has_buffer(params) || !kernel || !kernel->type)
        return cudaSuccess;
    if (params->kernelParams || !read_buffer(params->extra, &buffer))
        return cudaErrorInvalidValue;
    return buffer.bytes > hc_kernel_parameter_bytes(kernel) ? cudaErrorLaunchOutOfResources : cudaSuccess;
}

/* Stores what the program gets when it asks: the op's own copy of the buffer. The size comes first, as in CUDA
 * (measured). */
static void store_packed_params(struct hc_op *op, size_t bytes)
{
    op->launch.packed = true;
    op->launch.packed_bytes = bytes;
    op->launch.extra[0] = CU_LAUNCH_PARAM_BUFFER_SIZE;
    op->launch.extra[1] = &op->launch.packed_bytes;
    op->launch.extra[2] = CU_LAUNCH_PARAM_BUFFER_POINTER;
    op->launch.extra[3] = op->launch.arguments[0];
    op->launch.extra[4] = CU_LAUNCH_PARAM_END;
}

/* The buffer may be too short: missing bytes are 0 (measured). */
static cudaError_t op_from_packed_params(const struct cudaKernelNodeParams *params, struct hc_kernel *kernel,
                                         struct hc_op **op)
{
    size_t count = kernel->type->count;
    struct buffer buffer;
    if (hc_check_packed_params(params) || !read_buffer(params->extra, &buffer))
        return cudaErrorInvalidValue;
    void **arguments = calloc(1, count * sizeof(*arguments) + hc_kernel_parameter_bytes(kernel));
    if (!arguments)
        return cudaErrorMemoryAllocation;
    char *whole = (char *)(arguments + count);
    memcpy(whole, buffer.data, buffer.bytes);
    for (size_t i = 0; i < count; i++)
        arguments[i] = whole + kernel->type->offsets[i];
    *op = hc_op_make_launch(kernel, params->gridDim, params->blockDim, params->sharedMemBytes, arguments);
    free(arguments);
    if (!*op)
        return cudaErrorMemoryAllocation;
    store_packed_params(*op, buffer.bytes);
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
    cudaError_t error = hc_kernel_check_launch(kernel, params->gridDim, params->blockDim, params->sharedMemBytes);
    if (error)
        return error;
    hc_kernel_name(kernel); /* looked up with the lock held, since messages need it later */
    if (has_buffer(params))
        return op_from_packed_params(params, kernel, op);
    if (!has_arguments(params, kernel->type->count))
        return cudaErrorInvalidValue;
    *op = hc_op_make_launch(kernel, params->gridDim, params->blockDim, params->sharedMemBytes, params->kernelParams);
    return *op ? cudaSuccess : cudaErrorMemoryAllocation;
}
