/* Queries and attributes of kernels. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/call/driver_translation.h"
#include "hostcuda/src/kernel/attributes.h"
#include "hostcuda/src/kernel/kernel_table.h"

/* NULL is not a handle of any kind. */
static cudaError_t check_kernel(const struct hc_kernel *kernel, const void *function)
{
    return kernel ? cudaSuccess : function ? HC_NO_KERNEL : cudaErrorInvalidDeviceFunction;
}

static bool is_attribute(enum cudaFuncAttribute attribute)
{
    return attribute >= cudaFuncAttributeMaxDynamicSharedMemorySize && attribute < cudaFuncAttributeMax;
}

/* Needs the lock. Setting an attribute clears the last error (measured). */
static void set_attribute(struct hc_kernel *kernel, enum cudaFuncAttribute attribute, int value)
{
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize)
        kernel->runtime_shared_limit = value;
    hc_thread()->last_error = cudaSuccess;
}

static void record_driver_attribute(const void *function, enum cudaFuncAttribute attribute, int value)
{
    hc_lock();
    set_attribute(hc_kernel_find(function), attribute, value);
    hc_unlock();
}

cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value)
{
    CUfunction function = NULL;
    HC_THROUGH_DRIVER_THEN(is_attribute(attr) && (function = hc_function_to_driver(func)),
                           record_driver_attribute(func, attr, value), cuFuncSetAttribute, function,
                           (CUfunction_attribute)attr, value);
    cudaError_t error = hc_call_begin();
    struct hc_kernel *kernel = hc_kernel_find(func);
    if (!error && !is_attribute(attr))
        error = cudaErrorInvalidValue;
    if (!error)
        error = check_kernel(kernel, func);
    if (!error)
        error = hc_kernel_set_attribute(kernel, attr, value);
    if (!error)
        set_attribute(kernel, attr, value);
    return hc_call_end(error);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func)
{
    cudaError_t error = hc_call_begin();
    const struct hc_kernel *kernel = hc_kernel_find(func);
    if (!error)
        error = attr ? check_kernel(kernel, func) : cudaErrorInvalidValue;
    if (!error) {
        hc_kernel_get_attributes(kernel, attr);
        attr->maxDynamicSharedSizeBytes = kernel->runtime_shared_limit;
    }
    return hc_call_end(error);
}

cudaError_t cudaFuncGetName(const char **name, const void *func)
{
    cudaError_t error = hc_call_begin();
    struct hc_kernel *kernel = hc_kernel_find(func);
    if (!error)
        error = name ? check_kernel(kernel, func) : cudaErrorInvalidValue;
    if (!error)
        *name = hc_kernel_name(kernel);
    return hc_call_end(error);
}

cudaError_t cudaFuncGetParamInfo(const void *func, size_t paramIndex, size_t *paramOffset, size_t *paramSize)
{
    cudaError_t error = hc_call_begin();
    struct hc_kernel *kernel = hc_kernel_find(func);
    if (!error)
        error = check_kernel(kernel, func);
    if (!error)
        error = hc_kernel_get_parameter(kernel, paramIndex, paramOffset, paramSize);
    return hc_call_end(error);
}

/* ---- driver handles ------------------------------------------------------------------------------------------- */

/* The pointer to the handle may be NULL (measured). */
cudaError_t cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr)
{
    cudaError_t error = hc_call_begin();
    struct hc_kernel *kernel = hc_kernel_find_function(symbolPtr);
    if (!error && !kernel)
        error = cudaErrorInvalidDeviceFunction;
    if (!error && functionPtr)
        *functionPtr = (cudaFunction_t)(void *)&kernel->function_handle;
    return hc_call_end(error);
}

cudaError_t cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
    cudaError_t error = hc_call_begin();
    struct hc_kernel *kernel = hc_kernel_find_function(entryFuncAddr);
    if (!error && (!kernelPtr || !kernel))
        error = kernelPtr ? cudaErrorInvalidDeviceFunction : cudaErrorInvalidValue;
    if (!error)
        *kernelPtr = (cudaKernel_t)(void *)kernel;
    return hc_call_end(error);
}
