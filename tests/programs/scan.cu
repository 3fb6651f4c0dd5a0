/* Sums of all numbers up to each one, by shuffles within a warp: warps within a block, blocks within the array, in
 * three kernels of one graph. */
#include "program.h"

enum { THREADS = 128, WARPS = THREADS / 32, BLOCKS = 8, N = THREADS * BLOCKS };

__device__ inline int scan_warp(int value)
{
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int distance = 1; distance < 32; distance *= 2) {
        const int other = __shfl_up_sync(~0u, value, static_cast<unsigned>(distance));
        if (lane >= distance)
            value += other;
    }
    return value;
}

__global__ void scan_blocks(int *sums, int *block_sums, const int *values)
{
    __shared__ int warp_sums[WARPS];
    const int warp = static_cast<int>(threadIdx.x) / 32;
    int sum = scan_warp(values[thread_index()]);
    if (threadIdx.x % 32 == 31)
        warp_sums[warp] = sum;
    __syncthreads();
    for (int i = 0; i < warp; i++)
        sum += warp_sums[i];
    sums[thread_index()] = sum;
    if (threadIdx.x == THREADS - 1)
        block_sums[blockIdx.x] = sum;
}

/* One warp. */
__global__ void scan_block_sums(int *block_sums)
{
    const int sum = scan_warp(threadIdx.x < BLOCKS ? block_sums[threadIdx.x] : 0);
    if (threadIdx.x < BLOCKS)
        block_sums[threadIdx.x] = sum;
}

__global__ void add_block_sums(int *sums, const int *block_sums)
{
    if (blockIdx.x > 0)
        sums[thread_index()] += block_sums[blockIdx.x - 1];
}

int main()
{
    cudaStream_t stream = make_stream();
    cudaGraph_t graph;
    int *values = allocate<int>(N), *sums = allocate<int>(N), *block_sums = allocate<int>(BLOCKS);
    int numbers[N], found[N];
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    scan_blocks<<<BLOCKS, THREADS, 0, stream>>>(sums, block_sums, values);
    scan_block_sums<<<1, 32, 0, stream>>>(block_sums);
    add_block_sums<<<BLOCKS, THREADS, 0, stream>>>(sums, block_sums);
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t exec = instantiate(graph);
    for (int round = 1; round <= 3; round++) {
        int sum = 0;
        for (int i = 0; i < N; i++)
            numbers[i] = i * round % 11 - 4;
        CHECK(cudaMemcpyAsync(values, numbers, sizeof numbers, cudaMemcpyHostToDevice, stream));
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaMemcpyAsync(found, sums, sizeof found, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        for (int i = 0; i < N; i++) {
            sum += numbers[i];
            EXPECT(found[i], sum);
        }
        std::printf("round %d: %d %d %d ... %d\n", round, found[0], found[THREADS - 1], found[THREADS], found[N - 1]);
    }
    CHECK(cudaGraphExecDestroy(exec));
    for (int *memory : {values, sums, block_sums})
        CHECK(cudaFree(memory));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
