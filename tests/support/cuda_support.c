#include "cuda_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void expect_error_code(cudaError_t found, cudaError_t expected, const char *call, const char *file, int line)
{
    if (found == expected) {
        if (expected)
            cudaGetLastError();
        return;
    }
    print_error("%s is %s, expected %s\n", call, cudaGetErrorName(found), cudaGetErrorName(expected));
    _fail(file, line);
}

void expect_driver_code(CUresult found, CUresult expected, const char *call, const char *file, int line)
{
    if (found == expected)
        return;
    print_error("%s is CUresult %d, expected %d\n", call, (int)found, (int)expected);
    _fail(file, line);
}

void skip_unless(bool so, const char *why, ...)
{
    char text[256];
    va_list arguments;
    if (so)
        return;
    va_start(arguments, why);
    vsnprintf(text, sizeof text, why, arguments);
    va_end(arguments);
    print_message("skipped: %s\n", text);
    skip();
}

bool on_host_device(void)
{
    return strcmp(BG_DEVICE_KIND, "host") == 0;
}

/* ---- what tests share -------------------------------------------------------------------------------------------- */

/* One of them each. */
static struct shared {
    cudaStream_t *stream;
    void **memory;
    void *function;
    const char *name;
    size_t number; /* the stream's flags, the memory's bytes, the function's version */
} shared[96];
static size_t shared_count;

static void share(struct shared one)
{
    if (shared_count == sizeof shared / sizeof *shared)
        abort();
    shared[shared_count++] = one;
}

void share_stream(cudaStream_t *stream, unsigned flags)
{
    share((struct shared){.stream = stream, .number = flags});
}

void share_memory(void *pointer, size_t bytes)
{
    share((struct shared){.memory = pointer, .number = bytes});
}

void share_entry(void *function, const char *name, unsigned version)
{
    share((struct shared){.function = function, .name = name, .number = version});
}

int make_shared(void **state)
{
    (void)state;
    for (const struct shared *one = shared; one < shared + shared_count; one++) {
        if (one->stream)
            OK(cudaStreamCreateWithFlags(one->stream, (unsigned)one->number));
        else if (one->memory)
            *one->memory = device_memory(one->number);
        else
            driver_entry(one->name, (unsigned)one->number, cudaEnableDefault, one->function);
    }
    return 0;
}

int drop_shared(void **state)
{
    (void)state;
    for (const struct shared *one = shared; one < shared + shared_count; one++) {
        if (one->stream)
            OK(cudaStreamDestroy(*one->stream));
        if (one->memory)
            OK(cudaFree(*one->memory));
    }
    (void)cudaGetLastError(); /* of a test that failed */
    return 0;
}

void driver_entry(const char *name, unsigned version, unsigned long long flags, void *function)
{
    void *address = NULL;
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
    OK(cudaGetDriverEntryPointByVersion(name, &address, version, flags, &status));
    if (status || !address)
        fail_msg("the driver has no %s of CUDA %u", name, version);
    memcpy(function, &address, sizeof address);
}

CUdeviceptr address_of(const void *pointer)
{
    return (CUdeviceptr)(uintptr_t)pointer;
}

/* ---- graphs and memory ------------------------------------------------------------------------------------------- */

cudaGraph_t ended_capture(cudaStream_t stream, const char *file, int line)
{
    cudaGraph_t graph = NULL;
    expect_error_code(cudaStreamEndCapture(stream, &graph), cudaSuccess, "cudaStreamEndCapture", file, line);
    return graph;
}

cudaGraph_t created_graph(const char *file, int line)
{
    cudaGraph_t graph = NULL;
    expect_error_code(cudaGraphCreate(&graph, 0), cudaSuccess, "cudaGraphCreate", file, line);
    return graph;
}

cudaGraphExec_t instantiated(cudaGraph_t graph, const char *file, int line)
{
    cudaGraphExec_t exec = NULL;
    expect_error_code(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess, "cudaGraphInstantiate", file, line);
    return exec;
}

void *device_memory(size_t bytes)
{
    void *memory = NULL;
    OK(cudaMalloc(&memory, bytes));
    OK(cudaMemset(memory, 0, bytes));
    OK(cudaDeviceSynchronize());
    return memory;
}

size_t nodes_of(cudaGraph_t graph)
{
    size_t count = 0;
    OK(cudaGraphGetNodes(graph, NULL, &count));
    return count;
}

cudaGraphNode_t only_node(cudaGraph_t graph)
{
    cudaGraphNode_t node = NULL;
    size_t count = 1;
    assert_int_equal(nodes_of(graph), 1);
    OK(cudaGraphGetNodes(graph, &node, &count));
    return node;
}

enum cudaGraphNodeType type_of(cudaGraphNode_t node)
{
    enum cudaGraphNodeType type = cudaGraphNodeTypeCount;
    OK(cudaGraphNodeGetType(node, &type));
    return type;
}

cudaFunction_t function_of(const void *kernel)
{
    cudaFunction_t function = NULL;
    OK(cudaGetFuncBySymbol(&function, kernel));
    return function;
}

void CUDART_CB count_up(void *user)
{
    ++*(int *)user;
}

void take_back(void *to, void *from, size_t bytes)
{
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
    OK(cudaFree(from));
}

int read_int(const int *address, cudaStream_t stream)
{
    int value = 0;
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(&value, address, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}
