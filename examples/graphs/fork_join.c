/* Two streams in one graph: y = 2a on the first, z = 10b on the second, and y + z once they have joined. The inputs are
 * copied inside the graph, so that each launch sees new ones. */
#include "try.h"

#include "kernels/model/kernels.h"

enum { N = 4 };

struct work {
    cudaStream_t stream, side;
    cudaEvent_t forked, joined;
    float *host;          /* pinned: a, b, sum; N each */
    float *a, *b, *y, *z; /* device memory, one allocation */
    cudaGraphExec_t exec;
};

static cudaError_t create_resources(struct work *w)
{
    cudaError_t error = cudaSuccess;
    TRY(cudaStreamCreateWithFlags(&w->stream, cudaStreamNonBlocking));
    TRY(cudaStreamCreateWithFlags(&w->side, cudaStreamNonBlocking));
    TRY(cudaEventCreateWithFlags(&w->forked, cudaEventDisableTiming));
    TRY(cudaEventCreateWithFlags(&w->joined, cudaEventDisableTiming));
    TRY(cudaMallocHost((void **)&w->host, 3 * N * sizeof *w->host));
    TRY(cudaMalloc((void **)&w->a, 4 * N * sizeof *w->a));
    w->b = w->a + N;
    w->y = w->a + 2 * (size_t)N;
    w->z = w->a + 3 * (size_t)N;
done:
    return error;
}

/* Makes the same calls as a program without graphs. */
static cudaError_t queue_pass(const struct work *w)
{
    cudaError_t error = cudaSuccess;
    TRY(cudaEventRecord(w->forked, w->stream));
    TRY(cudaStreamWaitEvent(w->side, w->forked, 0));
    TRY(cudaMemcpyAsync(w->a, w->host, N * sizeof(float), cudaMemcpyHostToDevice, w->stream));
    TRY(bgk_scale(w->y, w->a, 2, N, w->stream));
    TRY(cudaMemcpyAsync(w->b, w->host + N, N * sizeof(float), cudaMemcpyHostToDevice, w->side));
    TRY(bgk_scale(w->z, w->b, 10, N, w->side));
    TRY(cudaEventRecord(w->joined, w->side));
    TRY(cudaStreamWaitEvent(w->stream, w->joined, 0));
    TRY(bgk_add(w->y, w->y, w->z, N, w->stream));
    TRY(cudaMemcpyAsync(w->host + 2 * (size_t)N, w->y, N * sizeof(float), cudaMemcpyDeviceToHost, w->stream));
done:
    return error;
}

static cudaError_t capture_pass(struct work *w)
{
    cudaGraph_t graph = NULL;
    size_t nodes = 0, roots = 0, edges = 0;
    cudaError_t error = cudaSuccess, ended;
    TRY(cudaStreamBeginCapture(w->stream, cudaStreamCaptureModeThreadLocal));
    error = queue_pass(w);
    ended = cudaStreamEndCapture(w->stream, &graph);
    TRY(error ? error : ended);
    TRY(cudaGraphGetNodes(graph, NULL, &nodes));
    TRY(cudaGraphGetRootNodes(graph, NULL, &roots));
    TRY(cudaGraphGetEdges(graph, NULL, NULL, NULL, &edges));
    printf("%zu nodes, %zu of them at the start, %zu edges\n", nodes, roots, edges);
    TRY(cudaGraphInstantiate(&w->exec, graph, 0));
done:
    if (graph != NULL)
        cudaGraphDestroy(graph);
    return error;
}

static cudaError_t launch(const struct work *w, int round)
{
    cudaError_t error = cudaSuccess;
    const float *sum = w->host + 2 * (size_t)N;
    for (int i = 0; i < N; i++) {
        w->host[i] = (float)(round + i);
        w->host[N + i] = (float)(round * i);
    }
    TRY(cudaGraphLaunch(w->exec, w->stream));
    TRY(cudaStreamSynchronize(w->stream));
    printf("launch %d: %g %g %g %g\n", round, sum[0], sum[1], sum[2], sum[3]);
done:
    return error;
}

static void destroy_resources(const struct work *w)
{
    if (w->exec != NULL)
        cudaGraphExecDestroy(w->exec);
    cudaFree(w->a);
    cudaFreeHost(w->host);
    if (w->joined != NULL)
        cudaEventDestroy(w->joined);
    if (w->forked != NULL)
        cudaEventDestroy(w->forked);
    if (w->side != NULL)
        cudaStreamDestroy(w->side);
    if (w->stream != NULL)
        cudaStreamDestroy(w->stream);
}

int main(void)
{
    struct work w = {0};
    cudaError_t error = create_resources(&w);
    if (error == cudaSuccess)
        error = capture_pass(&w);
    for (int round = 1; error == cudaSuccess && round <= 3; round++)
        error = launch(&w, round);
    destroy_resources(&w);
    return error != cudaSuccess;
}
