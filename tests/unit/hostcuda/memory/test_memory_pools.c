/* Memory pools and the memory of graphs: what is counted, what is refused, and what a capture makes of a pool. */
#include "tests/support/cuda_support.h"

enum { BYTES = 1 << 20, MANY = 4096 };

SHARED_STREAM(stream, cudaStreamNonBlocking);
static cudaMemPool_t pool;

static struct cudaMemPoolProps props_of(int device)
{
    return (struct cudaMemPoolProps){.allocType = cudaMemAllocationTypePinned,
                                     .location = {.type = cudaMemLocationTypeDevice, .id = device}};
}

static int setup(void **state)
{
    const struct cudaMemPoolProps props = props_of(0);
    OK(cudaMemPoolCreate(&pool, &props));
    return make_shared(state);
}

static int teardown(void **state)
{
    OK(cudaMemPoolDestroy(pool));
    return drop_shared(state);
}

static uint64_t pool_number(enum cudaMemPoolAttr attr)
{
    uint64_t value = MANY;
    OK(cudaMemPoolGetAttribute(pool, attr, &value));
    return value;
}

static void expect_used(uint64_t now, uint64_t high)
{
    assert_int_equal(pool_number(cudaMemPoolAttrUsedMemCurrent), now);
    assert_int_equal(pool_number(cudaMemPoolAttrUsedMemHigh), high);
    assert_true(pool_number(cudaMemPoolAttrReservedMemCurrent) >= now);
    assert_true(pool_number(cudaMemPoolAttrReservedMemHigh) >= high);
}

static void *allocate(size_t bytes)
{
    void *memory = NULL;
    OK(cudaMallocFromPoolAsync(&memory, bytes, pool, stream));
    return memory;
}

static void free_and_wait(void *memory)
{
    OK(cudaFreeAsync(memory, stream));
    OK(cudaStreamSynchronize(stream));
}

#define MEMORY_POOLS_TEST(name) TEST_F(name, setup, teardown, void *state)

/* ---- pools ------------------------------------------------------------------------------------------------------- */

MEMORY_POOLS_TEST(test_counts)
{
    uint64_t zero = 0, keep = UINT64_MAX;
    expect_used(0, 0);
    int *a = allocate(BYTES), *b = allocate(2 * BYTES);
    OK(cudaMemsetAsync(a, 1, BYTES, stream));
    assert_int_equal(read_int(a, stream), 0x01010101);
    expect_used(3 * BYTES, 3 * BYTES);
    free_and_wait(a);
    expect_used(2 * BYTES, 3 * BYTES);
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    free_and_wait(b);
    expect_used(0, 3 * BYTES);
    assert_true(pool_number(cudaMemPoolAttrReservedMemCurrent) >= 3 * BYTES);
    OK(cudaMemPoolTrimTo(pool, 0));
    assert_int_equal(pool_number(cudaMemPoolAttrReservedMemCurrent), 0);
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &zero));
    expect_used(0, 0);
    assert_int_equal(pool_number(cudaMemPoolAttrReservedMemHigh), 0);
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &zero));
    free_and_wait(allocate(BYTES));
    assert_int_equal(pool_number(cudaMemPoolAttrReservedMemCurrent), 0);
}

MEMORY_POOLS_TEST(test_attributes)
{
    static const enum cudaMemPoolAttr reuses[] = {cudaMemPoolReuseFollowEventDependencies,
                                                  cudaMemPoolReuseAllowOpportunistic,
                                                  cudaMemPoolReuseAllowInternalDependencies};
    uint64_t number = 1;
    for (size_t i = 0; i < sizeof reuses / sizeof *reuses; i++) {
        int on = -1, off = 0;
        OK(cudaMemPoolGetAttribute(pool, reuses[i], &on));
        assert_int_equal(on, 1);
        OK(cudaMemPoolSetAttribute(pool, reuses[i], &off));
        OK(cudaMemPoolGetAttribute(pool, reuses[i], &on));
        assert_int_equal(on, 0);
    }
    assert_int_equal(pool_number(cudaMemPoolAttrReleaseThreshold), 0);
    EXPECT_INVALID(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &number));
    EXPECT_INVALID(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &number));
    EXPECT_INVALID(cudaMemPoolSetAttribute(pool, (enum cudaMemPoolAttr)99, &number));
    EXPECT_INVALID(cudaMemPoolSetAttribute(NULL, cudaMemPoolAttrReleaseThreshold, &number));
    EXPECT_INVALID(cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)99, &number));
    EXPECT_INVALID(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, NULL));
    EXPECT_INVALID(cudaMemPoolGetAttribute(NULL, cudaMemPoolAttrUsedMemHigh, &number));
    EXPECT_INVALID(cudaMemPoolTrimTo(NULL, 0));
}

MEMORY_POOLS_TEST(test_pools_refused)
{
    int devices = 0;
    cudaMemPool_t other = NULL;
    OK(cudaGetDeviceCount(&devices));
    struct cudaMemPoolProps wrong[] = {props_of(0), props_of(0), props_of(devices)};
    EXPECT_INVALID(cudaMemPoolCreate(NULL, wrong));
    EXPECT_INVALID(cudaMemPoolCreate(&other, NULL));
    wrong[0].allocType = cudaMemAllocationTypeInvalid;
    wrong[1].location.type = cudaMemLocationTypeInvalid;
    EXPECT_INVALID(cudaMemPoolCreate(&other, &wrong[0]));
    EXPECT_INVALID(cudaMemPoolCreate(&other, &wrong[1]));
    EXPECT_INVALID(cudaMemPoolCreate(&other, &wrong[2]));
    EXPECT_INVALID(cudaMemPoolDestroy(NULL));
    OK(cudaDeviceGetDefaultMemPool(&other, 0));
    EXPECT_INVALID(cudaMemPoolDestroy(other));
}

MEMORY_POOLS_TEST(test_allocations_refused)
{
    void *memory = NULL;
    EXPECT_INVALID(cudaMallocFromPoolAsync(NULL, BYTES, pool, stream));
    EXPECT_INVALID(cudaMallocFromPoolAsync(&memory, BYTES, NULL, stream));
    EXPECT_CODE(cudaMallocFromPoolAsync(&memory, SIZE_MAX, pool, stream), cudaErrorMemoryAllocation);
    expect_used(0, 0);
}

/* ---- the current pool -------------------------------------------------------------------------------------------- */

MEMORY_POOLS_TEST(test_current_pool)
{
    cudaMemPool_t usual = NULL, current = NULL;
    void *memory = NULL;
    OK(cudaDeviceGetDefaultMemPool(&usual, 0));
    OK(cudaDeviceGetMemPool(&current, 0));
    assert_ptr_equal(current, usual);
    OK(cudaDeviceSetMemPool(0, pool));
    OK(cudaDeviceGetMemPool(&current, 0));
    assert_ptr_equal(current, pool);
    OK(cudaMallocAsync(&memory, BYTES, stream));
    expect_used(BYTES, BYTES);
    free_and_wait(memory);
    OK(cudaDeviceSetMemPool(0, usual));
    OK(cudaMallocAsync(&memory, BYTES, stream));
    expect_used(0, BYTES);
    free_and_wait(memory);
    EXPECT_INVALID(cudaDeviceSetMemPool(0, NULL));
    EXPECT_INVALID(cudaDeviceGetMemPool(NULL, 0));
    EXPECT_INVALID(cudaDeviceGetMemPool(&current, 1000));
    EXPECT_CODE(cudaDeviceGetDefaultMemPool(&current, 1000), cudaErrorInvalidDevice);
    EXPECT_INVALID(cudaDeviceGetDefaultMemPool(NULL, 0));
}

/* Its memory stays until it is freed, and the default pool is current again. */
MEMORY_POOLS_TEST(test_destroyed_pool)
{
    cudaMemPool_t made = NULL, usual = NULL, current = NULL;
    const struct cudaMemPoolProps props = props_of(0);
    int *memory = NULL;
    OK(cudaMemPoolCreate(&made, &props));
    OK(cudaDeviceSetMemPool(0, made));
    OK(cudaMallocAsync((void **)&memory, BYTES, stream));
    OK(cudaMemPoolDestroy(made));
    OK(cudaDeviceGetDefaultMemPool(&usual, 0));
    OK(cudaDeviceGetMemPool(&current, 0));
    assert_ptr_equal(current, usual);
    OK(cudaMemsetAsync(memory, 2, BYTES, stream));
    assert_int_equal(read_int(memory, stream), 0x02020202);
    free_and_wait(memory);
}

static const struct cudaMemAccessDesc READ_AND_WRITE = {.location = {.type = cudaMemLocationTypeDevice},
                                                        .flags = cudaMemAccessFlagsProtReadWrite};

/* ---- access ------------------------------------------------------------------------------------------------------ */

MEMORY_POOLS_TEST(test_access)
{
    int devices = 0;
    enum cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
    struct cudaMemAccessDesc access = READ_AND_WRITE;
    OK(cudaGetDeviceCount(&devices));
    OK(cudaMemPoolGetAccess(&flags, pool, &access.location));
    assert_int_equal(flags, cudaMemAccessFlagsProtReadWrite);
    OK(cudaMemPoolSetAccess(pool, &access, 1));
    access.flags = cudaMemAccessFlagsProtNone;
    EXPECT_CODE(cudaMemPoolSetAccess(pool, &access, 1), cudaErrorInvalidDevice);
    access.flags = cudaMemAccessFlagsProtReadWrite;
    access.location.id = devices;
    EXPECT_CODE(cudaMemPoolSetAccess(pool, &access, 1), cudaErrorInvalidDevice);
    EXPECT_INVALID(cudaMemPoolGetAccess(&flags, pool, &access.location));
}

/* CUDA's own library does not survive these. */
MEMORY_POOLS_TEST(test_access_refused)
{
    enum cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
    struct cudaMemAccessDesc access = READ_AND_WRITE;
    skip_unless(hostcuda_fail, "CUDA crashes where these pointers and locations are wrong");
    EXPECT_INVALID(cudaMemPoolSetAccess(NULL, &access, 1));
    EXPECT_INVALID(cudaMemPoolGetAccess(NULL, pool, &access.location));
    EXPECT_INVALID(cudaMemPoolGetAccess(&flags, NULL, &access.location));
    access.location.type = cudaMemLocationTypeInvalid;
    EXPECT_INVALID(cudaMemPoolSetAccess(pool, &access, 1));
    EXPECT_INVALID(cudaMemPoolGetAccess(&flags, pool, &access.location));
}

/* ---- captures and graphs ----------------------------------------------------------------------------------------- */

static uint64_t graph_number(enum cudaGraphMemAttributeType attr)
{
    uint64_t value = MANY;
    OK(cudaDeviceGetGraphMemAttribute(0, attr, &value));
    return value;
}

static cudaGraphExec_t capture_allocation(int **memory)
{
    cudaGraphNode_t nodes[2];
    size_t count = 2;
    BEGIN_CAPTURE(stream);
    OK(cudaMallocFromPoolAsync((void **)memory, BYTES, pool, stream));
    OK(cudaMemsetAsync(*memory, 3, BYTES, stream));
    CAPTURED(graph, stream);
    OK(cudaGraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 2);
    assert_int_equal(type_of(nodes[0]), cudaGraphNodeTypeMemAlloc);
    return new_exec(graph);
}

/* An allocation node; its memory is the graph's, not the pool's. */
MEMORY_POOLS_TEST(test_capture)
{
    uint64_t zero = 0;
    int *memory = NULL;
    OK(cudaDeviceGraphMemTrim(0));
    OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &zero));
    OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &zero));
    cudaGraphExec_t exec = capture_allocation(&memory);
    OK(cudaGraphLaunch(exec, stream));
    assert_int_equal(read_int(memory, stream), 0x03030303);
    expect_used(0, 0);
    assert_true(graph_number(cudaGraphMemAttrUsedMemCurrent) >= BYTES);
    assert_true(graph_number(cudaGraphMemAttrReservedMemCurrent) >= BYTES);
    OK(cudaFree(memory));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaDeviceGraphMemTrim(0));
    assert_int_equal(graph_number(cudaGraphMemAttrUsedMemCurrent), 0);
    assert_int_equal(graph_number(cudaGraphMemAttrReservedMemCurrent), 0);
    assert_true(graph_number(cudaGraphMemAttrUsedMemHigh) >= BYTES);
    OK(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemHigh, &zero));
    assert_int_equal(graph_number(cudaGraphMemAttrUsedMemHigh), 0);
}

MEMORY_POOLS_TEST(test_graph_attributes_refused)
{
    uint64_t number = 0;
    const enum cudaGraphMemAttributeType high = cudaGraphMemAttrUsedMemHigh, wrong = (enum cudaGraphMemAttributeType)7;
    EXPECT_CODE(cudaDeviceGraphMemTrim(1000), cudaErrorInvalidDevice);
    EXPECT_CODE(cudaDeviceGetGraphMemAttribute(1000, high, &number), cudaErrorInvalidDevice);
    EXPECT_INVALID(cudaDeviceGetGraphMemAttribute(0, wrong, &number));
    EXPECT_INVALID(cudaDeviceGetGraphMemAttribute(0, high, NULL));
    EXPECT_CODE(cudaDeviceSetGraphMemAttribute(1000, high, &number), cudaErrorInvalidDevice);
    EXPECT_INVALID(cudaDeviceSetGraphMemAttribute(0, wrong, &number));
    EXPECT_INVALID(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &number));
    number = 1;
    EXPECT_INVALID(cudaDeviceSetGraphMemAttribute(0, high, &number));
    EXPECT_INVALID(cudaDeviceSetGraphMemAttribute(0, cudaGraphMemAttrReservedMemHigh, &number));
}
