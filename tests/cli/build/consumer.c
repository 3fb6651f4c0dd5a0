/* A program against the installed library; built as C11, C++17 and by nvcc. Exit status 0: it ran; 3: there is no
 * device. */
#include <breakgraph/breakgraph.h>
#include <stdio.h>

#define CHECK(call, ok, text)                                                                                          \
    do {                                                                                                               \
        if ((call) != (ok)) {                                                                                          \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, (text));                                     \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)
#define BG(call)   CHECK(call, BG_OK, bg_last_error())
#define CUDA(call) CHECK(call, cudaSuccess, cudaGetErrorString(cudaGetLastError()))

/* y = factor * x, on the CPU: what no graph can capture. */
BG_EAGER_OP(scale, BG_IN(x), BG_OUT(y), BG_VALUE(float, factor))
{
    float value[4];
    if (cudaMemcpyAsync(value, args->x.data, sizeof value, cudaMemcpyDeviceToHost, stream) != cudaSuccess ||
        cudaStreamSynchronize(stream) != cudaSuccess)
        return BG_ERROR_CUDA;
    for (int i = 0; i < 4; i++)
        value[i] *= args->factor;
    if (cudaMemcpyAsync(args->y.data, value, sizeof value, cudaMemcpyHostToDevice, stream) != cudaSuccess ||
        cudaStreamSynchronize(stream) != cudaSuccess)
        return BG_ERROR_CUDA;
    return BG_OK;
}

int main(void)
{
    const float first[4] = {1, 2, 3, 4}, second[4] = {5, 6, 7, 8};
    float result[4] = {0, 0, 0, 0};
    float *memory;
    cudaStream_t stream;
    bg_capture *capture;
    bg_graph *graph;
    bg_graph_info info = BG_GRAPH_INFO_INIT;
    bg_runner_config config = BG_RUNNER_CONFIG_INIT;
    bg_tensor x, y;
    int devices = 0;

    printf("breakgraph %s for %s\n", bg_version(), bg_device_kind());
    /* What the library needs beside CUDA is there. */
    CHECK(bg_runner_config_read(&config, ""), BG_ERROR_IO, "there is no such file");
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("no GPU: %s\n", cudaGetErrorString(cudaGetLastError()));
        return 3;
    }
    CUDA(cudaMalloc((void **)&memory, 16 * sizeof(float)));
    CUDA(cudaStreamCreate(&stream));
    x = bg_tensor_1d(memory + 4, BG_F32, 4);
    y = bg_tensor_1d(memory + 8, BG_F32, 4);
    CUDA(cudaMemcpy(memory, first, sizeof first, cudaMemcpyHostToDevice));

    BG(bg_capture_begin(&capture, stream, NULL));
    CUDA(cudaMemcpyAsync(memory + 4, memory, sizeof first, cudaMemcpyDeviceToDevice, stream));
    BG(BG_CALL(scale, stream, .x = x, .y = y, .factor = 10.0f));
    CUDA(cudaMemcpyAsync(memory + 12, memory + 8, sizeof first, cudaMemcpyDeviceToDevice, stream));
    BG(bg_capture_end(capture, &graph));
    BG(bg_graph_get_info(graph, &info));

    CUDA(cudaMemcpy(memory, second, sizeof second, cudaMemcpyHostToDevice));
    BG(bg_replay(graph, stream));
    CUDA(cudaMemcpyAsync(result, memory + 12, sizeof result, cudaMemcpyDeviceToHost, stream));
    CUDA(cudaStreamSynchronize(stream));
    bg_graph_destroy(graph);
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(memory));
    printf("%d segments, %d break: %g %g %g %g\n", info.segments, info.breaks, result[0], result[1], result[2],
           result[3]);
    return info.segments == 2 && info.breaks == 1 && result[0] == 50 && result[3] == 80 ? 0 : 1;
}
