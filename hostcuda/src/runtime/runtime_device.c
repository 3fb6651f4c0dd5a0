#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/graph/node_attributes.h"
#include "hostcuda/src/kernel/grid_state.h"
#include "hostcuda/src/kernel/occupancy.h"
#include "hostcuda/src/memory/capacity.h"
#include "hostcuda/src/memory/memory_copy.h"
#include "hostcuda/src/stream/stream_capture.h"
#include "hostcuda/src/stream/queue_run.h"

#include <stdio.h>
#include <string.h>

enum { CAPABILITY_MAJOR = 9, CAPABILITY_MINOR = 0, SHARED_DEFAULT = 48 << 10 };

static cudaError_t get_version(const char *name, int version, int *answer)
{
    cudaError_t error = hc_call_begin_in_host_function_as(name, true);
    if (!error && !answer)
        error = cudaErrorInvalidValue;
    if (!error)
        *answer = version;
    return hc_call_end(error);
}

cudaError_t cudaRuntimeGetVersion(int *runtimeVersion)
{
    return get_version(__func__, CUDART_VERSION, runtimeVersion);
}

cudaError_t cudaDriverGetVersion(int *driverVersion)
{
    return get_version(__func__, HC_DRIVER_VERSION, driverVersion);
}

cudaError_t cudaGetDeviceCount(int *count)
{
    HC_THROUGH_DRIVER(cuDeviceGetCount, count);
    cudaError_t error = hc_call_begin_despite_errors();
    if (!error && !count)
        error = cudaErrorInvalidValue;
    if (!error)
        *count = hc_device_count();
    return hc_call_end(error);
}

cudaError_t cudaGetDevice(int *device)
{
    cudaError_t error = hc_call_begin_despite_errors();
    if (!error && !device)
        error = cudaErrorInvalidValue;
    if (!error)
        *device = hc_thread()->device;
    return hc_call_end(error);
}

cudaError_t cudaSetDevice(int device)
{
    cudaError_t error = hc_call_begin_despite_errors();
    if (!error && (device < 0 || device >= hc_device_count()))
        error = cudaErrorInvalidDevice;
    if (!error) {
        hc_thread()->device = device;
        error = hc_device(device)->sticky;
    }
    return hc_call_end(error);
}

cudaError_t cudaDeviceSynchronize(void)
{
    HC_THROUGH_DRIVER(cuCtxSynchronize, );
    cudaError_t error = hc_call_begin();
    int device = hc_thread()->device;
    if (!error)
        error = hc_capture_check_device_wait(device);
    if (!error)
        error = hc_run_device(device);
    return hc_call_end(error);
}

/* ---- properties ---------------------------------------------------------------------------------------------- */

/* Limits are those of compute capability 9.0, so that programs within them also run on such a GPU. */
static void fill_properties(struct cudaDeviceProp *prop, int device)
{
    memset(prop, 0, sizeof *prop);
    snprintf(prop->name, sizeof prop->name, "hostcuda device %d (CPU)", device);
    prop->uuid.bytes[0] = 'h';
    prop->uuid.bytes[15] = (char)device;
    prop->totalGlobalMem = hc_device_bytes();
    prop->sharedMemPerBlock = SHARED_DEFAULT;
    prop->sharedMemPerBlockOptin = HC_SHARED_BYTES_MAX;
    prop->sharedMemPerMultiprocessor = HC_SHARED_BYTES_MAX + 1024;
    prop->reservedSharedMemPerBlock = 1024;
    prop->regsPerBlock = prop->regsPerMultiprocessor = 65536;
    prop->warpSize = 32;
    prop->memPitch = HC_PITCH_MAX;
    prop->maxThreadsPerBlock = HC_BLOCK_THREADS_MAX;
    prop->maxThreadsDim[0] = prop->maxThreadsDim[1] = HC_BLOCK_THREADS_MAX;
    prop->maxThreadsDim[2] = 64;
    prop->maxGridSize[0] = 0x7fffffff;
    prop->maxGridSize[1] = prop->maxGridSize[2] = 65535;
    prop->totalConstMem = 65536;
    prop->major = CAPABILITY_MAJOR;
    prop->minor = CAPABILITY_MINOR;
    prop->multiProcessorCount = hc_multiprocessor_count();
    prop->maxThreadsPerMultiProcessor = 2048;
    prop->maxBlocksPerMultiProcessor = 32;
    prop->memoryBusWidth = 64;
    prop->textureAlignment = prop->surfaceAlignment = 512;
    prop->texturePitchAlignment = 32;
    prop->accessPolicyMaxWindowSize = HC_WINDOW_BYTES_MAX;
    prop->globalL1CacheSupported = prop->localL1CacheSupported = 1;
    prop->hostRegisterSupported = prop->canUseHostPointerForRegisteredMem = 1;
    prop->canMapHostMemory = 1;
    prop->concurrentKernels = 1;
    prop->asyncEngineCount = 1;
    prop->unifiedAddressing = 1;
    prop->streamPrioritiesSupported = 1;
    prop->memoryPoolsSupported = 1;
    prop->computePreemptionSupported = 1;
#if CUDART_VERSION < 13000 /* CUDA 13 has removed these members; each equals the attribute of the same name */
    prop->clockRate = prop->memoryClockRate = 1000000;
    prop->deviceOverlap = 1;
    prop->singleToDoublePrecisionPerfRatio = 2;
#endif
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    cudaError_t error = hc_call_begin_despite_errors();
    if (!error && !prop)
        error = cudaErrorInvalidValue;
    if (!error && (device < 0 || device >= hc_device_count()))
        error = cudaErrorInvalidDevice;
    if (!error)
        fill_properties(prop, device);
    return hc_call_end(error);
}

/* Attributes without a property. Device clocks count nanoseconds here (clock64), so they have a billion ticks a second.
 * There are no textures, other processes or displays. */
static const struct {
    enum cudaDeviceAttr attr;
    int value;
} fixed_attributes[] = {
    {cudaDevAttrClockRate, 1000000},       /* kHz */
    {cudaDevAttrMemoryClockRate, 1000000}, /* kHz */
    {cudaDevAttrGlobalMemoryBusWidth, 64},
    {cudaDevAttrMaxPitch, HC_PITCH_MAX},
    {cudaDevAttrTextureAlignment, 512},
    {cudaDevAttrTexturePitchAlignment, 32},
    {cudaDevAttrSurfaceAlignment, 512},
    {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
    {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
    {cudaDevAttrReservedSharedMemoryPerBlock, 1024},
    {cudaDevAttrMaxAccessPolicyWindowSize, HC_WINDOW_BYTES_MAX},
    {cudaDevAttrGpuOverlap, 1},
    {cudaDevAttrComputePreemptionSupported, 1},
    {cudaDevAttrGlobalL1CacheSupported, 1},
    {cudaDevAttrLocalL1CacheSupported, 1},
    {cudaDevAttrHostRegisterSupported, 1},
    {cudaDevAttrCanUseHostPointerForRegisteredMem, 1},
    {cudaDevAttrSingleToDoublePrecisionPerfRatio, 2},
    {cudaDevAttrL2CacheSize, 0},
    {cudaDevAttrMaxPersistingL2CacheSize, 0},
    {cudaDevAttrComputeMode, cudaComputeModeDefault},
    {cudaDevAttrKernelExecTimeout, 0},
    {cudaDevAttrEccEnabled, 0},
    {cudaDevAttrTccDriver, 0},
    {cudaDevAttrPciDomainId, 0},
    {cudaDevAttrPciBusId, 0},
    {cudaDevAttrPciDeviceId, 0},
    {cudaDevAttrIsMultiGpuBoard, 0},
    {cudaDevAttrMultiGpuBoardGroupID, 0},
    {cudaDevAttrHostNativeAtomicSupported, 0},
    {cudaDevAttrHostRegisterReadOnlySupported, 0},
    {cudaDevAttrConcurrentManagedAccess, 0},
    {cudaDevAttrDirectManagedMemAccessFromHost, 0},
    {cudaDevAttrPageableMemoryAccessUsesHostPageTables, 0},
    {cudaDevAttrGPUDirectRDMASupported, 0},
    {cudaDevAttrMemoryPoolSupportedHandleTypes, 0},
    {cudaDevAttrIpcEventSupport, 0},
    {cudaDevAttrIntegrated, 0},
    {cudaDevAttrManagedMemory, 0},
    {cudaDevAttrCooperativeLaunch, 0},
    {cudaDevAttrClusterLaunch, 0},
    {cudaDevAttrPageableMemoryAccess, 0},
};

static cudaError_t get_fixed_attribute(int *value, enum cudaDeviceAttr attr)
{
    for (size_t i = 0; i < sizeof fixed_attributes / sizeof *fixed_attributes; i++) {
        if (fixed_attributes[i].attr != attr)
            continue;
        *value = fixed_attributes[i].value;
        return cudaSuccess;
    }
    fprintf(stderr, "hostcuda: device attribute %d is not implemented\n", (int)attr);
    return cudaErrorInvalidValue;
}

static cudaError_t get_device_attribute(int *value, enum cudaDeviceAttr attr, int device)
{
    struct cudaDeviceProp prop;
    fill_properties(&prop, device);
    switch (attr) {
    case cudaDevAttrMaxThreadsPerBlock: *value = prop.maxThreadsPerBlock; break;
    case cudaDevAttrMaxBlockDimX: *value = prop.maxThreadsDim[0]; break;
    case cudaDevAttrMaxBlockDimY: *value = prop.maxThreadsDim[1]; break;
    case cudaDevAttrMaxBlockDimZ: *value = prop.maxThreadsDim[2]; break;
    case cudaDevAttrMaxGridDimX: *value = prop.maxGridSize[0]; break;
    case cudaDevAttrMaxGridDimY: *value = prop.maxGridSize[1]; break;
    case cudaDevAttrMaxGridDimZ: *value = prop.maxGridSize[2]; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = (int)prop.sharedMemPerBlock; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = (int)prop.sharedMemPerBlockOptin; break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = (int)prop.sharedMemPerMultiprocessor; break;
    case cudaDevAttrTotalConstantMemory: *value = (int)prop.totalConstMem; break;
    case cudaDevAttrWarpSize: *value = prop.warpSize; break;
    case cudaDevAttrMaxRegistersPerBlock: *value = prop.regsPerBlock; break;
    case cudaDevAttrMultiProcessorCount: *value = prop.multiProcessorCount; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = prop.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrComputeCapabilityMajor: *value = prop.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = prop.minor; break;
    case cudaDevAttrConcurrentKernels: *value = prop.concurrentKernels; break;
    case cudaDevAttrAsyncEngineCount: *value = prop.asyncEngineCount; break;
    case cudaDevAttrUnifiedAddressing: *value = prop.unifiedAddressing; break;
    case cudaDevAttrCanMapHostMemory: *value = prop.canMapHostMemory; break;
    case cudaDevAttrStreamPrioritiesSupported: *value = prop.streamPrioritiesSupported; break;
    case cudaDevAttrMemoryPoolsSupported: *value = prop.memoryPoolsSupported; break;
    default: return get_fixed_attribute(value, attr);
    }
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    HC_THROUGH_DRIVER(cuDeviceGetAttribute, value, (CUdevice_attribute)attr, device);
    cudaError_t error = hc_call_begin_despite_errors();
    if (!error && !value)
        error = cudaErrorInvalidValue;
    if (!error && (device < 0 || device >= hc_device_count()))
        error = cudaErrorInvalidDevice;
    if (!error)
        error = get_device_attribute(value, attr, device);
    return hc_call_end(error);
}
