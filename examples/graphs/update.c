/* Updates an executable graph when the program's work changes from pass to pass. Each pass is captured anew, and the
 * executable graph is updated, which is cheaper than an instantiation. If the topology differs, the update fails, and
 * the graph is instantiated again. */
#include "try.h"

#include "kernels/model/kernels.h"

enum { N = 4, PASSES = 5 };

/* y = number + 1, and from number 3 on one more node: y = y + y. */
static cudaError_t pass(float *y, int number, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    TRY(bgk_fill(y, 1, N, stream));
    TRY(bgk_scale(y, y, (float)(number + 1), N, stream));
    if (number >= 3)
        TRY(bgk_add(y, y, y, N, stream));
done:
    return error;
}

static cudaError_t capture_pass(cudaGraph_t *graph, float *y, int number, cudaStream_t stream)
{
    cudaError_t error = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), ended;
    if (error != cudaSuccess)
        return error;
    error = pass(y, number, stream);
    ended = cudaStreamEndCapture(stream, graph);
    return error ? error : ended;
}

/* Makes *exec execute graph; *how says by which call. */
static cudaError_t update_or_instantiate(cudaGraphExec_t *exec, cudaGraph_t graph, const char **how)
{
    cudaGraphExecUpdateResultInfo info;
    cudaError_t error = cudaSuccess;
    *how = "instantiated";
    if (*exec != NULL) {
        error = cudaGraphExecUpdate(*exec, graph, &info);
        *how = "updated";
        if (error != cudaErrorGraphExecUpdateFailure)
            return error;
        cudaGetLastError(); /* clears the error, which is expected */
        *how = info.result == cudaGraphExecUpdateErrorTopologyChanged ? "another shape, instantiated again"
                                                                      : "other nodes, instantiated again";
        TRY(cudaGraphExecDestroy(*exec));
        *exec = NULL;
    }
    TRY(cudaGraphInstantiate(exec, graph, 0));
done:
    return error;
}

static cudaError_t run_pass(cudaGraphExec_t *exec, float *y, int number, cudaStream_t stream)
{
    cudaGraph_t graph = NULL;
    const char *how = NULL;
    float host[N];
    cudaError_t error = cudaSuccess;
    TRY(capture_pass(&graph, y, number, stream));
    TRY(update_or_instantiate(exec, graph, &how));
    TRY(cudaGraphLaunch(*exec, stream));
    TRY(cudaMemcpyAsync(host, y, sizeof host, cudaMemcpyDeviceToHost, stream));
    TRY(cudaStreamSynchronize(stream));
    printf("pass %d: %g (%s)\n", number, host[N - 1], how);
done:
    if (graph != NULL)
        cudaGraphDestroy(graph);
    return error;
}

int main(void)
{
    cudaStream_t stream = NULL;
    cudaGraphExec_t exec = NULL;
    float *y = NULL;
    cudaError_t error = cudaSuccess;
    TRY(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    TRY(cudaMalloc((void **)&y, N * sizeof *y));
    for (int number = 0; error == cudaSuccess && number < PASSES; number++)
        error = run_pass(&exec, y, number, stream);
done:
    if (exec != NULL)
        cudaGraphExecDestroy(exec);
    cudaFree(y);
    if (stream != NULL)
        cudaStreamDestroy(stream);
    return error != cudaSuccess;
}
