/* Peer access. All devices are one processor, so any may use any memory; enabled peers are only recorded. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/call/driver_translation.h"
#include "hostcuda/src/runtime/runtime_copy.h"
#include "hostcuda/src/stream/stream_capture.h"
#include "hostcuda/src/stream/submit.h"

static bool is_device(int device)
{
    return device >= 0 && device < hc_device_count();
}

static cudaError_t can_access_peer(int *answer, int device, int peer)
{
    if (!answer)
        return cudaErrorInvalidValue;
    if (!is_device(device) || !is_device(peer))
        return cudaErrorInvalidDevice;
    *answer = device != peer;
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *canAccessPeer, int device, int peerDevice)
{
    HC_THROUGH_DRIVER(cuDeviceCanAccessPeer, canAccessPeer, device, peerDevice);
    HC_CALL(can_access_peer(canAccessPeer, device, peerDevice));
}

static cudaError_t set_peer_access(int peer, unsigned flags, bool on)
{
    int device = hc_thread()->device;
    if (flags)
        return cudaErrorInvalidValue;
    if (!is_device(peer))
        return cudaErrorInvalidDevice;
    if (on && peer == device)
        return cudaErrorPeerAccessUnsupported;
    bool *now = &hc_device(device)->peers[peer];
    if (*now == on)
        return on ? cudaErrorPeerAccessAlreadyEnabled : cudaErrorPeerAccessNotEnabled;
    *now = on;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peerDevice, unsigned int flags)
{
    HC_THROUGH_DRIVER_IF(is_device(peerDevice), cuCtxEnablePeerAccess, hc_context_of_device(peerDevice), flags);
    HC_CALL(set_peer_access(peerDevice, flags, true));
}

cudaError_t cudaDeviceDisablePeerAccess(int peerDevice)
{
    HC_THROUGH_DRIVER_IF(is_device(peerDevice), cuCtxDisablePeerAccess, hc_context_of_device(peerDevice));
    HC_CALL(set_peer_access(peerDevice, 0, false));
}

static cudaError_t get_peer_attribute(int *value, enum cudaDeviceP2PAttr attr, int from, int to)
{
    if (!value)
        return cudaErrorInvalidValue;
    if (!is_device(from) || !is_device(to) || from == to)
        return cudaErrorInvalidDevice;
    if (attr < cudaDevP2PAttrPerformanceRank || attr > cudaDevP2PAttrOnlyPartialNativeAtomicSupported)
        return cudaErrorInvalidValue;
    *value = attr == cudaDevP2PAttrAccessSupported || attr == cudaDevP2PAttrNativeAtomicSupported;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetP2PAttribute(int *value, enum cudaDeviceP2PAttr attr, int srcDevice, int dstDevice)
{
    HC_THROUGH_DRIVER(cuDeviceGetP2PAttribute, value, (CUdevice_P2PAttribute)attr, srcDevice, dstDevice);
    HC_CALL(get_peer_attribute(value, attr, srcDevice, dstDevice));
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static struct hc_copy peer_copy(void *to, const void *from, size_t count)
{
    return (struct hc_copy){.to = to,
                            .from = from,
                            .to_pitch = count,
                            .from_pitch = count,
                            .width = count,
                            .height = 1,
                            .kind = cudaMemcpyDefault};
}

static cudaError_t check_pair(int to, int from)
{
    return is_device(to) && is_device(from) ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice, size_t count)
{
    HC_THROUGH_DRIVER_IF(!check_pair(dstDevice, srcDevice), cuMemcpyPeer, HC_ADDRESS(dst),
                         hc_context_of_device(dstDevice), HC_ADDRESS(src), hc_context_of_device(srcDevice), count);
    const struct hc_copy copy = peer_copy(dst, src, count);
    HC_CHECKED_CALL(check_pair(dstDevice, srcDevice), hc_copy_sync(&copy));
}

/* No stream can capture a copy between peers, not even between memories of the same device (measured). */
static cudaError_t copy_async(const struct hc_copy *copy, cudaStream_t handle)
{
    cudaStream_t stream = NULL;
    cudaError_t error = copy->width ? hc_stream_for_work(handle, &stream) : cudaSuccess;
    if (error || !copy->width)
        return error;
    error = hc_capture_check_query(stream);
    return error ? error : hc_copy_async(copy, handle);
}

cudaError_t cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice, size_t count,
                                cudaStream_t stream)
{
    HC_THROUGH_DRIVER_IF(!check_pair(dstDevice, srcDevice), cuMemcpyPeerAsync, HC_ADDRESS(dst),
                         hc_context_of_device(dstDevice), HC_ADDRESS(src), hc_context_of_device(srcDevice), count,
                         stream);
    const struct hc_copy copy = peer_copy(dst, src, count);
    HC_CHECKED_CALL(check_pair(dstDevice, srcDevice), copy_async(&copy, stream));
}
