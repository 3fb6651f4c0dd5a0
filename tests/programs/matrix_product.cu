// C = A * B for matrices whose sizes are no multiples of the tile, by tiles in shared memory. The tile is a template
// argument; what the product is scaled by is in constant memory.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t status = (call);                                                                                   \
        if (status != cudaSuccess) {                                                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status));                 \
            exit(EXIT_FAILURE);                                                                                        \
        }                                                                                                              \
    } while (0)

struct Scale {
    float alpha, beta;
};

__constant__ Scale scale;

template <int TILE>
__global__ void __launch_bounds__(TILE *TILE)
    multiply(const float *__restrict__ a, const float *__restrict__ b, float *c, int rows, int inner, int columns)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE + 1];
    const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;

    for (int first = 0; first < inner; first += TILE) {
        const int k = first + threadIdx.x, l = first + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < rows && k < inner ? a[row * inner + k] : 0.0f;
        tile_b[threadIdx.y][threadIdx.x] = l < inner && column < columns ? b[l * columns + column] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < TILE; ++i)
            sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
        __syncthreads();
    }

    if (row < rows && column < columns) {
        float *cell = &c[row * columns + column];
        *cell = scale.alpha * sum + scale.beta * *cell;
    }
}

template <int TILE>
static void launch(const float *a, const float *b, float *c, int rows, int inner, int columns)
{
    dim3 block(TILE, TILE);
    dim3 grid((columns + TILE - 1) / TILE, (rows + TILE - 1) / TILE);
    multiply<TILE><<<grid, block>>>(a, b, c, rows, inner, columns);
    CHECK(cudaGetLastError());
}

static std::vector<float> numbers(int count, int step)
{
    std::vector<float> values(count);
    for (int i = 0; i < count; ++i)
        values[i] = static_cast<float>(i * step % 13 - 6);
    return values;
}

static int count_wrong(const std::vector<float> &a, const std::vector<float> &b, const std::vector<float> &before,
                       const std::vector<float> &after, Scale s, int rows, int inner, int columns)
{
    int wrong = 0;
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < columns; ++j) {
            float sum = 0.0f;
            for (int k = 0; k < inner; ++k)
                sum += a[i * inner + k] * b[k * columns + j];
            wrong += after[i * columns + j] != s.alpha * sum + s.beta * before[i * columns + j];
        }
    }
    return wrong;
}

template <int TILE>
static bool test(int rows, int inner, int columns)
{
    std::vector<float> a = numbers(rows * inner, 5), b = numbers(inner * columns, 7), c = numbers(rows * columns, 3);
    std::vector<float> result(c.size());
    float *d_a, *d_b, *d_c;
    const Scale s = {2.0f, -1.0f};

    CHECK(cudaMalloc(&d_a, a.size() * sizeof(float)));
    CHECK(cudaMalloc(&d_b, b.size() * sizeof(float)));
    CHECK(cudaMalloc(&d_c, c.size() * sizeof(float)));
    CHECK(cudaMemcpy(d_a, a.data(), a.size() * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_b, b.data(), b.size() * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(d_c, c.data(), c.size() * sizeof(float), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyToSymbol(scale, &s, sizeof(s)));
    launch<TILE>(d_a, d_b, d_c, rows, inner, columns);
    CHECK(cudaMemcpy(result.data(), d_c, result.size() * sizeof(float), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(d_a));
    CHECK(cudaFree(d_b));
    CHECK(cudaFree(d_c));

    const int wrong = count_wrong(a, b, c, result, s, rows, inner, columns);
    printf("%dx%d times %dx%d in tiles of %d: %d wrong\n", rows, inner, inner, columns, TILE, wrong);
    return wrong == 0;
}

int main()
{
    bool right = test<16>(50, 70, 33);
    right = test<8>(17, 5, 40) && right;
    right = test<32>(64, 32, 96) && right;
    printf("%s\n", right ? "passed" : "FAILED");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
