/* What the threads of a block reduce, scan, load and store together with cub, in blocks of many shapes. */
#include "collectives.h"

#include <cub/block/block_load.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>

enum { ITEMS = 3, BLOCKS = 2, TILES = 3 };

template <int X, int Y, int Z>
struct shape {
    static constexpr int threads = X * Y * Z;
    static dim3 block()
    {
        return dim3(X, Y, Z);
    }
    __device__ static int self()
    {
        return static_cast<int>((threadIdx.z * Y + threadIdx.y) * X + threadIdx.x);
    }
};

/* ---- reductions -------------------------------------------------------------------------------------------------- */

enum { OF_BLOCK, OF_ITEMS, OF_HALF, OF_FIRST, OF_ALL, WITHOUT_STORAGE, REDUCTIONS };

template <class T, int X, int Y, int Z, cub::BlockReduceAlgorithm ALGORITHM>
__global__ void reduce(T *out)
{
    using Reduce = cub::BlockReduce<T, X, ALGORITHM, Y, Z>;
    __shared__ typename Reduce::TempStorage storage;
    const int self = shape<X, Y, Z>::self();
    T value = sample<T>::at(self), items[ITEMS], result[REDUCTIONS];
    for (int i = 0; i < ITEMS; i++)
        items[i] = sample<T>::at(self * ITEMS + i);
    result[OF_BLOCK] = Reduce(storage).Reduce(value, combine());
    __syncthreads();
    result[OF_ITEMS] = Reduce(storage).Reduce(items, combine());
    __syncthreads();
    result[OF_HALF] = Reduce(storage).Reduce(value, combine(), X * Y * Z / 2 + 1);
    __syncthreads();
    result[OF_FIRST] = Reduce(storage).Reduce(value, combine(), 1);
    __syncthreads();
    result[OF_ALL] = Reduce(storage).Reduce(value, combine(), X * Y * Z);
    result[WITHOUT_STORAGE] = Reduce().Reduce(value, combine());
    if (self == 0)
        for (int i = 0; i < REDUCTIONS; i++)
            out[blockIdx.x * REDUCTIONS + i] = result[i];
}

template <class T, int X, int Y, int Z, cub::BlockReduceAlgorithm ALGORITHM>
static void check_reduce(checker &check, cudaStream_t stream)
{
    const int threads = X * Y * Z;
    results<T> out(BLOCKS * REDUCTIONS);
    const auto kernel = reduce<T, X, Y, Z, ALGORITHM>;
    kernel<<<BLOCKS, shape<X, Y, Z>::block(), 0, stream>>>(out.device);
    out.fetch(stream);
    for (int block = 0; block < BLOCKS; block++) {
        const int first = block * REDUCTIONS;
        check.expect(out[first + OF_BLOCK], fold<T>(0, threads - 1), "reduction", block, threads);
        check.expect(out[first + OF_ITEMS], fold<T>(0, threads * ITEMS - 1), "reduction of items", block, threads);
        check.expect(out[first + OF_HALF], fold<T>(0, threads / 2), "reduction of half", block, threads);
        check.expect(out[first + OF_FIRST], fold<T>(0, 0), "reduction of one", block, threads);
        check.expect(out[first + OF_ALL], fold<T>(0, threads - 1), "reduction of all", block, threads);
        check.expect(out[first + WITHOUT_STORAGE], fold<T>(0, threads - 1), "reduction without storage", block,
                     threads);
    }
}

/* A block that has less threads than the class, which is told how many. */
__global__ void sum_up(int *out)
{
    using Reduce = cub::BlockReduce<int, 256>;
    __shared__ typename Reduce::TempStorage storage;
    int sum = Reduce(storage).Sum(static_cast<int>(threadIdx.x) + 1, static_cast<int>(blockDim.x));
    __syncthreads();
    int items[2] = {1, 2};
    const int of_items = cub::BlockReduce<int, 256>().Sum(items[0] + items[1], static_cast<int>(blockDim.x));
    if (threadIdx.x == 0) {
        out[0] = sum;
        out[1] = of_items;
    }
}

static void check_small_blocks(checker &check, cudaStream_t stream)
{
    for (int threads : {1, 31, 64, 200, 256}) {
        results<int> out(2);
        sum_up<<<1, static_cast<unsigned>(threads), 0, stream>>>(out.device);
        out.fetch(stream);
        check.expect(out[0], threads * (threads + 1) / 2, "sum", 0, threads);
        check.expect(out[1], 3 * threads, "sum of items", 0, threads);
    }
}

/* ---- scans ---------------------------------------------------------------------------------------------------------
 */

/* What the tiles before this one come to. */
template <class T>
struct running_total {
    T total;

    __device__ T operator()(const T &of_tile)
    {
        T before = total;
        total = combine()(total, of_tile);
        return before;
    }
};

enum {
    EXCLUSIVE,
    BARE,
    INCLUSIVE,
    AGGREGATE,
    INCLUSIVE_AGGREGATE,
    EXCLUSIVE_TILES,
    INCLUSIVE_TILES = EXCLUSIVE_TILES + TILES,
    SCANS = INCLUSIVE_TILES + TILES
};

template <class T, int X, int Y, int Z, cub::BlockScanAlgorithm ALGORITHM>
__global__ void scan(T *out)
{
    using Scan = cub::BlockScan<T, X, ALGORITHM, Y, Z>;
    __shared__ typename Scan::TempStorage storage;
    const int self = shape<X, Y, Z>::self();
    T value = sample<T>::at(self + 1), initial = sample<T>::at(0);
    T *result = out + self * SCANS;
    Scan(storage).ExclusiveScan(value, result[EXCLUSIVE], initial, combine(), result[AGGREGATE]);
    __syncthreads();
    Scan(storage).ExclusiveScan(value, result[BARE], combine());
    __syncthreads();
    Scan(storage).InclusiveScan(value, result[INCLUSIVE], combine(), result[INCLUSIVE_AGGREGATE]);
    running_total<T> exclusive = {initial}, inclusive = {initial};
    for (int tile = 0; tile < TILES; tile++) {
        T of_tile = sample<T>::at(tile * X * Y * Z + self + 1);
        __syncthreads();
        Scan(storage).ExclusiveScan(of_tile, result[EXCLUSIVE_TILES + tile], combine(), exclusive);
        __syncthreads();
        Scan(storage).InclusiveScan(of_tile, result[INCLUSIVE_TILES + tile], combine(), inclusive);
    }
}

template <class T, int X, int Y, int Z, cub::BlockScanAlgorithm ALGORITHM>
static void check_scan(checker &check, cudaStream_t stream)
{
    const int threads = X * Y * Z;
    results<T> out(threads * SCANS);
    const auto kernel = scan<T, X, Y, Z, ALGORITHM>;
    kernel<<<1, shape<X, Y, Z>::block(), 0, stream>>>(out.device);
    out.fetch(stream);
    for (int self = 0; self < threads; self++) {
        const int row = self * SCANS;
        check.expect(out[row + EXCLUSIVE], fold<T>(0, self), "exclusive scan", self, threads);
        if (self > 0)
            check.expect(out[row + BARE], fold<T>(1, self), "exclusive scan from nothing", self, threads);
        check.expect(out[row + INCLUSIVE], fold<T>(1, self + 1), "inclusive scan", self, threads);
        check.expect(out[row + AGGREGATE], fold<T>(1, threads), "aggregate", self, threads);
        check.expect(out[row + INCLUSIVE_AGGREGATE], fold<T>(1, threads), "inclusive aggregate", self, threads);
        for (int tile = 0; tile < TILES; tile++) {
            const int last = tile * threads + self;
            check.expect(out[row + EXCLUSIVE_TILES + tile], fold<T>(0, last), "exclusive tile", self, threads);
            check.expect(out[row + INCLUSIVE_TILES + tile], fold<T>(0, last + 1), "inclusive tile", self, threads);
        }
    }
}

enum { ITEMS_EXCLUSIVE, ITEMS_BARE, ITEMS_INCLUSIVE, ITEMS_INITIAL, ITEMS_PREFIX, ITEMS_INCLUSIVE_PREFIX, ITEM_SCANS };

template <class T, int X, int Y, int Z, cub::BlockScanAlgorithm ALGORITHM>
__global__ void scan_items(T *out, T *aggregate)
{
    using Scan = cub::BlockScan<T, X, ALGORITHM, Y, Z>;
    __shared__ typename Scan::TempStorage storage;
    const int self = shape<X, Y, Z>::self();
    T value[ITEMS], result[ITEM_SCANS][ITEMS], initial = sample<T>::at(0), *of_thread = aggregate + self * 3;
    for (int i = 0; i < ITEMS; i++)
        value[i] = result[ITEMS_BARE][i] = sample<T>::at(self * ITEMS + i + 1);
    Scan(storage).ExclusiveScan(value, result[ITEMS_EXCLUSIVE], initial, combine(), of_thread[0]);
    __syncthreads();
    Scan(storage).ExclusiveScan(result[ITEMS_BARE], result[ITEMS_BARE], combine());
    __syncthreads();
    Scan(storage).InclusiveScan(value, result[ITEMS_INCLUSIVE], combine(), of_thread[1]);
    __syncthreads();
    Scan(storage).InclusiveScan(value, result[ITEMS_INITIAL], initial, combine(), of_thread[2]);
    __syncthreads();
    running_total<T> exclusive = {initial}, inclusive = {initial};
    Scan(storage).ExclusiveScan(value, result[ITEMS_PREFIX], combine(), exclusive);
    __syncthreads();
    Scan(storage).InclusiveScan(value, result[ITEMS_INCLUSIVE_PREFIX], combine(), inclusive);
    for (int i = 0; i < ITEMS * ITEM_SCANS; i++)
        out[(self * ITEM_SCANS) * ITEMS + i] = result[i / ITEMS][i % ITEMS];
}

template <class T, int X, int Y, int Z, cub::BlockScanAlgorithm ALGORITHM>
static void check_scan_items(checker &check, cudaStream_t stream)
{
    const int threads = X * Y * Z;
    results<T> out(threads * ITEM_SCANS * ITEMS), aggregate(threads * 3);
    const auto kernel = scan_items<T, X, Y, Z, ALGORITHM>;
    kernel<<<1, shape<X, Y, Z>::block(), 0, stream>>>(out.device, aggregate.device);
    out.fetch(stream);
    aggregate.fetch(stream);
    for (int item = 0; item < threads * ITEMS; item++) {
        const int row = item / ITEMS * ITEM_SCANS * ITEMS + item % ITEMS;
        check.expect(out[row + ITEMS_EXCLUSIVE * ITEMS], fold<T>(0, item), "item, exclusive", item, threads);
        if (item > 0)
            check.expect(out[row + ITEMS_BARE * ITEMS], fold<T>(1, item), "item, from nothing", item, threads);
        check.expect(out[row + ITEMS_INCLUSIVE * ITEMS], fold<T>(1, item + 1), "item, inclusive", item, threads);
        check.expect(out[row + ITEMS_INITIAL * ITEMS], fold<T>(0, item + 1), "item, initial", item, threads);
        check.expect(out[row + ITEMS_PREFIX * ITEMS], fold<T>(0, item), "item, prefix", item, threads);
        check.expect(out[row + ITEMS_INCLUSIVE_PREFIX * ITEMS], fold<T>(0, item + 1), "item, inclusive prefix", item,
                     threads);
    }
    for (int i = 0; i < threads * 3; i++)
        check.expect(aggregate[i], fold<T>(1, threads * ITEMS), "aggregate of items", i / 3, threads);
}

/* ---- sums, in memory that a union shares ---------------------------------------------------------------------------
 */

enum { SUMMED = 96 };

template <cub::BlockLoadAlgorithm LOAD, cub::BlockStoreAlgorithm STORE>
__global__ void sum_tile(const int *in, int *out, int valid)
{
    using Load = cub::BlockLoad<int, SUMMED, ITEMS, LOAD>;
    using Store = cub::BlockStore<int, SUMMED, ITEMS, STORE>;
    using Scan = cub::BlockScan<int, SUMMED>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Scan::TempStorage scan;
        typename Store::TempStorage store;
    } storage;
    int item[ITEMS], total = 0;
    Load(storage.load).Load(in, item, valid, 0);
    __syncthreads();
    Scan(storage.scan).InclusiveSum(item, item, total);
    __syncthreads();
    Store(storage.store).Store(out, item, valid);
    if (threadIdx.x == SUMMED - 1)
        out[SUMMED * ITEMS] = total;
}

template <cub::BlockLoadAlgorithm LOAD, cub::BlockStoreAlgorithm STORE>
static void check_sum(checker &check, cudaStream_t stream)
{
    const int all = SUMMED * ITEMS;
    results<int> out(all + 1);
    int *number = allocate_pinned<int>(all), *in = allocate<int>(all);
    for (int i = 0; i < all; i++)
        number[i] = i;
    CHECK(cudaMemcpyAsync(in, number, all * sizeof(int), cudaMemcpyHostToDevice, stream));
    for (int valid : {1, 100, all - 1, all}) {
        const auto kernel = sum_tile<LOAD, STORE>;
        kernel<<<1, SUMMED, 0, stream>>>(in, out.device, valid);
        out.fetch(stream);
        const bool striped = LOAD == cub::BLOCK_LOAD_STRIPED;
        for (int i = 0; !striped && i < valid; i++)
            check.expect(out[i], i * (i + 1) / 2, "sum of a tile", i, valid);
        check.expect(out[all], valid * (valid - 1) / 2, "total of a tile", 0, valid);
    }
    CHECK(cudaFree(in));
    CHECK(cudaFreeHost(number));
}

__global__ void copy_tile(const int *in, int *out)
{
    using Load = cub::BlockLoad<int, 16, ITEMS, cub::BLOCK_LOAD_STRIPED, 2, 2>;
    using Store = cub::BlockStore<int, 16, ITEMS, cub::BLOCK_STORE_STRIPED, 2, 2>;
    const int self = shape<16, 2, 2>::self();
    int item[ITEMS];
    Load().Load(in, item);
    for (int i = 0; i < ITEMS; i++)
        item[i] = item[i] * 10 + (item[i] == self + i * 64);
    Store().Store(out, item);
}

static void check_copy(checker &check, cudaStream_t stream)
{
    results<int> in(64 * ITEMS), out(64 * ITEMS);
    int *number = allocate_pinned<int>(64 * ITEMS);
    for (int i = 0; i < 64 * ITEMS; i++)
        number[i] = i;
    CHECK(cudaMemcpyAsync(in.device, number, 64 * ITEMS * sizeof(int), cudaMemcpyHostToDevice, stream));
    copy_tile<<<1, dim3(16, 2, 2), 0, stream>>>(in.device, out.device);
    out.fetch(stream);
    for (int i = 0; i < 64 * ITEMS; i++)
        check.expect(out[i], i * 10 + 1, "item", i, 64);
    CHECK(cudaFreeHost(number));
}

/* ---- all of them ---------------------------------------------------------------------------------------------------
 */

template <class T, int X, int Y, int Z, cub::BlockReduceAlgorithm REDUCE, cub::BlockScanAlgorithm SCAN>
static void check_all(checker &reductions, checker &scans, cudaStream_t stream)
{
    check_reduce<T, X, Y, Z, REDUCE>(reductions, stream);
    check_scan<T, X, Y, Z, SCAN>(scans, stream);
    check_scan_items<T, X, Y, Z, SCAN>(scans, stream);
}

static void check_shapes(cudaStream_t stream)
{
    constexpr auto warps = cub::BLOCK_REDUCE_WARP_REDUCTIONS;
    constexpr auto raking = cub::BLOCK_REDUCE_RAKING;
    constexpr auto commutative = cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY;
    checker reductions("reductions"), scans("scans");
    check_all<int, 1, 1, 1, warps, cub::BLOCK_SCAN_RAKING>(reductions, scans, stream);
    check_all<line, 31, 1, 1, warps, cub::BLOCK_SCAN_RAKING>(reductions, scans, stream);
    check_all<matrix, 32, 1, 1, raking, cub::BLOCK_SCAN_WARP_SCANS>(reductions, scans, stream);
    check_all<double, 33, 1, 1, warps, cub::BLOCK_SCAN_RAKING_MEMOIZE>(reductions, scans, stream);
    check_all<unsigned long long, 64, 1, 1, commutative, cub::BLOCK_SCAN_WARP_SCANS>(reductions, scans, stream);
    check_all<line, 100, 1, 1, raking, cub::BLOCK_SCAN_RAKING>(reductions, scans, stream);
    check_all<matrix, 128, 1, 1, warps, cub::BLOCK_SCAN_RAKING>(reductions, scans, stream);
    check_all<float, 16, 4, 1, warps, cub::BLOCK_SCAN_WARP_SCANS>(reductions, scans, stream);
    check_all<line, 7, 5, 1, warps, cub::BLOCK_SCAN_RAKING>(reductions, scans, stream);
    check_all<matrix, 4, 3, 5, raking, cub::BLOCK_SCAN_RAKING_MEMOIZE>(reductions, scans, stream);
    check_all<int, 256, 1, 1, commutative, cub::BLOCK_SCAN_RAKING>(reductions, scans, stream);
    check_small_blocks(reductions, stream);
}

int main()
{
    cudaStream_t stream = make_stream();
    check_shapes(stream);
    checker tiles("tiles");
    check_sum<cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT>(tiles, stream);
    check_sum<cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE>(tiles, stream);
    check_sum<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>(tiles, stream);
    check_sum<cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>(tiles, stream);
    check_sum<cub::BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED, cub::BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED>(tiles, stream);
    check_sum<cub::BLOCK_LOAD_STRIPED, cub::BLOCK_STORE_STRIPED>(tiles, stream);
    check_copy(tiles, stream);
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
