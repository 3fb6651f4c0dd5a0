// The prefix sums of an array: blocks scan, the sums of the blocks are scanned, and are added. Once with a scan in
// dynamic shared memory, and once with cub::BlockScan and cub::BlockLoad, whose storage is shared in a union.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cub/block/block_load.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cuda_runtime.h>

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        cudaError_t status = (call);                                                                                   \
        if (status != cudaSuccess) {                                                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status));                 \
            exit(EXIT_FAILURE);                                                                                        \
        }                                                                                                              \
    } while (0)

constexpr int BLOCK = 256, ITEMS = 4;

// Each block scans blockDim.x elements; two halves of shared memory take turns.
__global__ void scan_blocks(const int *in, int *out, int *sums, int count)
{
    extern __shared__ int cells[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, me = threadIdx.x, threads = blockDim.x;
    int *now = cells, *next = cells + threads;
    now[me] = i < count ? in[i] : 0;
    __syncthreads();
    for (int offset = 1; offset < threads; offset *= 2) {
        next[me] = me >= offset ? now[me] + now[me - offset] : now[me];
        __syncthreads();
        int *last = now;
        now = next;
        next = last;
    }
    if (i < count)
        out[i] = now[me];
    if (sums && me == threads - 1)
        sums[blockIdx.x] = now[me];
}

template <int BLOCK_THREADS, int ITEMS_PER_THREAD>
__global__ void scan_tiles(const int *in, int *out, int *sums, int count)
{
    using Load = cub::BlockLoad<int, BLOCK_THREADS, ITEMS_PER_THREAD, cub::BLOCK_LOAD_TRANSPOSE>;
    using Scan = cub::BlockScan<int, BLOCK_THREADS>;
    using Store = cub::BlockStore<int, BLOCK_THREADS, ITEMS_PER_THREAD, cub::BLOCK_STORE_TRANSPOSE>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Scan::TempStorage scan;
        typename Store::TempStorage store;
    } storage;
    const int first = blockIdx.x * BLOCK_THREADS * ITEMS_PER_THREAD;
    int items[ITEMS_PER_THREAD], sum;

    Load(storage.load).Load(in + first, items, count - first, 0);
    __syncthreads();
    Scan(storage.scan).InclusiveSum(items, items, sum);
    __syncthreads();
    Store(storage.store).Store(out + first, items, count - first);
    if (sums && threadIdx.x == 0)
        sums[blockIdx.x] = sum;
}

__global__ void add_sums(int *out, const int *sums, int count, int items_per_block)
{
    for (int i = threadIdx.x; i < items_per_block; i += blockDim.x) {
        const int at = (blockIdx.x + 1) * items_per_block + i;
        if (at < count)
            out[at] += sums[blockIdx.x];
    }
}

static void scan_in_blocks(const int *in, int *out, int *sums, int count)
{
    const int blocks = (count + BLOCK - 1) / BLOCK;
    scan_blocks<<<blocks, BLOCK, 2 * BLOCK * sizeof(int)>>>(in, out, sums, count);
    scan_blocks<<<1, BLOCK, 2 * BLOCK * sizeof(int)>>>(sums, sums, nullptr, blocks);
    if (blocks > 1)
        add_sums<<<blocks - 1, BLOCK>>>(out, sums, count, BLOCK);
    CHECK(cudaGetLastError());
}

static void scan_in_tiles(const int *in, int *out, int *sums, int count)
{
    const int blocks = (count + BLOCK * ITEMS - 1) / (BLOCK * ITEMS);
    scan_tiles<BLOCK, ITEMS><<<blocks, BLOCK>>>(in, out, sums, count);
    scan_tiles<64, 4><<<1, 64>>>(sums, sums, nullptr, blocks);
    if (blocks > 1)
        add_sums<<<blocks - 1, BLOCK>>>(out, sums, count, BLOCK * ITEMS);
    CHECK(cudaGetLastError());
}

static bool test(const char *name, void (*scan)(const int *, int *, int *, int), int count)
{
    std::vector<int> values(count), result(count);
    int *in, *out, *sums, wrong = 0;
    for (int i = 0; i < count; ++i)
        values[i] = i * 31 % 17 - 3;
    CHECK(cudaMalloc(&in, count * sizeof(int)));
    CHECK(cudaMalloc(&out, count * sizeof(int)));
    CHECK(cudaMalloc(&sums, BLOCK * sizeof(int)));
    CHECK(cudaMemcpy(in, values.data(), count * sizeof(int), cudaMemcpyHostToDevice));
    scan(in, out, sums, count);
    CHECK(cudaMemcpy(result.data(), out, count * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(in));
    CHECK(cudaFree(out));
    CHECK(cudaFree(sums));
    for (int i = 0, sum = 0; i < count; ++i) {
        sum += values[i];
        wrong += result[i] != sum;
    }
    printf("%s of %d: the last is %d, %d wrong\n", name, count, result[count - 1], wrong);
    return wrong == 0;
}

int main()
{
    bool right = true;
    for (int count : {1, 256, 1000, 50000}) {
        right = test("scan in blocks", scan_in_blocks, count) && right;
        right = test("scan in tiles", scan_in_tiles, count) && right;
    }
    return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
