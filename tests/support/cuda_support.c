#include "cuda_support.h"

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

void driver_entry(const char *name, unsigned version, void *function)
{
    void *address = NULL;
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
    OK(cudaGetDriverEntryPointByVersion(name, &address, version, cudaEnableDefault, &status));
    if (status || !address)
        fail_msg("the driver has no %s of CUDA %u", name, version);
    memcpy(function, &address, sizeof address);
}

void *device_memory(size_t bytes)
{
    void *memory = NULL;
    OK(cudaMalloc(&memory, bytes));
    OK(cudaMemset(memory, 0, bytes));
    OK(cudaDeviceSynchronize());
    return memory;
}

int read_int(const int *address, cudaStream_t stream)
{
    int value = 0;
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(&value, address, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}
