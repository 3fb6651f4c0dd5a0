/* A program that links the driver's functions, and calls one before anything has started CUDA. */
#include <cuda.h>
#include <stdio.h>

int main(void)
{
    CUdeviceptr base = 0;
    size_t bytes = 0, unit = 0;
    int count = 0;
    CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    printf("before cuInit: %d %d %d\n", (int)cuMemGetAddressRange(&base, &bytes, 4096), (int)cuDeviceGetCount(&count),
           (int)cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    printf("cuInit: %d %d\n", (int)cuInit(1), (int)cuInit(0));
    printf("after: %d %d %d\n", (int)cuMemGetAddressRange(&base, &bytes, 4096), (int)cuDeviceGetCount(&count),
           (int)cuMemGetAllocationGranularity(&unit, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    printf("%d device, units of %zu\n", count, unit);
    return 0;
}
