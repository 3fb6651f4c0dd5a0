/* Random numbers in kernels: sequences that are the same on every device, and pi by darts. */
#include "program.h"

#include <curand_kernel.h>

#include <cmath>

enum { THREADS = 128, BLOCKS = 8, DARTS = 64, SEED = 1234, FIRST = 4 };

template <class State>
__global__ void draw(unsigned *out)
{
    State state;
    curand_init(SEED, static_cast<unsigned long long>(thread_index()), 0, &state);
    for (int i = 0; i < FIRST; i++)
        out[thread_index() * FIRST + i] = curand(&state);
}

/* In and around a quarter of a circle. */
__global__ void throw_darts(unsigned long long *inside, double *sum_of_normal)
{
    curandState state;
    unsigned hits = 0;
    double sum = 0;
    curand_init(SEED, static_cast<unsigned long long>(thread_index()), 0, &state);
    for (int i = 0; i < DARTS; i++) {
        const float x = curand_uniform(&state), y = curand_uniform(&state);
        hits += x * x + y * y <= 1.0f;
        sum += curand_normal_double(&state);
    }
    atomicAdd(inside, static_cast<unsigned long long>(hits));
    atomicAdd(sum_of_normal, sum);
}

template <class State>
static void print_first(const char *name, cudaStream_t stream)
{
    unsigned *numbers = allocate<unsigned>(THREADS * FIRST), *found = allocate_pinned<unsigned>(THREADS * FIRST);
    launch(draw<State>, 1, THREADS, stream, numbers);
    CHECK(cudaMemcpyAsync(found, numbers, THREADS * FIRST * sizeof(unsigned), cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    const unsigned *last = found + (THREADS - 1) * FIRST;
    std::printf("%s: %u %u, of the last thread %u %u\n", name, found[0], found[FIRST - 1], last[0], last[FIRST - 1]);
    CHECK(cudaFree(numbers));
    CHECK(cudaFreeHost(found));
}

int main()
{
    cudaStream_t stream = make_stream();
    print_first<curandStateXORWOW>("xorwow", stream);
    print_first<curandStatePhilox4_32_10>("philox", stream);
    print_first<curandStateMRG32k3a>("mrg32k3a", stream);
    unsigned long long *inside = allocate<unsigned long long>(1);
    double *sum = allocate<double>(1);
    const double darts = static_cast<double>(BLOCKS) * THREADS * DARTS;
    CHECK(cudaMemsetAsync(inside, 0, sizeof *inside, stream));
    CHECK(cudaMemsetAsync(sum, 0, sizeof *sum, stream));
    launch(throw_darts, BLOCKS, THREADS, stream, inside, sum);
    const double pi = 4 * static_cast<double>(read_one(inside, stream)) / darts, mean = read_one(sum, stream) / darts;
    EXPECT(std::fabs(pi - 3.14159265) < 0.02, 1);
    EXPECT(std::fabs(mean) < 0.02, 1);
    std::printf("pi by %.0f darts, and the mean of as many normal numbers\n", darts);
    CHECK(cudaFree(inside));
    CHECK(cudaFree(sum));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
