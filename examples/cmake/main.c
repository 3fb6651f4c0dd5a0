/* A CMake project with a kernel. It prints 2 4 6 8, and exits with 1 if a call fails. */
#include "scale.h"

#include <breakgraph/breakgraph.h>
#include <stdio.h>

BG_OP(scale_op, BG_INOUT(x))
{
    return scale(args->x.data, stream) == cudaSuccess ? BG_OK : BG_ERROR_CUDA;
}

static bg_status forward(void *x, cudaStream_t stream)
{
    return BG_CALL(scale_op, stream, .x = bg_tensor_1d(x, BG_F32, COUNT));
}

int main(void)
{
    float host[COUNT] = {1, 2, 3, 4};
    void *x = NULL;
    cudaStream_t stream = NULL;
    bg_graph *graph = NULL;
    if (cudaMalloc(&x, sizeof host) != cudaSuccess || cudaStreamCreate(&stream) != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(cudaGetLastError()));
        return 1;
    }
    if (bg_capture_forward(&graph, forward, x, stream, NULL) != BG_OK ||
        cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice) != cudaSuccess || bg_replay(graph, stream) != BG_OK ||
        cudaStreamSynchronize(stream) != cudaSuccess ||
        cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess) {
        fprintf(stderr, "%s\n", bg_last_error());
        return 1;
    }
    printf("%g %g %g %g\n", (double)host[0], (double)host[1], (double)host[2], (double)host[3]);
    bg_graph_destroy(graph);
    return 0;
}
