// The sum and the maximum of an array in three ways: a tree in dynamic shared memory, shuffles within warps, and
// cub::BlockReduce. Each thread first reduces the elements of a stride.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cub/cub.cuh>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t status = (call);                                                                                   \
        if (status != cudaSuccess) {                                                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status));                 \
            exit(EXIT_FAILURE);                                                                                        \
        }                                                                                                              \
    } while (0)

struct Add {
    template <typename T>
    __host__ __device__ __forceinline__ T operator()(const T &a, const T &b) const
    {
        return a + b;
    }
};

struct Largest {
    template <typename T>
    __host__ __device__ __forceinline__ T operator()(const T &a, const T &b) const
    {
        return a > b ? a : b;
    }
};

template <typename T, typename Op>
__device__ T reduce_stride(const T *in, int count, T start, Op op)
{
    T result = start;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        result = op(result, in[i]);
    return result;
}

template <typename T, typename Op>
__global__ void reduce_by_tree(const T *in, T *out, int count, T start, Op op)
{
    extern __shared__ __align__(16) unsigned char memory[];
    T *cell = reinterpret_cast<T *>(memory);
    cell[threadIdx.x] = reduce_stride(in, count, start, op);
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half >>= 1) {
        if (threadIdx.x < half)
            cell[threadIdx.x] = op(cell[threadIdx.x], cell[threadIdx.x + half]);
        __syncthreads();
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = cell[0];
}

template <typename T, typename Op>
__device__ T reduce_warp(T value, Op op)
{
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        value = op(value, __shfl_down_sync(0xffffffff, value, offset));
    return value;
}

template <typename T, typename Op>
__global__ void reduce_by_shuffles(const T *in, T *out, int count, T start, Op op)
{
    __shared__ T of_warp[32];
    const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize;
    T value = reduce_warp(reduce_stride(in, count, start, op), op);
    if (lane == 0)
        of_warp[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = reduce_warp(lane < static_cast<int>(blockDim.x) / warpSize ? of_warp[lane] : start, op);
        if (lane == 0)
            out[blockIdx.x] = value;
    }
}

template <int BLOCK, typename T, typename Op>
__global__ void reduce_by_cub(const T *in, T *out, int count, T start, Op op)
{
    using BlockReduce = cub::BlockReduce<T, BLOCK>;
    __shared__ typename BlockReduce::TempStorage storage;
    T value = BlockReduce(storage).Reduce(reduce_stride(in, count, start, op), op);
    if (threadIdx.x == 0)
        out[blockIdx.x] = value;
}

template <typename T, typename Op>
static bool test(const char *name, T start, Op op)
{
    constexpr int count = 100000, block = 128, grid = 24;
    std::vector<T> values(count);
    T wanted = start, *in, *partial, *result, found[3];
    for (int i = 0; i < count; ++i) {
        values[i] = static_cast<T>((i * 29LL) % 1009 - 500);
        wanted = op(wanted, values[i]);
    }
    CHECK(cudaMalloc(&in, count * sizeof(T)));
    CHECK(cudaMalloc(&partial, grid * sizeof(T)));
    CHECK(cudaMalloc(&result, 3 * sizeof(T)));
    CHECK(cudaMemcpy(in, values.data(), count * sizeof(T), cudaMemcpyHostToDevice));

    reduce_by_tree<<<grid, block, block * sizeof(T)>>>(in, partial, count, start, op);
    reduce_by_tree<T, Op><<<1, 32, 32 * sizeof(T)>>>(partial, result, grid, start, op);
    reduce_by_shuffles<<<grid, block>>>(in, partial, count, start, op);
    reduce_by_shuffles<<<1, 32>>>(partial, result + 1, grid, start, op);
    reduce_by_cub<block><<<grid, block>>>(in, partial, count, start, op);
    reduce_by_cub<32><<<1, 32>>>(partial, result + 2, grid, start, op);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(found, result, sizeof(found), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(in));
    CHECK(cudaFree(partial));
    CHECK(cudaFree(result));

    const bool right = std::all_of(found, found + 3, [=](T value) { return value == wanted; });
    printf("%s: %.0f by a tree, %.0f by shuffles, %.0f by cub: %s\n", name, double(found[0]), double(found[1]),
           double(found[2]), right ? "right" : "WRONG");
    return right;
}

int main()
{
    bool right = test<int>("sum of int", 0, Add());
    right = test<double>("sum of double", 0.0, Add()) && right;
    right = test<float>("maximum of float", -1e30f, Largest()) && right;
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
