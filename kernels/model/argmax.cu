#include "kernels.h"
#include "kernels/launch.h"

namespace
{
constexpr int max_warps = 8;

struct best {
    float value;
    int index; /* -1: nothing yet */
};

/* Returns the one with the larger value; of equal ones, with the lower index. */
__device__ best better(best a, best b)
{
    bool second = a.index < 0 || (b.index >= 0 && (b.value > a.value || (b.value == a.value && b.index < a.index)));
    return second ? b : a;
}

__device__ best warp_best(best mine)
{
    for (int offset = 16; offset; offset /= 2) {
        best other;
        other.value = __shfl_xor_sync(0xffffffffu, mine.value, offset);
        other.index = __shfl_xor_sync(0xffffffffu, mine.index, offset);
        mine = better(mine, other);
    }
    return mine;
}

/* One block a row. */
__global__ void argmax(int *index, const float *x, int n)
{
    __shared__ float values[max_warps];
    __shared__ int indices[max_warps];
    const float *row = x + (size_t)blockIdx.x * n;
    best mine = {0.0f, -1};
    for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
        if (row[i] == row[i] && (mine.index < 0 || row[i] > mine.value))
            mine = best{row[i], i};
    mine = warp_best(mine);
    if (threadIdx.x % 32 == 0) {
        values[threadIdx.x / 32] = mine.value;
        indices[threadIdx.x / 32] = mine.index;
    }
    __syncthreads();
    if (threadIdx.x)
        return;
    for (int i = 1; i < (int)blockDim.x / 32; i++)
        mine = better(mine, best{values[i], indices[i]});
    index[blockIdx.x] = mine.index < 0 ? 0 : mine.index;
}
} // namespace

extern "C" cudaError_t bgk_argmax(int *index, const float *x, int rows, int n, cudaStream_t stream)
{
    if (rows < 1 || n < 1)
        return cudaErrorInvalidValue;
    return bgk::launch(argmax, dim3((unsigned)rows), dim3(n < 1024 ? 32u : 32u * max_warps), 0, stream, index, x, n);
}
