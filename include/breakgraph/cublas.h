/* cuBLAS in a capture. Inline, so that the library does not link cuBLAS.
 * Threads: as cuBLAS handles: one thread at a time. */
#ifndef BREAKGRAPH_CUBLAS_H
#define BREAKGRAPH_CUBLAS_H

#include <breakgraph/capture.h>
#include <breakgraph/workspace.h>
#include <cublas_v2.h>

/* 32 MiB: what cuBLAS recommends on Hopper (cuBLAS documentation, cublasSetWorkspace); it also serves older GPUs. */
#define BG_CUBLAS_WORKSPACE_BYTES (BG_CAST_(size_t, 32) << 20)

/* Sets the handle's stream, and a workspace that no other handle uses. With its default workspace cuBLAS adds memory
 * nodes to a capture, and such a graph can be neither cloned nor instantiated twice. pool NULL: the workspace is the
 * handle's own. Else it is a block of the pool, kept apart from its graphs' buckets: one for each handle and pool. It
 * is the same at every call, and goes with bg_workspace_release(handle) before cublasDestroy, or with the pool. Call it
 * again whenever the handle changes streams: cublasSetStream resets the workspace. Graphs captured with one handle
 * share its workspace: do not replay two of them at once, which graphs of one pool never are. Errors: INVALID_ARGUMENT
 * (a NULL handle or stream, another device than the pool's), OUT_OF_MEMORY, CUBLAS. */
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
