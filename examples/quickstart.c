/* One eager op between two graph segments: shares of a total, in percent. */
#include <breakgraph/breakgraph.h>
#include "kernels/model/kernels.h"
#include <stdio.h>

enum { N = 4 };

static bg_status check_cuda(cudaError_t error)
{
    return error == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
}

/* Captured: its kernel goes into a CUDA graph. */
BG_OP(scale, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    return check_cuda(bgk_scale(args->y.data, args->x.data, args->factor, N, stream));
}

/* Eager: it waits and decides on the CPU, which no CUDA graph can. */
BG_EAGER_OP(normalize, BG_INOUT(x))
{
    float host[N], sum = 0;
    bg_status status = check_cuda(cudaMemcpyAsync(host, args->x.data, sizeof host, cudaMemcpyDeviceToHost, stream));
    if (status == BG_OK)
        status = check_cuda(cudaStreamSynchronize(stream));
    for (int i = 0; status == BG_OK && i < N; i++)
        sum += host[i];
    if (status == BG_OK && sum == 0)
        return BG_ERROR_OP;
    return status != BG_OK ? status : check_cuda(bgk_scale(args->x.data, args->x.data, 1 / sum, N, stream));
}

typedef struct model {
    bg_tensor x, y;
} model;

static bg_status forward(void *user, cudaStream_t stream)
{
    model *m = user;
    BG_CALL(scale, stream, .x = m->x, .y = m->y, .factor = 0.5f);       /* segment 0; errors stick in a capture */
    BG_CALL(normalize, stream, .x = m->y);                              /* break */
    return BG_CALL(scale, stream, .x = m->y, .y = m->y, .factor = 100); /* segment 1 */
}

int main(void)
{
    const float inputs[2][N] = {{1, 2, 3, 4}, {1, 1, 1, 5}};
    bg_graph_info info = BG_GRAPH_INFO_INIT;
    cudaStream_t stream = NULL;
    bg_graph *graph = NULL;
    float *memory = NULL, y[N];
    bg_status status = check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    if (status == BG_OK)
        status = check_cuda(cudaMalloc((void **)&memory, 2 * sizeof y));
    model m = {bg_tensor_1d(memory, BG_F32, N), bg_tensor_1d(memory ? memory + N : NULL, BG_F32, N)};
    if (status == BG_OK)
        status = check_cuda(cudaMemcpyAsync(m.x.data, inputs[0], sizeof y, cudaMemcpyHostToDevice, stream));
    if (status == BG_OK)
        status = bg_capture_forward(&graph, forward, &m, stream, NULL);
    if (status == BG_OK && (status = bg_graph_get_info(graph, &info)) == BG_OK)
        printf("%d segments, %d break, %d steps\n", info.segments, info.breaks, info.steps);
    for (int i = 0; status == BG_OK && i < 2; i++) {
        status = check_cuda(cudaMemcpyAsync(m.x.data, inputs[i], sizeof y, cudaMemcpyHostToDevice, stream));
        if (status == BG_OK && (status = bg_replay(graph, stream)) == BG_OK)
            status = check_cuda(cudaMemcpyAsync(y, m.y.data, sizeof y, cudaMemcpyDeviceToHost, stream));
        if (status == BG_OK && (status = check_cuda(cudaStreamSynchronize(stream))) == BG_OK)
            printf("replay %d: %.1f %.1f %.1f %.1f %%\n", i, y[0], y[1], y[2], y[3]);
    }
    if (status != BG_OK)
        fprintf(stderr, "%s: %s %s\n", bg_status_name(status), bg_last_error(),
                cudaGetErrorString(cudaPeekAtLastError()));
    bg_graph_destroy(graph);
    cudaFree(memory);
    if (stream != NULL)
        cudaStreamDestroy(stream);
    return status != BG_OK;
}
