// Pi by darts that cuRAND's device functions throw, and the first numbers of three of its generators, which are the
// same on every device. It needs the toolkit's curand_kernel.h.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>
#include <curand_kernel.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t status = (call);                                                                                   \
        if (status != cudaSuccess) {                                                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status));                 \
            exit(EXIT_FAILURE);                                                                                        \
        }                                                                                                              \
    } while (0)

constexpr int BLOCK = 128, GRID = 8, DARTS = 64;

template <typename State>
__global__ void draw(unsigned *out)
{
    State state;
    curand_init(1234, threadIdx.x, 0, &state);
    for (int i = 0; i < 2; ++i)
        out[threadIdx.x * 2 + i] = curand(&state);
}

__global__ void throw_darts(curandState *states, unsigned *inside, double *normal)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    curandState state = states[i];
    unsigned hits = 0;
    for (int dart = 0; dart < DARTS; ++dart) {
        const float x = curand_uniform(&state), y = curand_uniform(&state);
        hits += x * x + y * y <= 1.0f;
        normal[i] += curand_normal_double(&state);
    }
    states[i] = state;
    atomicAdd(inside, hits);
}

__global__ void seed(curandState *states, double *normal)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    curand_init(42, i, 0, &states[i]);
    normal[i] = 0.0;
}

template <typename State>
static void print_first(const char *name)
{
    unsigned *numbers, found[2 * BLOCK];
    CHECK(cudaMalloc(&numbers, sizeof(found)));
    draw<State><<<1, BLOCK>>>(numbers);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(found, numbers, sizeof(found), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(numbers));
    printf("%s: %u %u, of the last thread %u %u\n", name, found[0], found[1], found[2 * BLOCK - 2],
           found[2 * BLOCK - 1]);
}

int main()
{
    const int threads = BLOCK * GRID;
    curandState *states;
    unsigned *inside, hits;
    double *normal, sum = 0.0;
    static double of_thread[threads];
    print_first<curandStateXORWOW>("xorwow");
    print_first<curandStatePhilox4_32_10>("philox");
    print_first<curandStateMRG32k3a>("mrg32k3a");

    CHECK(cudaMalloc(&states, threads * sizeof(curandState)));
    CHECK(cudaMalloc(&inside, sizeof(unsigned)));
    CHECK(cudaMalloc(&normal, threads * sizeof(double)));
    CHECK(cudaMemset(inside, 0, sizeof(unsigned)));
    seed<<<GRID, BLOCK>>>(states, normal);
    throw_darts<<<GRID, BLOCK>>>(states, inside, normal);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&hits, inside, sizeof(unsigned), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(of_thread, normal, sizeof(of_thread), cudaMemcpyDeviceToHost));
    for (double value : of_thread)
        sum += value;
    CHECK(cudaFree(states));
    CHECK(cudaFree(inside));
    CHECK(cudaFree(normal));

    const double darts = double(threads) * DARTS, pi = 4.0 * hits / darts, mean = sum / darts;
    const bool right = fabs(pi - 3.14159265) < 0.02 && fabs(mean) < 0.02;
    printf("pi by %.0f darts: %s\n", darts, right ? "passed" : "FAILED");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
