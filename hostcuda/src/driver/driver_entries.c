/* Looks up driver functions by name, for programs that do not link them. */
#include "hostcuda/src/driver/driver_calls.h"

#include <string.h>

typedef void (*entry_function)(void);

/* `since` is the version of the default variant. */
static const struct entry {
    const char *name;
    unsigned since;
    entry_function function;
} entries[] = {
#define X(name, since) {#name, since, (entry_function)name},
#include "hostcuda/src/core/driver_functions.def"
#undef X
    {"cuGraphInstantiate", 12000, (entry_function)cuGraphInstantiateWithFlags}, /* one function under two names */
};

/* Per-thread variants, under the names without the suffix. */
#define PER_THREAD(name, suffix)       PER_THREAD_NAMED(name, suffix)
#define PER_THREAD_NAMED(name, suffix) name##suffix
#define X(name, suffix)                __typeof__(name) PER_THREAD(name, suffix);
#include "hostcuda/src/core/driver_per_thread.def"
#undef X

static const struct entry per_thread_entries[] = {
#define X(name, suffix) {#name, 0, (entry_function)PER_THREAD(name, suffix)},
#include "hostcuda/src/core/driver_per_thread.def"
#undef X
};

static const struct entry *find_entry(const struct entry *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}
#define FIND_ENTRY(list, name) find_entry(list, sizeof(list) / sizeof *(list), name)

/* A name that is missing, or newer than the version, is no error: *address is NULL, and the status says why. */
static enum cudaDriverEntryPointQueryResult find_entry_point(const char *name, unsigned version, bool per_thread,
                                                             void **address)
{
    const struct entry *entry = FIND_ENTRY(entries, name);
    const struct entry *variant = per_thread ? FIND_ENTRY(per_thread_entries, name) : NULL;
    *address = NULL;
    if (!entry)
        return cudaDriverEntryPointSymbolNotFound;
    if (entry->since > version)
        return cudaDriverEntryPointVersionNotSufficent;
    memcpy(address, variant ? &variant->function : &entry->function, sizeof entry->function);
    return cudaDriverEntryPointSuccess;
}

static cudaError_t get_entry_point(const char *name, void **address, unsigned version, unsigned long long flags,
                                   enum cudaDriverEntryPointQueryResult *status)
{
    int newest = 0;
    if (!name || !address || flags > cudaEnablePerThreadDefaultStream || cuDriverGetVersion(&newest) ||
        version > (unsigned)newest)
        return cudaErrorInvalidValue;
    enum cudaDriverEntryPointQueryResult found =
        find_entry_point(name, version, flags == cudaEnablePerThreadDefaultStream, address);
    if (status)
        *status = found;
    return cudaSuccess;
}

/* Returns the function of libcuda.so.1, which may differ from the one here. */
static cudaError_t get_library_entry_point(const char *name, void **address, unsigned version, unsigned long long flags,
                                           enum cudaDriverEntryPointQueryResult *status)
{
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
    hc_unlock();
    CUresult result = hc_driver_library.cuGetProcAddress(name, address, (int)version, flags, &found);
    hc_lock();
    if (!result && status)
        *status = (enum cudaDriverEntryPointQueryResult)found; /* the same numbers as the driver's */
    return (cudaError_t)result;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **funcPtr, unsigned int cudaVersion,
                                             unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *driverStatus)
{
    cudaError_t error = hc_call_begin_despite_errors();
    if (!error)
        error = (HC_GOES_THROUGH_DRIVER ? get_library_entry_point : get_entry_point)(symbol, funcPtr, cudaVersion,
                                                                                     flags, driverStatus);
    return hc_call_end(error);
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **funcPtr, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *driverStatus)
{
    cudaError_t error = hc_call_begin_despite_errors();
    if (!error)
        error = (HC_GOES_THROUGH_DRIVER ? get_library_entry_point : get_entry_point)(symbol, funcPtr, CUDART_VERSION,
                                                                                     flags, driverStatus);
    return hc_call_end(error);
}

CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags,
                          CUdriverProcAddressQueryResult *symbolStatus)
{
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSuccess;
    if (cudaVersion < 0 || get_entry_point(symbol, pfn, (unsigned)cudaVersion, flags, &status))
        return CUDA_ERROR_INVALID_VALUE;
    if (symbolStatus)
        *symbolStatus = (CUdriverProcAddressQueryResult)status; /* the same numbers as the runtime's */
    return CUDA_SUCCESS;
}

/* The function of CUDA 11, which some programs still look up. */
#undef cuGetProcAddress
CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags);
CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    CUresult result = cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, &status);
    return !result && status ? CUDA_ERROR_NOT_FOUND : result;
}
