/* Driver functions for copies and fills. Runtime functions do their work, except fills of elements of 2 or 4 bytes. */
#include "hostcuda/src/call/driver_translation.h"
#include "hostcuda/src/driver/driver_calls.h"
#include "hostcuda/src/runtime/runtime_copy.h"

#define POINTER(address) ((void *)(uintptr_t)(address))

/* The per-thread variant of a copy or fill that waits: `call` uses the thread's own stream. */
#define WAITS_PER_THREAD(entry, params, call) WAITS_PER_THREAD_NAMED(entry, params, call)
#define WAITS_PER_THREAD_NAMED(entry, params, call)                                                                    \
    CUresult entry##_ptds params;                                                                                      \
    CUresult entry##_ptds params                                                                                       \
    {                                                                                                                  \
        const CUstream hStream = CU_STREAM_PER_THREAD;                                                                 \
        CUresult result = call;                                                                                        \
        return result ? result : cuStreamSynchronize(hStream);                                                         \
    }

/* A function that waits and its Async counterpart, both also in the per-thread variant. */
#define COPY_PAIR(entry, async_entry, params, async_params, async_args, call, async_call)                              \
    HC_ENTRY(entry, params, call)                                                                                      \
    HC_ENTRY(async_entry, async_params, async_call)                                                                    \
    HC_PER_THREAD(async_entry, async_params, UNWRAP async_args)                                                        \
    WAITS_PER_THREAD(entry, params, async_entry async_args)
#define UNWRAP(...) __VA_ARGS__

COPY_PAIR(cuMemcpy, cuMemcpyAsync, (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount),
          (CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream), (dst, src, ByteCount, hStream),
          cudaMemcpy(POINTER(dst), POINTER(src), ByteCount, cudaMemcpyDefault),
          cudaMemcpyAsync(POINTER(dst), POINTER(src), ByteCount, cudaMemcpyDefault, hStream))
COPY_PAIR(cuMemcpyHtoD, cuMemcpyHtoDAsync, (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount),
          (CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount, CUstream hStream),
          (dstDevice, srcHost, ByteCount, hStream),
          cudaMemcpy(POINTER(dstDevice), srcHost, ByteCount, cudaMemcpyHostToDevice),
          cudaMemcpyAsync(POINTER(dstDevice), srcHost, ByteCount, cudaMemcpyHostToDevice, hStream))
COPY_PAIR(cuMemcpyDtoH, cuMemcpyDtoHAsync, (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount),
          (void *dstHost, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),
          (dstHost, srcDevice, ByteCount, hStream),
          cudaMemcpy(dstHost, POINTER(srcDevice), ByteCount, cudaMemcpyDeviceToHost),
          cudaMemcpyAsync(dstHost, POINTER(srcDevice), ByteCount, cudaMemcpyDeviceToHost, hStream))
COPY_PAIR(cuMemcpyDtoD, cuMemcpyDtoDAsync, (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount),
          (CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount, CUstream hStream),
          (dstDevice, srcDevice, ByteCount, hStream),
          cudaMemcpy(POINTER(dstDevice), POINTER(srcDevice), ByteCount, cudaMemcpyDeviceToDevice),
          cudaMemcpyAsync(POINTER(dstDevice), POINTER(srcDevice), ByteCount, cudaMemcpyDeviceToDevice, hStream))

COPY_PAIR(cuMemcpyPeer, cuMemcpyPeerAsync,
          (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount),
          (CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount,
           CUstream hStream),
          (dstDevice, dstContext, srcDevice, srcContext, ByteCount, hStream),
          cudaMemcpyPeer(POINTER(dstDevice), hc_device_of_context(dstContext), POINTER(srcDevice),
                         hc_device_of_context(srcContext), ByteCount),
          cudaMemcpyPeerAsync(POINTER(dstDevice), hc_device_of_context(dstContext), POINTER(srcDevice),
                              hc_device_of_context(srcContext), ByteCount, hStream))

/* ---- boxes ------------------------------------------------------------------------------------------------------- */

static char *box_start(CUmemorytype type, const void *host, CUdeviceptr device, size_t x, size_t y, size_t pitch)
{
    char *base = type == CU_MEMORYTYPE_HOST ? POINTER(host) : POINTER(device);
    return base ? base + y * pitch + x : NULL;
}

/* A pitch of 0 means that the rows are contiguous (measured). */
static size_t pitch_of(size_t pitch, size_t x, size_t width)
{
    return pitch ? pitch : x + width;
}

/* A single row must fit into its pitch, too (measured). */
static bool rows_fit_pitch(const CUDA_MEMCPY2D *c)
{
    return !c->WidthInBytes || !c->Height ||
           (hc_row_fits(c->srcPitch, c->srcXInBytes, c->WidthInBytes) &&
            hc_row_fits(c->dstPitch, c->dstXInBytes, c->WidthInBytes));
}

static cudaError_t copy_rows(const CUDA_MEMCPY2D *c, cudaStream_t stream, bool wait)
{
    enum cudaMemcpyKind kind;
    if (!c || !hc_copy_kind_to_runtime(c->srcMemoryType, c->dstMemoryType, &kind))
        return cudaErrorInvalidValue;
    if (!rows_fit_pitch(c))
        return cudaErrorInvalidValue;
    size_t to_pitch = pitch_of(c->dstPitch, c->dstXInBytes, c->WidthInBytes);
    size_t from_pitch = pitch_of(c->srcPitch, c->srcXInBytes, c->WidthInBytes);
    char *to = box_start(c->dstMemoryType, c->dstHost, c->dstDevice, c->dstXInBytes, c->dstY, to_pitch);
    const char *from = box_start(c->srcMemoryType, c->srcHost, c->srcDevice, c->srcXInBytes, c->srcY, from_pitch);
    return wait ? cudaMemcpy2D(to, to_pitch, from, from_pitch, c->WidthInBytes, c->Height, kind)
                : cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, c->WidthInBytes, c->Height, kind, stream);
}

static cudaError_t copy_box(const CUDA_MEMCPY3D *copy, cudaStream_t stream, bool wait)
{
    struct cudaMemcpy3DParms params;
    if (!hc_copy_3d_to_runtime(copy, &params))
        return cudaErrorInvalidValue;
    return wait ? cudaMemcpy3D(&params) : cudaMemcpy3DAsync(&params, stream);
}

COPY_PAIR(cuMemcpy2D, cuMemcpy2DAsync, (const CUDA_MEMCPY2D *pCopy), (const CUDA_MEMCPY2D *pCopy, CUstream hStream),
          (pCopy, hStream), copy_rows(pCopy, NULL, true), copy_rows(pCopy, hStream, false))
HC_ENTRY(cuMemcpy2DUnaligned, (const CUDA_MEMCPY2D *pCopy), copy_rows(pCopy, NULL, true))
WAITS_PER_THREAD(cuMemcpy2DUnaligned, (const CUDA_MEMCPY2D *pCopy), cuMemcpy2DAsync(pCopy, hStream))
COPY_PAIR(cuMemcpy3D, cuMemcpy3DAsync, (const CUDA_MEMCPY3D *pCopy), (const CUDA_MEMCPY3D *pCopy, CUstream hStream),
          (pCopy, hStream), copy_box(pCopy, NULL, true), copy_box(pCopy, hStream, false))

/* ---- fills ------------------------------------------------------------------------------------------------------- */

COPY_PAIR(cuMemsetD8, cuMemsetD8Async, (CUdeviceptr dstDevice, unsigned char uc, size_t N),
          (CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream), (dstDevice, uc, N, hStream),
          cudaMemset(POINTER(dstDevice), uc, N), cudaMemsetAsync(POINTER(dstDevice), uc, N, hStream))
COPY_PAIR(cuMemsetD2D8, cuMemsetD2D8Async,
          (CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height),
          (CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width, size_t Height, CUstream hStream),
          (dstDevice, dstPitch, uc, Width, Height, hStream),
          cudaMemset2D(POINTER(dstDevice), dstPitch, uc, Width, Height),
          cudaMemset2DAsync(POINTER(dstDevice), dstPitch, uc, Width, Height, hStream))

/* A fill of elements of 2 or 4 bytes. The runtime has no such fill. */
#define FILL_ELEMENTS(address, pitch, value, bytes, width, height)                                                     \
    (&(struct cudaMemsetParams){POINTER(address), pitch, value, bytes, width, height})
#define FILL_PAIR(entry, async_entry, params, async_params, async_args, fill)                                          \
    CUresult entry params                                                                                              \
    {                                                                                                                  \
        HC_DRIVER_CALL(hc_fill_memory(fill, cudaStreamLegacy, true));                                                  \
    }                                                                                                                  \
    CUresult async_entry async_params                                                                                  \
    {                                                                                                                  \
        HC_DRIVER_CALL(hc_fill_memory(fill, hStream, false));                                                          \
    }                                                                                                                  \
    HC_PER_THREAD(async_entry, async_params, UNWRAP async_args)                                                        \
    WAITS_PER_THREAD(entry, params, async_entry async_args)

FILL_PAIR(cuMemsetD16, cuMemsetD16Async, (CUdeviceptr dstDevice, unsigned short us, size_t N),
          (CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream), (dstDevice, us, N, hStream),
          FILL_ELEMENTS(dstDevice, 0, us, sizeof us, N, 1))
FILL_PAIR(cuMemsetD32, cuMemsetD32Async, (CUdeviceptr dstDevice, unsigned int ui, size_t N),
          (CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream), (dstDevice, ui, N, hStream),
          FILL_ELEMENTS(dstDevice, 0, ui, sizeof ui, N, 1))
FILL_PAIR(cuMemsetD2D16, cuMemsetD2D16Async,
          (CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height),
          (CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width, size_t Height, CUstream hStream),
          (dstDevice, dstPitch, us, Width, Height, hStream),
          FILL_ELEMENTS(dstDevice, dstPitch, us, sizeof us, Width, Height))
FILL_PAIR(cuMemsetD2D32, cuMemsetD2D32Async,
          (CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height),
          (CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width, size_t Height, CUstream hStream),
          (dstDevice, dstPitch, ui, Width, Height, hStream),
          FILL_ELEMENTS(dstDevice, dstPitch, ui, sizeof ui, Width, Height))
