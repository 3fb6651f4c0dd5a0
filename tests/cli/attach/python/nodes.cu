/* A graph of a program that knows nothing of breakgraph, whose nodes compute. nodes WHAT: what goes wrong in it, or
 * does not; the output is the same with and without the tools. */
#include "kernels/device.h"
#include "kernels/launch.h"

#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CUDA(call)                                                                                                     \
    do {                                                                                                               \
        cudaError_t error_ = (call);                                                                                   \
        if (error_ != cudaSuccess) {                                                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(error_));                   \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

enum { N = 1 << 12, LAUNCHES = 3 };

__global__ void scale(float *y, const float *x, float factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i] * factor;
}

__global__ void divide(float *y, const float *x, const float *by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i] / by[i];
}

/* Like a kernel that a compiler made: its name and its parameters tell no type. */
__global__ void fused_0(void *y, const void *x, const void *by)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    static_cast<float *>(y)[i] = static_cast<const float *>(x)[i] / static_cast<const float *>(by)[i];
}

/* The bits of elements of 2 bytes, all alike but one. */
template <class T>
__global__ void convert(void *y, unsigned short bits, unsigned short one)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    static_cast<unsigned short *>(y)[i] = i == 77 ? one : (unsigned short)(bits + i % 16 + (i % 2 << 15));
}

__global__ void fill(int *y, int even, int odd)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = i % 2 == 0 ? even : odd;
}

__global__ void fused_fill(void *y, int even, int odd)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    static_cast<int *>(y)[i] = i % 2 == 0 ? even : odd;
}

__global__ void mask(float *y, const float *x)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = i % 64 > i / 64 ? -INFINITY : x[i];
}

static cudaStream_t stream;
static const dim3 blocks(N / 64), threads(64);

template <class... Parameters, class... Arguments>
static void launch(void (*kernel)(Parameters...), Arguments... arguments)
{
    CUDA(bgk::launch(kernel, blocks, threads, 0, stream, arguments...));
}

/* One allocation for all, as a pool has them; each buffer begins at a multiple of 512 bytes. */
static float *memory;
static float *buffer(int index)
{
    return memory + static_cast<size_t>(index) * N;
}

enum { BUFFERS = 14, INPUT = 0, DIVISOR = 1, FIRST = 2, BESIDE = 12 };

/* Ten nodes: the fifth divides. */
__attribute__((noinline)) static void compute(const std::string &what)
{
    for (int i = 0; i < 10; i++) {
        float *y = buffer(FIRST + i);
        const float *x = i == 0 ? buffer(INPUT) : buffer(FIRST + i - 1);
        if (i == 4 && what.compare(0, 6, "opaque") == 0)
            launch(fused_0, static_cast<void *>(y), static_cast<const void *>(x),
                   static_cast<const void *>(buffer(DIVISOR)));
        else if (i == 4)
            launch(divide, y, x, static_cast<const float *>(buffer(DIVISOR)));
        else if (i == 5 && what == "mask")
            launch(mask, y, x);
        else if (i == 6 && what == "mask")
            launch(scale, y, static_cast<const float *>(buffer(INPUT)), 2.0f);
        else
            launch(scale, y, x, i % 2 == 0 ? 2.0f : 0.5f);
    }
}

/* Every pattern of bits that some format calls NaN. */
static void write_integers(void)
{
    static const int values[][2] = {{-1, -1},      {INT_MAX, INT_MAX}, {INT_MAX, 3},
                                    {-1, INT_MAX}, {0x7fff7fff, 5},    {0x7fc07fc0, 0x7e007e00},
                                    {INT_MIN, -2}, {0x00007fff, 1000}, {-4194304, 0x7fc00000}};
    for (const auto &pair : values) {
        launch(fill, reinterpret_cast<int *>(buffer(BESIDE)), pair[0], pair[1]);
        launch(fused_fill, reinterpret_cast<void *>(buffer(BESIDE + 1)), pair[0], pair[1]);
    }
}

static void capture(const std::string &what)
{
    if (what == "integers")
        write_integers();
    if (what == "half")
        launch(convert<__half>, static_cast<void *>(buffer(BESIDE)), 0x3c00, 0x7fff);
    if (what == "half-clean")
        launch(convert<__half>, static_cast<void *>(buffer(BESIDE)), 0x3c00, 0x3c01);
    if (what == "bfloat16")
        launch(convert<__nv_bfloat16>, static_cast<void *>(buffer(BESIDE)), 0x3f80, 0x7fc0);
    compute(what);
}

static void put(int index, float value)
{
    std::vector<float> host(N, value);
    for (int i = 0; i < N; i++)
        host[i] += static_cast<float>(i % 100) / 64;
    CUDA(cudaMemcpy(buffer(index), host.data(), N * sizeof(float), cudaMemcpyHostToDevice));
}

static void put_one(int index, int element, float value)
{
    CUDA(cudaMemcpy(buffer(index) + element, &value, sizeof value, cudaMemcpyHostToDevice));
}

/* The bits of all buffers, that of NaN too. */
static void print_digest(int number)
{
    std::vector<unsigned> host(static_cast<size_t>(BUFFERS) * N);
    unsigned long long digest = 0xcbf29ce484222325;
    CUDA(cudaMemcpy(host.data(), memory, host.size() * 4, cudaMemcpyDeviceToHost));
    for (unsigned word : host)
        digest = (digest ^ word) * 0x100000001b3;
    printf("launch %d: %016llx\n", number, digest);
}

/* For nodes.py. */
extern "C" cudaError_t launch_scale(cudaStream_t on, float *y, const float *x, float factor)
{
    return bgk::launch(scale, blocks, threads, 0, on, y, x, factor);
}

extern "C" cudaError_t launch_divide(cudaStream_t on, float *y, const float *x, const float *by)
{
    return bgk::launch(divide, blocks, threads, 0, on, y, x, by);
}

int main(int argc, char **argv)
{
    const std::string what = argc > 1 ? argv[1] : "none";
    cudaGraph_t graph, second;
    cudaGraphExec_t exec, other;

    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc(reinterpret_cast<void **>(&memory), static_cast<size_t>(BUFFERS) * N * sizeof(float)));
    CUDA(cudaMemset(memory, 0, static_cast<size_t>(BUFFERS) * N * sizeof(float)));
    put(INPUT, 1);
    put(DIVISOR, 2);
    if (what == "input")
        put_one(INPUT, 1234, NAN);
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    capture(what);
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    launch(scale, buffer(BESIDE), static_cast<const float *>(buffer(INPUT)), 3.0f);
    CUDA(cudaStreamEndCapture(stream, &second));
    CUDA(cudaGraphInstantiate(&other, second, 0));
    for (int i = 0; i < LAUNCHES; i++) {
        bool wrong = what == "nan" || what == "opaque" || (what == "late" && i == 1);
        if (wrong) { /* 0 / 0 */
            put_one(INPUT, 100, 0);
            put_one(DIVISOR, 100, 0);
        }
        put_one(INPUT, 0, static_cast<float>(i + 1));
        CUDA(cudaGraphLaunch(exec, stream));
        if (what == "two")
            CUDA(cudaGraphLaunch(other, stream));
        CUDA(cudaStreamSynchronize(stream));
        print_digest(i);
    }
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphExecDestroy(other));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaGraphDestroy(second));
    CUDA(cudaFree(memory));
    return 0;
}
