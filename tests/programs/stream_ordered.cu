/* Memory that is allocated and freed in the order of a stream: from the device's pool, and from one of its own that
 * keeps its memory for the next allocation, up to a threshold. */
#include "program.h"

#include <cstdint>

enum { N = 1024, THREADS = 128, ROUNDS = 4, BYTES = N * sizeof(int), ALLOCATED = 1 << 20 };

__global__ void add(int *sum, const int *a, const int *b)
{
    sum[thread_index()] = a[thread_index()] + b[thread_index()];
}

static cudaMemPool_t make_pool()
{
    cudaMemPool_t pool;
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&pool, &props));
    return pool;
}

static std::uint64_t read(cudaMemPool_t pool, cudaMemPoolAttr attribute)
{
    std::uint64_t bytes = 0;
    CHECK(cudaMemPoolGetAttribute(pool, attribute, &bytes));
    return bytes;
}

static int *allocate_from(cudaMemPool_t pool, cudaStream_t stream)
{
    void *memory;
    CHECK(cudaMallocFromPoolAsync(&memory, ALLOCATED, pool, stream));
    return static_cast<int *>(memory);
}

/* result = a + b, by way of three allocations that are gone again when this returns, in the order of the stream */
static void add_once(cudaMemPool_t pool, cudaStream_t stream, const int *a, const int *b, int *result)
{
    int *on_device[] = {allocate_from(pool, stream), allocate_from(pool, stream), allocate_from(pool, stream)};
    CHECK(cudaMemcpyAsync(on_device[0], a, BYTES, cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(on_device[1], b, BYTES, cudaMemcpyHostToDevice, stream));
    add<<<N / THREADS, THREADS, 0, stream>>>(on_device[2], on_device[0], on_device[1]);
    CHECK(cudaMemcpyAsync(result, on_device[2], BYTES, cudaMemcpyDeviceToHost, stream));
    for (int *memory : on_device)
        CHECK(cudaFreeAsync(memory, stream));
}

static void expect_sums(int *result)
{
    for (int i = 0; i < N; i++) {
        EXPECT(result[i], 3 * i + 1);
        result[i] = 0;
    }
}

static void run(const char *name, cudaMemPool_t pool, cudaStream_t stream, const int *a, const int *b, int *result)
{
    for (int i = 0; i < ROUNDS; i++) {
        add_once(pool, stream, a, b, result);
        CHECK(cudaStreamSynchronize(stream));
        expect_sums(result);
    }
    EXPECT(read(pool, cudaMemPoolAttrUsedMemCurrent), 0);
    EXPECT(read(pool, cudaMemPoolAttrUsedMemHigh), 3 * ALLOCATED);
    std::printf("%s: right, %llu bytes at most, and memory is kept: %s\n", name,
                static_cast<unsigned long long>(read(pool, cudaMemPoolAttrUsedMemHigh)),
                read(pool, cudaMemPoolAttrReservedMemCurrent) > 0 ? "yes" : "no");
}

int main()
{
    cudaStream_t stream = make_stream();
    cudaMemPool_t usual, pool = make_pool();
    std::uint64_t keep = UINT64_MAX;
    int *a = allocate_pinned<int>(N), *b = allocate_pinned<int>(N), *result = allocate_pinned<int>(N);
    for (int i = 0; i < N; i++) {
        a[i] = 2 * i;
        b[i] = i + 1;
    }
    CHECK(cudaDeviceGetDefaultMemPool(&usual, 0));
    run("the device's pool", usual, stream, a, b, result);
    run("a pool", pool, stream, a, b, result);
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    run("a pool with a threshold", pool, stream, a, b, result);
    CHECK(cudaMemPoolTrimTo(pool, 0));
    EXPECT(read(pool, cudaMemPoolAttrReservedMemCurrent), 0);
    std::printf("after a trim: nothing\n");
    CHECK(cudaMemPoolDestroy(pool));
    for (int *memory : {a, b, result})
        CHECK(cudaFreeHost(memory));
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
