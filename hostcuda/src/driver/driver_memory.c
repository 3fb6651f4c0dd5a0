/* Driver functions for allocations: those that call a runtime function, and those that only the driver has. */
#include "hostcuda/src/call/driver_translation.h"
#include "hostcuda/src/driver/driver_calls.h"

#define PLACE(pointer)   HC_SAME_AS(void **, pointer)
#define POINTER(address) ((void *)(uintptr_t)(address))
/* The runtime accepts an allocation of 0 bytes; the driver does not. */
#define UNLESS_EMPTY(bytes, ...) ((bytes) ? (__VA_ARGS__) : cudaErrorInvalidValue)

HC_CONTEXT_ENTRY(cuMemAlloc, (CUdeviceptr * dptr, size_t bytesize),
                 UNLESS_EMPTY(bytesize, cudaMalloc(PLACE(dptr), bytesize)))
HC_ENTRY(cuMemFree, (CUdeviceptr dptr), cudaFree(POINTER(dptr)))
HC_CONTEXT_ENTRY(cuMemAllocHost, (void **pp, size_t bytesize), UNLESS_EMPTY(bytesize, cudaMallocHost(pp, bytesize)))
HC_CONTEXT_ENTRY(cuMemHostAlloc, (void **pp, size_t bytesize, unsigned int Flags),
                 UNLESS_EMPTY(bytesize, cudaHostAlloc(pp, bytesize, Flags)))
HC_ENTRY(cuMemFreeHost, (void *p), cudaFreeHost(p))
HC_ENTRY(cuMemHostGetDevicePointer, (CUdeviceptr * pdptr, void *p, unsigned int Flags),
         cudaHostGetDevicePointer(PLACE(pdptr), p, Flags))
HC_ENTRY(cuMemHostRegister, (void *p, size_t bytesize, unsigned int Flags), cudaHostRegister(p, bytesize, Flags))
HC_ENTRY(cuMemHostUnregister, (void *p), cudaHostUnregister(p))
HC_CONTEXT_ENTRY(cuMemGetInfo, (size_t * free, size_t *total), cudaMemGetInfo(free, total))

static cudaError_t allocate_rows(CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned element)
{
    if (!width || !height || (element != 4 && element != 8 && element != 16)) {
        if (pitch)
            *pitch = 0;
        return cudaErrorInvalidValue;
    }
    return cudaMallocPitch(PLACE(address), pitch, width, height);
}
HC_CONTEXT_ENTRY(cuMemAllocPitch,
                 (CUdeviceptr * dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
                  unsigned int ElementSizeBytes),
                 allocate_rows(dptr, pPitch, WidthInBytes, Height, ElementSizeBytes))

HC_CONTEXT_ENTRY(cuMemAllocManaged, (CUdeviceptr * dptr, size_t bytesize, unsigned int flags),
                 cudaMallocManaged(PLACE(dptr), bytesize, flags))

/* ---- stream-ordered allocation ----------------------------------------------------------------------------------- */

HC_ENTRY(cuMemAllocAsync, (CUdeviceptr * dptr, size_t bytesize, CUstream hStream),
         UNLESS_EMPTY(bytesize, cudaMallocAsync(PLACE(dptr), bytesize, hStream)))
HC_PER_THREAD(cuMemAllocAsync, (CUdeviceptr * dptr, size_t bytesize, CUstream hStream), dptr, bytesize, hStream)
HC_ENTRY(cuMemFreeAsync, (CUdeviceptr dptr, CUstream hStream), cudaFreeAsync(POINTER(dptr), hStream))
HC_PER_THREAD(cuMemFreeAsync, (CUdeviceptr dptr, CUstream hStream), dptr, hStream)

HC_ENTRY(cuMemAllocFromPoolAsync, (CUdeviceptr * dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream),
         UNLESS_EMPTY(bytesize, cudaMallocFromPoolAsync(PLACE(dptr), bytesize, pool, hStream)))
HC_PER_THREAD(cuMemAllocFromPoolAsync, (CUdeviceptr * dptr, size_t bytesize, CUmemoryPool pool, CUstream hStream), dptr,
              bytesize, pool, hStream)
