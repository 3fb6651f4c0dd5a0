/* The driver's functions by name, for programs that do not link it. */
#include "hostcuda/driver/driver.h"

#include <string.h>

typedef void (*entry_function)(void);

static const struct entry {
    const char *name;
    unsigned since;
    entry_function function;
} entries[] = {
#define X(name, since) {#name, since, (entry_function)name},
#include "hostcuda/core/driver_functions.def"
#undef X
};

static const struct entry *find_driver_function(const char *name)
{
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++)
        if (strcmp(entries[i].name, name) == 0)
            return &entries[i];
    return NULL;
}

/* A name that is missing, or newer than the version, is no error: the address is NULL, and the status says why. */
static enum cudaDriverEntryPointQueryResult look_up(const char *name, unsigned version, void **address)
{
    const struct entry *entry = find_driver_function(name);
    *address = NULL;
    if (!entry)
        return cudaDriverEntryPointSymbolNotFound;
    if (entry->since > version)
        return cudaDriverEntryPointVersionNotSufficent;
    memcpy(address, &entry->function, sizeof entry->function);
    return cudaDriverEntryPointSuccess;
}

/* No function here differs between the legacy and the per-thread default stream but cuLaunchKernel. */
static CUresult launch_per_thread(CUfunction f, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
                                  unsigned blockY, unsigned blockZ, unsigned bytes, CUstream stream, void **parameters,
                                  void **extra)
{
    return cuLaunchKernel(f, gridX, gridY, gridZ, blockX, blockY, blockZ, bytes, stream ? stream : cudaStreamPerThread,
                          parameters, extra);
}

static cudaError_t get_entry(const char *name, void **address, unsigned version, unsigned long long flags,
                             enum cudaDriverEntryPointQueryResult *status)
{
    int newest = 0;
    if (!name || !address || flags > cudaEnablePerThreadDefaultStream || cuDriverGetVersion(&newest) ||
        version > (unsigned)newest)
        return cudaErrorInvalidValue;
    enum cudaDriverEntryPointQueryResult found = look_up(name, version, address);
    if (!found && flags == cudaEnablePerThreadDefaultStream && strcmp(name, "cuLaunchKernel") == 0) {
        entry_function variant = (entry_function)launch_per_thread;
        memcpy(address, &variant, sizeof variant);
    }
    if (status)
        *status = found;
    return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr, unsigned int cudaVersion,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *driverStatus)
{
    cudaError_t error = hc_begin_quiet();
    if (!error)
        error = get_entry(symbol, funcPtr, cudaVersion, flags, driverStatus);
    return hc_end(error);
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *driverStatus)
{
    cudaError_t error = hc_begin_quiet();
    if (!error)
        error = get_entry(symbol, funcPtr, CUDART_VERSION, flags, driverStatus);
    return hc_end(error);
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                          CUdriverProcAddressQueryResult *symbolStatus)
{
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSuccess;
    if (cudaVersion < 0 || get_entry(symbol, pfn, (unsigned)cudaVersion, flags, &status))
        return CUDA_ERROR_INVALID_VALUE;
    if (symbolStatus)
        *symbolStatus = (CUdriverProcAddressQueryResult)status; /* the runtime's numbers */
    return CUDA_SUCCESS;
}
