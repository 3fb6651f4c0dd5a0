/* What cudaGetErrorString says, word for word: programs print it, and logs are searched for it. */
#include "tests/support/cuda_support.h"

static const struct {
    cudaError_t code;
    const char *text;
} texts[] = {
    {cudaSuccess, "no error"},
    {cudaErrorInvalidValue, "invalid argument"},
    {cudaErrorMemoryAllocation, "out of memory"},
    {cudaErrorProfilerDisabled, "profiler disabled while using external profiling tool"},
    {cudaErrorInvalidSymbol, "invalid device symbol"},
    {cudaErrorInvalidTexture, "invalid texture reference"},
    {cudaErrorInsufficientDriver, "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorDevicesUnavailable, "CUDA-capable device(s) is/are busy or unavailable"},
    {cudaErrorMissingConfiguration, "__global__ function call is not configured"},
    {cudaErrorInvalidDeviceFunction, "invalid device function"},
    {cudaErrorNoDevice, "no CUDA-capable device is detected"},
    {cudaErrorInvalidKernelImage, "device kernel image is invalid"},
    {cudaErrorDeviceUninitialized, "invalid device context"},
    {cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device"},
    {cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"},
    {cudaErrorOperatingSystem, "OS call failed or operation not supported on this OS"},
    {cudaErrorIllegalState, "the operation cannot be performed in the present state"},
    {cudaErrorSymbolNotFound, "named symbol not found"},
    {cudaErrorLaunchOutOfResources, "too many resources requested for launch"},
    {cudaErrorLaunchTimeout, "the launch timed out and was terminated"},
    {cudaErrorPeerAccessAlreadyEnabled, "peer access is already enabled"},
    {cudaErrorPeerAccessNotEnabled, "peer access has not been enabled"},
    {cudaErrorSetOnActiveProcess, "cannot set while device is active in this process"},
    {cudaErrorContextIsDestroyed, "context is destroyed"},
    {cudaErrorAssert, "device-side assert triggered"},
    {cudaErrorHostMemoryAlreadyRegistered, "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region"},
    {cudaErrorLaunchFailure, "unspecified launch failure"},
    {cudaErrorCooperativeLaunchTooLarge, "too many blocks in cooperative launch"},
    {cudaErrorSystemNotReady, "system not yet initialized"},
    {cudaErrorStreamCaptureUnsupported, "operation not permitted when stream is capturing"},
    {cudaErrorTimeout, "wait operation timed out"},
    {cudaErrorUnknown, "unknown error"},
    {(cudaError_t)5555, "unrecognized error code"},
};

TEST(test_texts)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_string_equal(cudaGetErrorString(texts[i].code), texts[i].text);
}

/* A GPU's library needs none to say it. */
