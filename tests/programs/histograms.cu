// Histograms of bytes: with atomics in device memory alone, with one histogram a block in shared memory, and with one a
// warp in dynamic shared memory. Bytes are read four at a time.
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

typedef unsigned int uint;
#define BINS 256

static __device__ uint samples_seen;

__global__ void histogram_global(const uchar4 *data, uint *bins, uint words)
{
    uint seen = 0;
    for (uint i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x) {
        const uchar4 bytes = data[i];
        atomicAdd(&bins[bytes.x], 1u);
        atomicAdd(&bins[bytes.y], 1u);
        atomicAdd(&bins[bytes.z], 1u);
        atomicAdd(&bins[bytes.w], 1u);
        seen += 4;
    }
    atomicAdd(&samples_seen, seen);
}

__device__ inline void count_word(uint *bins, uint word)
{
#pragma unroll
    for (int shift = 0; shift < 32; shift += 8)
        atomicAdd(bins + ((word >> shift) & 0xFFU), 1);
}

__global__ void histogram_block(const uint *data, uint *bins, uint words)
{
    __shared__ uint of_block[BINS];
    for (uint i = threadIdx.x; i < BINS; i += blockDim.x)
        of_block[i] = 0;
    __syncthreads();
    for (uint i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x)
        count_word(of_block, __ldg(&data[i]));
    __syncthreads();
    for (uint i = threadIdx.x; i < BINS; i += blockDim.x)
        atomicAdd(&bins[i], of_block[i]);
}

__global__ void histogram_warps(const uint *data, uint *partial, uint words)
{
    extern __shared__ uint of_warps[];
    const uint warps = blockDim.x / warpSize;
    uint *mine = of_warps + threadIdx.x / warpSize * BINS;
    for (uint i = threadIdx.x; i < warps * BINS; i += blockDim.x)
        of_warps[i] = 0;
    __syncthreads();
    for (uint i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x)
        count_word(mine, data[i]);
    __syncthreads();
    for (uint bin = threadIdx.x; bin < BINS; bin += blockDim.x) {
        uint sum = 0;
        for (uint warp = 0; warp < warps; ++warp)
            sum += of_warps[warp * BINS + bin];
        partial[blockIdx.x * BINS + bin] = sum;
    }
}

__global__ void merge(uint *bins, const uint *partial, uint parts)
{
    uint sum = 0;
    for (uint part = 0; part < parts; ++part)
        sum += partial[part * BINS + threadIdx.x];
    bins[threadIdx.x] = sum;
}

static bool compare(const char *name, const uint *bins, const uint *wanted)
{
    uint found[BINS];
    int wrong = 0;
    CHECK(cudaMemcpy(found, bins, sizeof(found), cudaMemcpyDeviceToHost));
    for (int i = 0; i < BINS; ++i)
        wrong += found[i] != wanted[i];
    printf("%s: bin 0 has %u, bin 255 has %u, %d wrong\n", name, found[0], found[BINS - 1], wrong);
    return wrong == 0;
}

int main()
{
    const uint count = 1 << 18, words = count / 4, grid = 12, block = 96;
    std::vector<unsigned char> data(count);
    uint wanted[BINS] = {0}, *bins, *partial, seen = 0, random = 1;
    unsigned char *d_data;
    for (uint i = 0; i < count; ++i) {
        random = random * 1664525u + 1013904223u;
        data[i] = static_cast<unsigned char>((random >> 24) & (random >> 16));
        ++wanted[data[i]];
    }
    CHECK(cudaMalloc((void **)&d_data, count));
    CHECK(cudaMalloc((void **)&bins, BINS * sizeof(uint)));
    CHECK(cudaMalloc((void **)&partial, grid * BINS * sizeof(uint)));
    CHECK(cudaMemcpy(d_data, data.data(), count, cudaMemcpyHostToDevice));
    CHECK(cudaMemcpyToSymbol(samples_seen, &seen, sizeof(seen)));

    CHECK(cudaMemset(bins, 0, BINS * sizeof(uint)));
    histogram_global<<<grid, block>>>((const uchar4 *)d_data, bins, words);
    CHECK(cudaGetLastError());
    bool right = compare("device memory", bins, wanted);
    CHECK(cudaMemcpyFromSymbol(&seen, samples_seen, sizeof(seen)));
    right = right && seen == count;

    CHECK(cudaMemset(bins, 0, BINS * sizeof(uint)));
    histogram_block<<<grid, block>>>((uint *)d_data, bins, words);
    CHECK(cudaGetLastError());
    right = compare("blocks", bins, wanted) && right;

    CHECK(cudaMemset(bins, 0, BINS * sizeof(uint)));
    histogram_warps<<<grid, block, block / 32 * BINS * sizeof(uint)>>>((uint *)d_data, partial, words);
    merge<<<1, BINS>>>(bins, partial, grid);
    CHECK(cudaGetLastError());
    right = compare("warps", bins, wanted) && right;

    CHECK(cudaFree(d_data));
    CHECK(cudaFree(bins));
    CHECK(cudaFree(partial));
    printf("%u samples: %s\n", seen, right ? "passed" : "FAILED");
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
