/* A program of the runtime that counts nothing itself: 3 allocations, a capture, 5 launches of its graph. Then it asks
 * for the same stream and the same allocation through the runtime and through the driver's library. */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static int failed;

static void check(int error, const char *call)
{
    if (error != 0 && failed == 0)
        printf("%s: %s\n", call, cudaGetErrorName((cudaError_t)error));
    failed |= error != 0;
}
#define CHECK(call) check((int)(call), #call)

static void find(void *library, const char *name, void *function)
{
    void *found = library != NULL ? dlsym(library, name) : NULL;
    if (found == NULL) {
        printf("libcuda.so.1 has no %s\n", name);
        failed = 1;
        return;
    }
    memcpy(function, &found, sizeof found);
}

/* The ids of a stream and an allocation are counted: in two host devices they would agree by chance alone. */
static void compare_doors(cudaStream_t stream, void *memory)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    CUresult (*get_id)(CUstream, unsigned long long *) = NULL, (*fill)(CUdeviceptr, unsigned char, size_t) = NULL;
    CUresult (*ask)(void *, CUpointer_attribute, CUdeviceptr) = NULL;
    unsigned long long by_runtime = 0, by_driver = 0, buffer = 0, again = 0;
    CUdeviceptr address = (CUdeviceptr)(uintptr_t)memory;
    void *entry = NULL;
    CHECK(cudaStreamGetId(stream, &by_runtime));
    find(library, "cuStreamGetId", &get_id);
    find(library, "cuPointerGetAttribute", &ask);
    find(library, "cuMemsetD8_v2_ptds", &fill);
    if (failed)
        return;
    CHECK(get_id(stream, &by_driver));
    CHECK(ask(&buffer, CU_POINTER_ATTRIBUTE_BUFFER_ID, address));
    CHECK(fill(address, 1, 4));
    CHECK(cudaGetDriverEntryPointByVersion("cuPointerGetAttribute", &entry, 7000, cudaEnableDefault, NULL));
    memcpy(&ask, &entry, sizeof entry);
    CHECK(ask(&again, CU_POINTER_ATTRIBUTE_BUFFER_ID, address));
    printf("stream: %s, allocation: %s\n", by_runtime == by_driver ? "the same" : "another",
           buffer == again && buffer != 0 ? "the same" : "another");
}

int main(int count, char **arguments)
{
    void *memory[3] = {NULL, NULL, NULL};
    unsigned char byte = 0;
    cudaStream_t stream = NULL;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    CHECK(cudaStreamCreate(&stream));
    for (int i = 0; i < 3; i++)
        CHECK(cudaMalloc(&memory[i], 64));
    if (failed)
        return 1;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemsetAsync(memory[0], 7, 64, stream));
    CHECK(cudaMemcpyAsync(memory[1], memory[0], 64, cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 5; i++)
        CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("launched: %s\n", cudaGetErrorName(cudaPeekAtLastError()));
    CHECK(cudaMemcpy(&byte, memory[1], 1, cudaMemcpyDeviceToHost));
    printf("byte: %d\n", byte);
    printf("pitch: %s\n", cudaGetErrorName(cudaMemcpy2D(memory[0], 1, memory[1], 1, 2, 2, cudaMemcpyDefault)));
    printf("last: %s\n", cudaGetErrorName(cudaGetLastError()));
    if (count > 1 && strcmp(arguments[1], "doors") == 0)
        compare_doors(stream, memory[2]);
    CHECK(cudaGraphExecDestroy(exec));
    CHECK(cudaGraphDestroy(graph));
    for (int i = 0; i < 3; i++)
        CHECK(cudaFree(memory[i]));
    CHECK(cudaStreamDestroy(stream));
    return failed;
}
