/* cuBLAS in a capture. Inline, so that the library does not link cuBLAS.
 * Threads: as cuBLAS handles: one thread at a time. */
#ifndef BREAKGRAPH_CUBLAS_H
#define BREAKGRAPH_CUBLAS_H

#include <breakgraph/capture.h>
#include <cublas_v2.h>

BG_BEGIN_C_

/* What bg_cublas_bind stands on: the workspace that belongs to owner, bytes at *ptr on the current device, made at the first
 * call and the same from then on. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY, CUDA. */
BG_API bg_status bg_workspace(const void *owner, size_t bytes, void **ptr);

/* Gives back the workspace of an owner that is about to go; not while a graph that uses it is replayed again. */
BG_API void bg_workspace_release(const void *owner);

/* Reports a failure of a call that the library does not make itself, for bg_last_error(). Returns status. */
BG_API bg_status bg_report_failure(bg_status status, const char *call, const char *error, const char *advice);

BG_END_C_

/* 32 MiB: what cuBLAS recommends on Hopper (cuBLAS documentation, cublasSetWorkspace); it also serves older GPUs. */
#define BG_CUBLAS_WORKSPACE_BYTES ((size_t)32 << 20)

/* Sets the handle's stream, and a workspace that no other handle uses. With its default workspace cuBLAS adds memory nodes
 * to a capture, and such a graph can be neither cloned nor instantiated twice. pool NULL: the workspace is the handle's own,
 * the same at every call, and goes with bg_workspace_release(handle) before cublasDestroy. Call it again whenever the handle
 * changes streams: cublasSetStream resets the workspace. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY, CUBLAS, and UNSUPPORTED
 * for a pool, which this version has not. */
static inline bg_status bg_cublas_bind(cublasHandle_t handle, cudaStream_t stream, bg_pool *pool)
{
    void *workspace = NULL;
    cublasStatus_t result;
    bg_status status;

    if (pool != NULL)
        return bg_report_failure(BG_ERROR_UNSUPPORTED, "bg_cublas_bind", "pool is not NULL", "pass NULL for a workspace of the handle's own");
    status = bg_workspace((const void *)handle, BG_CUBLAS_WORKSPACE_BYTES, &workspace);
    if (status != BG_OK)
        return status;
    result = cublasSetStream(handle, stream);
    if (result != CUBLAS_STATUS_SUCCESS)
        return bg_report_failure(BG_ERROR_CUBLAS, "cublasSetStream", cublasGetStatusName(result), "check the handle and its stream");
    result = cublasSetWorkspace(handle, workspace, BG_CUBLAS_WORKSPACE_BYTES);
    if (result != CUBLAS_STATUS_SUCCESS)
        return bg_report_failure(BG_ERROR_CUBLAS, "cublasSetWorkspace", cublasGetStatusName(result), "check the handle");
    return BG_OK;
}

#endif
