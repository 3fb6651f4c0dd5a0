/* Kernels in all the forms in which they are declared and launched. */
#include "program.h"

enum { N = 8 };

/* A name that is that of a parameter, too; defaults; parameters and templates without names. */
template <typename T, int FACTOR = 2, typename = void>
__global__ void __launch_bounds__(256, 2) scale(T *__restrict__ x, const T scale, int = 0, int count = N)
{
    extern __shared__ T tile[];
    const int i = thread_index();
    tile[threadIdx.x] = x[i];
    __syncthreads();
    if (i < count)
        x[i] = tile[threadIdx.x] * scale * FACTOR;
}

/* A specialization, which has names and no templates of its own. */
template <>
__global__ void scale<double>(double *__restrict__ x, const double scale, int, int)
{
    x[thread_index()] = scale;
}

/* Functions of one name, which their parameters tell apart; one of them is declared first. */
namespace outer::inner
{
namespace
{
__global__ void set(float *x, float value);
__global__ void set(int *x, int value)
{
    x[thread_index()] = value;
}
__global__ void set(float *x, float value)
{
    x[thread_index()] = value;
}
} // namespace

struct by {
    float value;
    __device__ float operator()(float x) const
    {
        return x + value;
    }
};

template <class... Values>
__global__ void sum(int *out, Values... values)
{
    *out = (0 + ... + values);
}
} // namespace outer::inner

namespace
{
/* Arrays of dynamic shared memory outside of kernels, and of two dimensions. */
extern __shared__ char bytes[];
} // namespace

__device__ int *shared_numbers()
{
    return reinterpret_cast<int *>(bytes);
}

extern "C" __global__ void reverse(int *x)
{
    shared_numbers()[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    x[threadIdx.x] = reinterpret_cast<int *>(bytes)[blockDim.x - 1 - threadIdx.x];
}

__global__ void transpose(int *x)
{
    extern __shared__ int square[][4];
    square[threadIdx.y][threadIdx.x] = x[threadIdx.y * 4 + threadIdx.x];
    __syncthreads();
    x[threadIdx.y * 4 + threadIdx.x] = square[threadIdx.x][threadIdx.y];
}

template <typename F>
__global__ void apply(F function, float *x)
{
    x[thread_index()] = function(x[thread_index()]);
}

__constant__ float table[2];
__device__ int counter;

__global__ void count(const float *x)
{
    if (x[thread_index()] > table[1])
        atomicAdd(&counter, 1);
}

struct engine {
    void (*kernel)(int *);
    dim3 block;
    void run(int *x) const
    {
        kernel<<<1, block, block.x * sizeof(int)>>>(x);
    }
};

#define LAUNCH(kernel, blocks, threads, ...) kernel<<<blocks, threads>>>(__VA_ARGS__)

static void (*choose(bool reversed))(int *)
{
    return reversed ? reverse : nullptr;
}

/* Queues one launch, and returns what another one takes. */
static float *filled(float *x)
{
    outer::inner::set<<<1, N>>>(x, 1.f);
    return x;
}

static void print(const char *what, const float *x)
{
    float host[N];
    CHECK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
    std::printf("%s:", what);
    for (float value : host)
        std::printf(" %g", static_cast<double>(value));
    std::printf("\n");
}

static void print(const char *what, const int *x, int count)
{
    int host[2 * N];
    CHECK(cudaMemcpy(host, x, sizeof *host * count, cudaMemcpyDeviceToHost));
    std::printf("%s:", what);
    for (int i = 0; i < count; i++)
        std::printf(" %d", host[i]);
    std::printf("\n");
}

static void run_templates(float *x, double *y)
{
    /* a launch in the arguments of another one, whose template its arguments choose */
    scale<<<1, dim3(N), N * sizeof(float)>>>(filled(x), 2.f);
    print("deduced", x);
    if (x)
        scale<float, 3><<<dim3(2), N / 2, N / 2 * sizeof(float), nullptr>>>(x, 0.5f, 0, N - 1);
    else
        scale<float, (N > 4 ? 4 : 5)><<<1, N>>>(x, 0.f);
    print("given", x);
    scale<double><<<1, 1>>>(y, 2.5);
    CHECK(cudaMemcpy(x, y, sizeof *y, cudaMemcpyDeviceToDevice));
    double value;
    CHECK(cudaMemcpy(&value, y, sizeof value, cudaMemcpyDeviceToHost));
    std::printf("specialized: %g\n", value);
}

static void run_names(float *x, int *n)
{
    outer::inner::set<<<1, N>>>(x, 3);
    bool more = true;
    more ? outer::inner::set<<<1, 1>>>(n, 5) : reverse<<<1, 1, 4>>>(n);
    print("overloads", x);
    LAUNCH(apply, 1, N / 2, outer::inner::by{0.5f}, x);
    apply<<<1, N>>>([] __device__(float value) { return value * 10; }, x);
    print("functors", x);
    outer::inner::sum<<<1, 1>>>(n + 1, 1, 2, 3), outer::inner::sum<<<1, 1>>>(n + 2);
    print("packs", n, 3);
}

static void run_pointers(int *n)
{
    int host[2 * N];
    for (int i = 0; i < 2 * N; i++)
        host[i] = i;
    CHECK(cudaMemcpy(n, host, sizeof host, cudaMemcpyHostToDevice));
    void (*kernel)(int *) = reverse;
    void (*kernels[])(int *) = {reverse, transpose};
    const engine engines[] = {{reverse, dim3(3)}};
    kernel<<<1, 2, 2 * sizeof(int)>>>(n);
    (*kernel)<<<1, 4, 4 * sizeof(int)>>>(n);
    choose(true)<<<1, N, N * sizeof(int)>>>(n);
    kernels[1]<<<1, dim3(4, 4), 16 * sizeof(int)>>>(n);
    (&engines[0])->run(n);
    engines->kernel<<<1, 2, 2 * sizeof(int)>>>(n);
    print("pointers", n, 2 * N);
}

static void run_variables(const float *x)
{
    const float host[2] = {0, 25};
    int counted = 0;
    CHECK(cudaMemcpyToSymbol(table, host, sizeof host));
    count<<<1, N>>>(x);
    CHECK(cudaMemcpyFromSymbol(&counted, counter, sizeof counted));
    std::printf("counted: %d\n", counted);
}

/* The call that launches returns nothing; its error is the thread's last one. */
static void run_errors(int *n)
{
    reverse<<<1, 1 << 20>>>(n);
    const bool too_large = cudaGetLastError() != cudaSuccess;
    reverse<<<dim3(1, 0), 1>>>(n);
    const bool empty = cudaGetLastError() != cudaSuccess;
    std::printf("errors: %s, %s\n", too_large ? "too large" : "none", empty ? "empty" : "none");
}

int main()
{
    float *x = allocate<float>(N);
    double *y = allocate<double>(1);
    int *n = allocate<int>(2 * N);
    run_templates(x, y);
    run_names(x, n);
    run_variables(x);
    run_pointers(n);
    run_errors(n);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaFree(x));
    CHECK(cudaFree(y));
    CHECK(cudaFree(n));
    return 0;
}
