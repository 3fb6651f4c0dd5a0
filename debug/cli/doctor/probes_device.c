/* Tries what breakgraph and its users need of a device. */
#include <breakgraph/breakgraph.h>
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

#include "answers.h"
#include "probes.h"

enum { BYTES = 1 << 20, VIRTUAL_SINCE = 10020 };

/* The last CUDA call of an attempt, and its error. */
typedef struct attempt {
    cudaError_t error;
    const char *call;
} attempt;

#define TRY(expression)                                                                                                \
    do {                                                                                                               \
        a.error = (expression);                                                                                        \
        a.call = #expression;                                                                                          \
        if (a.error != cudaSuccess)                                                                                    \
            goto done;                                                                                                 \
    } while (0)

static void answer_attempt(const char *what, int device, cli_health failed, attempt a, const char *works)
{
    char name[64];
    int length = (int)strcspn(a.call, "(");
    snprintf(name, sizeof name, "%s, device %d", what, device);
    if (a.error == cudaSuccess)
        cli_answers_add(name, CLI_WORKS, "%s", works);
    else
        cli_answers_add(name, failed, "%.*s: %s (%s)", length, a.call, cudaGetErrorName(a.error),
                        cudaGetErrorString(a.error));
    (void)cudaGetLastError();
}

/* ---- virtual memory management ---- */

typedef struct virtual_memory {
    PFN_cuMemAddressReserve_v10020 reserve;
    PFN_cuMemAddressFree_v10020 unreserve;
    PFN_cuMemCreate_v10020 create;
    PFN_cuMemRelease_v10020 release;
    PFN_cuMemMap_v10020 map;
    PFN_cuMemUnmap_v10020 unmap;
    PFN_cuMemSetAccess_v10020 set_access;
    PFN_cuMemGetAllocationGranularity_v10020 granularity;
} virtual_memory;

static cudaError_t find_driver_entry(const char *name, void *function)
{
    enum cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSuccess;
    void *address = NULL;
    cudaError_t error = cudaGetDriverEntryPointByVersion(name, &address, VIRTUAL_SINCE, cudaEnableDefault, &found);
    if (error == cudaSuccess && (found != cudaDriverEntryPointSuccess || address == NULL))
        error = cudaErrorNotSupported;
    memcpy(function, &address, sizeof address); /* ISO C knows no cast to it */
    return error;
}

static cudaError_t find_virtual_memory_functions(virtual_memory *v)
{
    const struct {
        const char *name;
        void *function;
    } entries[] = {
        {"cuMemAddressReserve", &v->reserve},
        {"cuMemAddressFree", &v->unreserve},
        {"cuMemCreate", &v->create},
        {"cuMemRelease", &v->release},
        {"cuMemMap", &v->map},
        {"cuMemUnmap", &v->unmap},
        {"cuMemSetAccess", &v->set_access},
        {"cuMemGetAllocationGranularity", &v->granularity},
    };
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; i < sizeof entries / sizeof *entries && error == cudaSuccess; i++)
        error = find_driver_entry(entries[i].name, entries[i].function);
    return error;
}

/* Reserves addresses, maps memory, and writes it. The driver's error codes equal the runtime's. */
static attempt try_virtual_memory(int device)
{
    const CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                            .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device}};
    const CUmemAccessDesc access = {.location = properties.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle = 0;
    CUdeviceptr at = 0;
    virtual_memory v;
    bool created = false, mapped = false;
    size_t bytes = 0;
    attempt a;

    TRY(find_virtual_memory_functions(&v));
    TRY((cudaError_t)v.granularity(&bytes, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    TRY((cudaError_t)v.reserve(&at, bytes, 0, 0, 0));
    TRY((cudaError_t)v.create(&handle, bytes, &properties, 0));
    created = true;
    TRY((cudaError_t)v.map(at, bytes, 0, handle, 0));
    mapped = true;
    TRY((cudaError_t)v.set_access(at, bytes, &access, 1));
    TRY(cudaMemset((void *)(uintptr_t)at, 0, bytes));
    TRY(cudaDeviceSynchronize());
done:
    if (mapped)
        (void)v.unmap(at, bytes);
    if (created)
        (void)v.release(handle);
    if (at != 0)
        (void)v.unreserve(at, bytes);
    return a;
}

/* ---- stream-ordered memory ---- */

static attempt try_stream_memory(cudaStream_t stream)
{
    void *memory = NULL;
    attempt a;
    TRY(cudaMallocAsync(&memory, BYTES, stream));
    TRY(cudaMemsetAsync(memory, 0, BYTES, stream));
    TRY(cudaFreeAsync(memory, stream));
    memory = NULL;
    TRY(cudaStreamSynchronize(stream));
done:
    if (memory != NULL)
        (void)cudaFree(memory);
    return a;
}

static attempt capture_memory(cudaStream_t stream, cudaGraph_t *graph)
{
    void *memory = NULL;
    bool capturing = false;
    attempt a;
    TRY(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    capturing = true;
    TRY(cudaMallocAsync(&memory, BYTES, stream));
    TRY(cudaMemsetAsync(memory, 0, BYTES, stream));
    TRY(cudaFreeAsync(memory, stream));
    capturing = false;
    TRY(cudaStreamEndCapture(stream, graph));
done:
    if (capturing)
        (void)cudaStreamEndCapture(stream, graph);
    return a;
}

/* Launches twice: the second launch allocates what the first has freed. */
static attempt try_memory_nodes(cudaStream_t stream)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    attempt a = capture_memory(stream, &graph);
    if (a.error != cudaSuccess)
        goto done;
    TRY(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    TRY(cudaGraphLaunch(exec, stream));
    TRY(cudaGraphLaunch(exec, stream));
    TRY(cudaStreamSynchronize(stream));
done:
    if (exec != NULL)
        (void)cudaGraphExecDestroy(exec);
    if (graph != NULL)
        (void)cudaGraphDestroy(graph);
    return a;
}

/* ---- devices ---- */

static bool probe_device(int device)
{
    struct cudaDeviceProp properties;
    cudaStream_t stream = NULL;
    char name[32];
    attempt a;

    snprintf(name, sizeof name, "device %d", device);
    TRY(cudaGetDeviceProperties(&properties, device));
    TRY(cudaSetDevice(device));
    TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cli_answers_add(name, CLI_WORKS, "%s, %zu MiB, %d multiprocessors, compute capability %d.%d", properties.name,
                    properties.totalGlobalMem >> 20, properties.multiProcessorCount, properties.major,
                    properties.minor);
    answer_attempt("virtual memory", device, CLI_BROKEN, try_virtual_memory(device),
                   "addresses reserved, mapped and written");
    answer_attempt("stream memory", device, CLI_MISSING, try_stream_memory(stream),
                   "cudaMallocAsync and cudaFreeAsync");
    answer_attempt("memory nodes", device, CLI_MISSING, try_memory_nodes(stream),
                   "a graph that allocates was launched twice");
done:
    if (stream != NULL)
        (void)cudaStreamDestroy(stream);
    if (a.error != cudaSuccess)
        cli_answers_add(name, CLI_BROKEN, "%s (%s)", cudaGetErrorString(a.error), cudaGetErrorName(a.error));
    return a.error == cudaSuccess;
}

bool cli_probe_devices(void)
{
    int count = 0;
    bool all = true;
    cudaError_t error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess || count == 0) {
        cli_answers_add("device", CLI_BROKEN, "none: %s (%s)%s", cudaGetErrorString(error), cudaGetErrorName(error),
                        strcmp(bg_device_kind(), "cuda") == 0
                            ? "; a machine without a GPU can use the host device: build with make DEVICE=host"
                            : "");
        return false;
    }
    for (int i = 0; i < count; i++)
        all = probe_device(i) && all;
    return all;
}
