/* A product of matrices by tiles in shared memory, as the kernel of a graph that also copies; whole numbers, so that
 * the order of additions does not matter. */
#include "program.h"

enum { TILE = 8, ROWS = 24, INNER = 40, COLUMNS = 16 };

__global__ void multiply(float *c, const float *a, const float *b, int inner, int columns)
{
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(threadIdx.y);
    const int row = static_cast<int>(blockIdx.y) * TILE + y, column = static_cast<int>(blockIdx.x) * TILE + x;
    float sum = 0;
    for (int first = 0; first < inner; first += TILE) {
        tile_a[y][x] = a[row * inner + first + x];
        tile_b[y][x] = b[(first + y) * columns + column];
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += tile_a[y][i] * tile_b[i][x];
        __syncthreads();
    }
    c[row * columns + column] = sum;
}

struct matrices {
    float *a, *b, *c;
};

static cudaGraphExec_t capture(const matrices &host, const matrices &device, cudaStream_t stream)
{
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemcpyAsync(device.a, host.a, ROWS * INNER * sizeof(float), cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(device.b, host.b, INNER * COLUMNS * sizeof(float), cudaMemcpyHostToDevice, stream));
    multiply<<<dim3(COLUMNS / TILE, ROWS / TILE), dim3(TILE, TILE), 0, stream>>>(device.c, device.a, device.b, INNER,
                                                                                 COLUMNS);
    CHECK(cudaMemcpyAsync(host.c, device.c, ROWS * COLUMNS * sizeof(float), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    return instantiate(graph);
}

static long long expect_product(const matrices &host)
{
    long long total = 0;
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < COLUMNS; column++) {
            long long sum = 0;
            for (int i = 0; i < INNER; i++)
                sum += static_cast<long long>(host.a[row * INNER + i] * host.b[i * COLUMNS + column]);
            EXPECT(host.c[row * COLUMNS + column], sum);
            total += sum;
        }
    return total;
}

int main()
{
    cudaStream_t stream = make_stream();
    const matrices host = {allocate_pinned<float>(ROWS * INNER), allocate_pinned<float>(INNER * COLUMNS),
                           allocate_pinned<float>(ROWS * COLUMNS)};
    const matrices device = {allocate<float>(ROWS * INNER), allocate<float>(INNER * COLUMNS),
                             allocate<float>(ROWS * COLUMNS)};
    cudaGraphExec_t exec = capture(host, device, stream);
    for (int launches = 1; launches <= 3; launches++) {
        for (int i = 0; i < ROWS * INNER; i++)
            host.a[i] = static_cast<float>(i * launches % 17 - 8);
        for (int i = 0; i < INNER * COLUMNS; i++)
            host.b[i] = static_cast<float>(i * (launches + 1) % 13 - 6);
        launch_and_wait(exec, stream);
        const long long total = expect_product(host);
        std::printf("launch %d: first %.0f, last %.0f, sum %lld\n", launches, static_cast<double>(host.c[0]),
                    static_cast<double>(host.c[ROWS * COLUMNS - 1]), total);
    }
    CHECK(cudaGraphExecDestroy(exec));
    for (float *memory : {host.a, host.b, host.c})
        CHECK(cudaFreeHost(memory));
    for (float *memory : {device.a, device.b, device.c})
        CHECK(cudaFree(memory));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
