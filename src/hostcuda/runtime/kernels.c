/* What a program asks of its kernels. */
#include "hostcuda/call/call.h"
#include "hostcuda/call/translate.h"
#include "hostcuda/kernel/block.h"
#include "hostcuda/kernel/kernels.h"

#include <string.h>

enum { SHARED_STATIC_LIMIT = 48 << 10 };

/* NULL is no handle of any kind. */
static cudaError_t check_kernel(const struct hc_kernel *kernel, const void *function)
{
    return kernel ? cudaSuccess : function ? HC_NO_KERNEL : cudaErrorInvalidDeviceFunction;
}

static cudaError_t set_attribute(struct hc_kernel *kernel, enum cudaFuncAttribute attribute, int value)
{
    switch (attribute) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
        if (value < 0 || value > HC_SHARED_BYTES_MAX)
            return cudaErrorInvalidValue;
        kernel->shared_limit = value > SHARED_STATIC_LIMIT ? value : SHARED_STATIC_LIMIT;
        kernel->shared_asked = value;
        return cudaSuccess;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
        if (value < -1 || value > 100)
            return cudaErrorInvalidValue;
        kernel->carveout = value; /* a hint */
        return cudaSuccess;
    default: return cudaErrorInvalidValue;
    }
}

cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value)
{
    CUfunction function;
    HC_THROUGH_IF((function = hc_driver_function(func)), cuFuncSetAttribute, function, (CUfunction_attribute)attr,
                  value);
    cudaError_t error = hc_begin();
    struct hc_kernel *kernel = hc_kernel_find(func);
    if (!error)
        error = check_kernel(kernel, func);
    if (!error)
        error = set_attribute(kernel, attr, value);
    return hc_end(error);
}

static cudaError_t get_attributes(struct cudaFuncAttributes *attributes, const struct hc_kernel *kernel)
{
    if (!attributes)
        return cudaErrorInvalidValue;
    memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = HC_BLOCK_THREADS_MAX;
    attributes->maxDynamicSharedSizeBytes = kernel->shared_asked;
    attributes->ptxVersion = attributes->binaryVersion = 90;
    attributes->preferredShmemCarveout = kernel->carveout;
    return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func)
{
    cudaError_t error = hc_begin();
    const struct hc_kernel *kernel = hc_kernel_find(func);
    if (!error)
        error = check_kernel(kernel, func);
    if (!error)
        error = get_attributes(attr, kernel);
    return hc_end(error);
}

cudaError_t cudaFuncGetName(const char **name, const void *func)
{
    cudaError_t error = hc_begin();
    struct hc_kernel *kernel = hc_kernel_find(func);
    if (!error && !name)
        error = cudaErrorInvalidValue;
    else if (!error && !kernel)
        error = HC_NO_KERNEL;
    else if (!error)
        *name = hc_kernel_name(kernel);
    return hc_end(error);
}

cudaError_t cudaFuncGetParamInfo(const void *func, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
    cudaError_t error = hc_begin();
    struct hc_kernel *kernel = hc_kernel_find(func);
    if (!error)
        error = kernel ? hc_kernel_parameter(kernel, paramIndex, paramOffset, paramSize) : HC_NO_KERNEL;
    return hc_end(error);
}

/* ---- handles of the driver ------------------------------------------------------------------------------------ */

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr)
{
    cudaError_t error = hc_begin();
    struct hc_kernel *kernel = hc_kernel_registered(symbolPtr);
    if (!error && (!functionPtr || !kernel))
        error = functionPtr ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue;
    if (!error)
        *functionPtr = (cudaFunction_t)(void *)&kernel->function_handle;
    return hc_end(error);
}

cudaError_t cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
    cudaError_t error = hc_begin();
    struct hc_kernel *kernel = hc_kernel_registered(entryFuncAddr);
    if (!error && (!kernelPtr || !kernel))
        error = kernelPtr ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue;
    if (!error)
        *kernelPtr = (cudaKernel_t)(void *)kernel;
    return hc_end(error);
}
