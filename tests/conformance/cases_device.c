/* Conformance: devices by the runtime, and primary contexts by the driver. */
#include "cases.h"

#include <string.h>

/* ---- questions --------------------------------------------------------------------------------------------------- */

CASE(device_arguments, {
    int device = 7;
    struct cudaDeviceProp properties;
    ASK(cudaGetDeviceCount(NULL));
    ASK(cudaGetDevice(NULL));
    ASK(cudaGetDevice(&device));
    VALUE("device", device);
    ASK(cudaGetDeviceProperties(NULL, 0));
    ASK(cudaGetDeviceProperties(&properties, -1));
    ASK(cudaGetDeviceProperties(&properties, 1000));
});

CASE(device_set, {
    int device = 7;
    int count = 0;
    STEP(cudaGetDeviceCount(&count));
    ASK(cudaSetDevice(-1));
    ASK(cudaSetDevice(count));
    ASK(cudaSetDevice(1000));
    ASK(cudaGetDevice(&device));
    VALUE("device", device);
    ASK(cudaSetDevice(0));
});

CASE(device_attribute, {
    int value = 77;
    ASK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 0));
    VALUE("value", value);
    ASK(cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)0, 0));
    ASK(cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)(-1), 0));
    ASK(cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)100000, 0));
    ASK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, -1));
    ASK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 1000));
    ASK(cudaDeviceGetAttribute(NULL, cudaDevAttrWarpSize, 0));
    ASK(cudaDeviceGetAttribute(NULL, cudaDevAttrWarpSize, 1000));
    ASK(cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)100000, 1000));
    VALUE("value", value);
});

static int attribute(enum cudaDeviceAttr id)
{
    int value = -77;
    return cudaDeviceGetAttribute(&value, id, 0) == cudaSuccess ? value : -99;
}
#define ATTRIBUTE(name) VALUE("cudaDevAttr" #name, attribute(cudaDevAttr##name))

CASE(device_limits, {
    ATTRIBUTE(MaxThreadsPerBlock);
    ATTRIBUTE(MaxBlockDimX);
    ATTRIBUTE(MaxBlockDimY);
    ATTRIBUTE(MaxBlockDimZ);
    ATTRIBUTE(MaxGridDimX);
    ATTRIBUTE(MaxGridDimY);
    ATTRIBUTE(MaxGridDimZ);
    ATTRIBUTE(WarpSize);
    ATTRIBUTE(MaxThreadsPerMultiProcessor);
    ATTRIBUTE(MaxBlocksPerMultiprocessor);
    ATTRIBUTE(MaxSharedMemoryPerBlock);
    ATTRIBUTE(MaxSharedMemoryPerBlockOptin);
    ATTRIBUTE(MaxSharedMemoryPerMultiprocessor);
    ATTRIBUTE(ReservedSharedMemoryPerBlock);
    ATTRIBUTE(MaxRegistersPerBlock);
    ATTRIBUTE(MaxRegistersPerMultiprocessor);
    ATTRIBUTE(TotalConstantMemory);
    ATTRIBUTE(MaxPitch);
    ATTRIBUTE(TextureAlignment);
    ATTRIBUTE(TexturePitchAlignment);
    ATTRIBUTE(SurfaceAlignment);
});

CASE(device_abilities, {
    ATTRIBUTE(ComputeCapabilityMajor);
    ATTRIBUTE(ComputeCapabilityMinor);
    ATTRIBUTE(Integrated);
    ATTRIBUTE(CanMapHostMemory);
    ATTRIBUTE(ConcurrentKernels);
    ATTRIBUTE(UnifiedAddressing);
    ATTRIBUTE(StreamPrioritiesSupported);
    ATTRIBUTE(MemoryPoolsSupported);
    ATTRIBUTE(HostRegisterSupported);
    ATTRIBUTE(CanUseHostPointerForRegisteredMem);
    ATTRIBUTE(ComputePreemptionSupported);
    ATTRIBUTE(GlobalL1CacheSupported);
    ATTRIBUTE(LocalL1CacheSupported);
});

/* ---- peers ------------------------------------------------------------------------------------------------------- */

CASE(peer_itself, {
    int can = 77;
    ASK(cudaDeviceCanAccessPeer(&can, 0, 0));
    VALUE("can", can);
    ASK(cudaDeviceEnablePeerAccess(0, 0));
    ASK(cudaDeviceDisablePeerAccess(0));
});

CASE(peer_out_of_range, {
    int can = 77;
    ASK(cudaDeviceCanAccessPeer(&can, 0, 1000));
    ASK(cudaDeviceCanAccessPeer(&can, -1, 0));
    ASK(cudaDeviceCanAccessPeer(NULL, 0, 0));
    ASK(cudaDeviceEnablePeerAccess(1000, 0));
    ASK(cudaDeviceEnablePeerAccess(-1, 0));
    ASK(cudaDeviceEnablePeerAccess(0, 1));
    ASK(cudaDeviceDisablePeerAccess(1000));
    VALUE("can", can);
});

CASE(peer_attribute, {
    int value = 77;
    ASK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0));
    ASK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 1000));
    ASK(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, -1, 0));
    ASK(cudaDeviceGetP2PAttribute(NULL, cudaDevP2PAttrAccessSupported, 0, 0));
    ASK(cudaDeviceGetP2PAttribute(&value, (enum cudaDeviceP2PAttr)0, 0, 0));
    ASK(cudaDeviceGetP2PAttribute(&value, (enum cudaDeviceP2PAttr)99, 0, 0));
    VALUE("value", value);
});

/* ---- flags ------------------------------------------------------------------------------------------------------- */

CASE(device_flags_first, {
    unsigned flags = 77;
    ASK(cudaGetDeviceFlags(&flags));
    VALUE("flags", flags);
    ASK(cudaGetDeviceFlags(NULL));
});

#define ASK_FLAGS(wanted)                                                                                              \
    do {                                                                                                               \
        ASK_AS("cudaSetDeviceFlags(" #wanted ")", cudaSetDeviceFlags(wanted));                                         \
        STEP(cudaGetDeviceFlags(&flags));                                                                              \
        VALUE("flags", flags);                                                                                         \
    } while (0)

CASE(device_flags_set, {
    unsigned flags = 77;
    unsigned first = 0;
    STEP(cudaGetDeviceFlags(&first));
    ASK_FLAGS(cudaDeviceScheduleSpin);
    ASK_FLAGS(cudaDeviceScheduleYield);
    ASK_FLAGS(cudaDeviceScheduleBlockingSync);
    ASK_FLAGS(cudaDeviceMapHost);
    ASK_FLAGS(cudaDeviceLmemResizeToMax);
    ASK_FLAGS(cudaDeviceScheduleAuto);
    ASK_FLAGS(first);
});

CASE(device_flags_wrong, {
    unsigned flags = 77;
    unsigned first = 0;
    STEP(cudaGetDeviceFlags(&first));
    ASK_FLAGS(3);
    ASK_FLAGS(5);
    ASK_FLAGS(6);
    ASK_FLAGS(7);
    ASK_FLAGS(64);
    ASK_FLAGS(0xffff);
    STEP(cudaSetDeviceFlags(first));
});

/* ---- the driver's devices ---------------------------------------------------------------------------------------- */

CASE(driver_devices, {
    CUdevice device = 77;
    int count = 0;
    ASK_CU(cuDeviceGet, 2000, &device, 0);
    VALUE("device", device);
    STEP(cudaGetDeviceCount(&count));
    ASK_CU(cuDeviceGet, 2000, &device, -1);
    ASK_CU(cuDeviceGet, 2000, &device, count);
    ASK_CU(cuDeviceGet, 2000, NULL, 0);
    ASK_CU(cuDeviceGetCount, 2000, NULL);
    ASK_CU(cuInit, 2000, 1);
    ASK_CU(cuInit, 2000, 0);
    ASK_CU(cuDriverGetVersion, 2020, NULL);
    ASK(cudaDriverGetVersion(NULL));
    ASK(cudaRuntimeGetVersion(NULL));
});

CASE(driver_device_attribute, {
    int value = 77;
    ASK_CU(cuDeviceGetAttribute, 2000, &value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0);
    VALUE("value", value);
    ASK_CU(cuDeviceGetAttribute, 2000, &value, (CUdevice_attribute)0, 0);
    ASK_CU(cuDeviceGetAttribute, 2000, &value, (CUdevice_attribute)100000, 0);
    ASK_CU(cuDeviceGetAttribute, 2000, &value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1000);
    ASK_CU(cuDeviceGetAttribute, 2000, &value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, -1);
    ASK_CU(cuDeviceGetAttribute, 2000, NULL, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0);
    VALUE("value", value);
});

CASE(driver_device_name, {
    char name[64] = "untouched";
    size_t bytes = 0;
    ASK_CU(cuDeviceGetName, 2000, name, 1, 0);
    VALUE("length of the name", strlen(name));
    ASK_CU(cuDeviceGetName, 2000, name, 4, 0);
    VALUE("length of the name", strlen(name));
    ASK_CU(cuDeviceGetName, 2000, name, 64, 1000);
    ASK_CU(cuDeviceTotalMem, 3020, &bytes, 1000);
});

static const struct case_rule device_rules[] = {
    {&device_arguments, "Questions need a place for the answer, and a device."},
    {&device_set, "Choosing a device that there is not changes nothing."},
    {&device_attribute, "An attribute that does not exist, or of no device, is refused."},
    {&device_limits, "What launches may have, on a device of compute capability 9.0."},
    {&device_abilities, "What such a device can do."},
    {&device_flags_first, "The flags of a device that is in use, and for which none were set: `cudaDeviceMapHost`, and "
                          "`cudaDeviceLmemResizeToMax`."},
    {&device_flags_set, "Flags can be set while the device is in use. They take the place of all others but "
                        "`cudaDeviceMapHost`."},
    {&device_flags_wrong,
     "More than one way to wait is refused, and so are flags above `cudaDeviceMask`; below it, one that "
     "does not exist is dropped."},
};

const struct case_topic topic_device = CASE_TOPIC("Devices", "What a program asks about devices.", device_rules);

static const struct case_rule peer_rules[] = {
    {&peer_itself, "A device is no peer of its own: access is not supported, and never enabled."},
    {&peer_out_of_range, "Devices that there are not, and flags."},
    {&peer_attribute, "A device and itself have no attributes as a pair, whether or not the attribute exists."},
};

const struct case_topic topic_peer = CASE_TOPIC("Peers", "One device, asked about itself.", peer_rules);

static const struct case_rule driver_rules[] = {
    {&driver_devices, "The driver's devices, and its versions."},
    {&driver_device_attribute, "Their attributes."},
    {&driver_device_name, "Their names, in a place that is too small."},
};

const struct case_topic topic_driver_device =
    CASE_TOPIC("Devices in the driver", "The same questions to the driver.", driver_rules);
