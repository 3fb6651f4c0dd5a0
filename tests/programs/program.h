/* What the programs of this folder share. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

/* Ends the program with status 1 if a call of CUDA fails. */
#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t error_ = (call);                                                                                   \
        if (error_ != cudaSuccess) {                                                                                   \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(error_));              \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

/* Ends the program with status 1 if an integer is not the one that it must be. */
#define EXPECT(found, wanted)                                                                                          \
    do {                                                                                                               \
        long long found_ = static_cast<long long>(found), wanted_ = static_cast<long long>(wanted);                    \
        if (found_ != wanted_) {                                                                                       \
            std::fprintf(stderr, "%s:%d: %s is %lld, and must be %lld\n", __FILE__, __LINE__, #found, found_,          \
                         wanted_);                                                                                     \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

/* The calling thread's place in the grid. */
__device__ inline int thread_index()
{
    return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
}

/* The parameters of a kernel node. The arguments are read by the call that is given the parameters. */
template <class... Parameters>
cudaKernelNodeParams kernel_params(void (*kernel)(Parameters...), dim3 grid, dim3 block, void **arguments)
{
    cudaKernelNodeParams params = {};
    params.func = reinterpret_cast<void *>(kernel);
    params.gridDim = grid;
    params.blockDim = block;
    params.kernelParams = arguments;
    return params;
}

inline cudaStream_t make_stream()
{
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

inline cudaEvent_t make_event()
{
    cudaEvent_t event;
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    return event;
}

/* `count` elements of device memory. */
template <class T>
T *allocate(std::size_t count)
{
    void *memory;
    CHECK(cudaMalloc(&memory, count * sizeof(T)));
    return static_cast<T *>(memory);
}

/* `count` elements of pinned host memory. */
template <class T>
T *allocate_pinned(std::size_t count)
{
    void *memory;
    CHECK(cudaHostAlloc(&memory, count * sizeof(T), cudaHostAllocDefault));
    return static_cast<T *>(memory);
}

/* Reads one element of device memory, when the stream has done its work. */
template <class T>
T read_one(const T *memory, cudaStream_t stream)
{
    T value;
    CHECK(cudaMemcpyAsync(&value, memory, sizeof value, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaStreamSynchronize(stream));
    return value;
}

inline std::size_t count_nodes(cudaGraph_t graph)
{
    std::size_t count = 0;
    CHECK(cudaGraphGetNodes(graph, nullptr, &count));
    return count;
}

/* Makes the graph executable, and destroys it. */
inline cudaGraphExec_t instantiate(cudaGraph_t graph)
{
    cudaGraphExec_t exec;
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    return exec;
}

/* Launches the graph and waits for it. */
inline void launch_and_wait(cudaGraphExec_t exec, cudaStream_t stream)
{
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
}

#endif
