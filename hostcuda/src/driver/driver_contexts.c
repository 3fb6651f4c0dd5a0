/* Devices and contexts. A device has one context, its primary context. The context is current if the device is
 * current. */
#include "hostcuda/src/call/driver_translation.h"
#include "hostcuda/src/driver/driver_calls.h"
#include "hostcuda/src/runtime/reset.h"

#include <stdio.h>
#include <string.h>

static cudaError_t check_device(CUdevice device)
{
    return device >= 0 && device < hc_device_count() ? cudaSuccess : cudaErrorInvalidDevice;
}

static cudaError_t get_device_name(char *name, int length, CUdevice device)
{
    struct cudaDeviceProp properties;
    if (!name || length <= 0)
        return cudaErrorInvalidValue;
    cudaError_t error = cudaGetDeviceProperties(&properties, device);
    if (!error)
        snprintf(name, (size_t)length, "%s", properties.name);
    return error;
}
HC_ENTRY(cuDeviceGetName, (char *name, int len, CUdevice dev), get_device_name(name, len, dev))

static cudaError_t get_device_uuid(CUuuid *uuid, CUdevice device)
{
    struct cudaDeviceProp properties;
    cudaError_t error = uuid ? cudaGetDeviceProperties(&properties, device) : cudaErrorInvalidValue;
    if (!error)
        memcpy(uuid, &properties.uuid, sizeof *uuid);
    return error;
}
HC_ENTRY(cuDeviceGetUuid, (CUuuid * uuid, CUdevice dev), get_device_uuid(uuid, dev))

static cudaError_t get_device_bytes(size_t *bytes, CUdevice device)
{
    struct cudaDeviceProp properties;
    cudaError_t error = bytes ? cudaGetDeviceProperties(&properties, device) : cudaErrorInvalidValue;
    if (!error)
        *bytes = properties.totalGlobalMem;
    return error;
}
HC_ENTRY(cuDeviceTotalMem, (size_t * bytes, CUdevice dev), get_device_bytes(bytes, dev))
HC_ENTRY(cuDeviceGetAttribute, (int *pi, CUdevice_attribute attrib, CUdevice dev),
         cudaDeviceGetAttribute(pi, (enum cudaDeviceAttr)attrib, dev)) /* the same numbers as the runtime's */

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

static cudaError_t retain_primary_context(CUcontext *context, CUdevice device)
{
    cudaError_t error = context ? check_device(device) : cudaErrorInvalidValue;
    if (!error)
        *context = hc_context_of_device(device);
    return error;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    HC_DRIVER_CALL(retain_primary_context(pctx, dev));
}

/* The context stays: the runtime retains it. */
CUresult cuDevicePrimaryCtxRelease(CUdevice dev)
{
    HC_DRIVER_CALL(check_device(dev));
}

static cudaError_t get_primary_state(CUdevice device, unsigned *flags, int *active)
{
    cudaError_t error = flags && active ? check_device(device) : cudaErrorInvalidValue;
    if (!error) {
        *flags = hc_device(device)->flags;
        *active = 1;
    }
    return error;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    HC_DRIVER_CALL(get_primary_state(dev, flags, active));
}

static cudaError_t set_primary_flags(CUdevice device, unsigned flags)
{
    cudaError_t error = check_device(device);
    return error ? error : hc_device_set_flags(device, flags); /* the same numbers as the runtime's */
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
    HC_DRIVER_CALL(set_primary_flags(dev, flags));
}

CUresult cuDevicePrimaryCtxReset(CUdevice dev)
{
    cudaError_t error = hc_driver_begin_quiet();
    if (!error)
        error = check_device(dev);
    if (!error)
        error = hc_device_reset(dev);
    return hc_driver_end(error);
}

/* NULL: no context is current until the next runtime call. */
static cudaError_t set_current_context(CUcontext context)
{
    int device = context ? hc_device_of_context(context) : hc_thread()->device;
    cudaError_t error = device < 0 ? cudaErrorDeviceUninitialized : cudaSetDevice(device);
    if (!error)
        hc_thread()->context = context != NULL;
    return error;
}
HC_ENTRY(cuCtxSetCurrent, (CUcontext ctx), set_current_context(ctx))

static cudaError_t get_current_context(CUcontext *context)
{
    if (!context)
        return cudaErrorInvalidValue;
    *context = hc_thread()->context ? hc_context_of_thread() : NULL;
    return cudaSuccess;
}

CUresult cuCtxGetCurrent(CUcontext *pctx)
{
    HC_DRIVER_CALL(get_current_context(pctx));
}

HC_CONTEXT_ENTRY(cuCtxGetDevice, (CUdevice * device), cudaGetDevice(device))
HC_CONTEXT_ENTRY(cuCtxSynchronize, (void), cudaDeviceSynchronize())
HC_CONTEXT_ENTRY(cuCtxGetStreamPriorityRange, (int *leastPriority, int *greatestPriority),
                 cudaDeviceGetStreamPriorityRange(leastPriority, greatestPriority))

/* ---- peers ------------------------------------------------------------------------------------------------------- */

HC_ENTRY(cuDeviceCanAccessPeer, (int *canAccessPeer, CUdevice dev, CUdevice peerDev),
         cudaDeviceCanAccessPeer(canAccessPeer, dev, peerDev))
HC_ENTRY(cuDeviceGetP2PAttribute, (int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice, CUdevice dstDevice),
         cudaDeviceGetP2PAttribute(value, (enum cudaDeviceP2PAttr)attrib, srcDevice, dstDevice))

HC_CONTEXT_ENTRY(cuCtxEnablePeerAccess, (CUcontext peerContext, unsigned int Flags),
                 cudaDeviceEnablePeerAccess(hc_device_of_context(peerContext), Flags))
HC_CONTEXT_ENTRY(cuCtxDisablePeerAccess, (CUcontext peerContext),
                 cudaDeviceDisablePeerAccess(hc_device_of_context(peerContext)))
