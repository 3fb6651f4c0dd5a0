/* cuBLAS in a capture. The function is inline, so that the library does not link cuBLAS.
 * Threads: as for cuBLAS handles, one thread at a time. */
#ifndef BREAKGRAPH_CUBLAS_H
#define BREAKGRAPH_CUBLAS_H

#include <breakgraph/capture.h>
#include <breakgraph/workspace.h>
#include <cublas_v2.h>

/* 32 MiB: the size that cuBLAS recommends on Hopper (cuBLAS documentation, cublasSetWorkspace); it is enough for older
 * GPUs, too. */
#define BG_CUBLAS_WORKSPACE_BYTES (BG_CAST_(size_t, 32) << 20)

/* Sets the handle's stream, and a workspace that no other handle uses. With cuBLAS's default workspace a capture
 * contains memory nodes, and such a graph can be neither cloned nor instantiated twice.
 * pool: where the workspace is allocated, as a kept block, one for each handle and pool. NULL: the library allocates
 * it outside of any pool, one for each handle and device. Each call sets the same workspace. The library owns it until
 * bg_workspace_release(handle), which must come before cublasDestroy, or until the pool is freed.
 * Call it again whenever the handle changes streams, since cublasSetStream resets the workspace. Graphs captured with
 * one handle share its workspace: do not replay two of them concurrently (graphs of one pool never are).
 * Errors: INVALID_ARGUMENT (a NULL handle or stream, another device than the pool's), OUT_OF_MEMORY, CUDA, CUBLAS. */
static inline bg_status bg_cublas_bind(cublasHandle_t handle, cudaStream_t stream, bg_pool *pool)
{
    void *workspace;
    cublasStatus_t result;
    bg_status status;

    if (!handle || !stream)
        return bg_report_failure(BG_ERROR_INVALID_ARGUMENT, "bg_cublas_bind",
                                 !handle ? "handle is NULL" : "stream is NULL", "create it first");
    status = bg_workspace_in(handle, pool, BG_CUBLAS_WORKSPACE_BYTES, &workspace);
    if (status != BG_OK)
        return status;
    result = cublasSetStream(handle, stream);
    if (result != CUBLAS_STATUS_SUCCESS)
        return bg_report_failure(BG_ERROR_CUBLAS, "cublasSetStream", cublasGetStatusName(result),
                                 "check the handle and its stream");
    result = cublasSetWorkspace(handle, workspace, BG_CUBLAS_WORKSPACE_BYTES);
    if (result != CUBLAS_STATUS_SUCCESS)
        return bg_report_failure(BG_ERROR_CUBLAS, "cublasSetWorkspace", cublasGetStatusName(result),
                                 "check the handle");
    return BG_OK;
}

#endif
