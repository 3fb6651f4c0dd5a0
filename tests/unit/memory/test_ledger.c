/* The ledger: whose an address is. */
#include "tests/support/runner/pool_support.h"

#include "memory/ledger.h"
#include "memory/pages.h"

static bg__owner owner_of(bg__owner_level level, const void *ptr)
{
    bg__owner owner;
    EXPECT_OK(bg__owner_find(level, ptr, &owner));
    return owner;
}

static char *allocate(size_t bytes)
{
    void *memory;
    EXPECT_CUDA(cudaMalloc(&memory, bytes));
    return memory;
}

/* Memory of the device's that goes with its scope. */
#define ALLOCATED(name, bytes) __attribute__((cleanup(free_owned_memory))) char *name = allocate(bytes)

static void expect_block(const void *ptr, const char *name, const char *base, size_t bytes, bool freed)
{
    bg__owner owner = owner_of(BG__REGISTERED, ptr);
    assert_int_equal(owner.kind, BG__OWNER_REGISTERED);
    assert_string_equal(owner.name, name);
    assert_ptr_equal((void *)owner.base, base);
    assert_int_equal(owner.bytes, bytes);
    assert_int_equal(owner.freed, freed);
}

static void expect_none(bg__owner_level level, const void *ptr)
{
    assert_int_equal(owner_of(level, ptr).kind, BG__OWNER_NONE);
}

/* ---- blocks that are told of ---- */

TEST(test_blocks)
{
    char *memory = allocate(4096);
    expect_none(BG__REGISTERED, memory);
    EXPECT_OK(bg_ledger_alloc(memory + 1024, 512, "second"));
    EXPECT_OK(bg_ledger_alloc(memory, 1024, "first"));
    EXPECT_OK(bg_ledger_alloc(memory + 2048, 1, NULL));
    expect_block(memory, "first", memory, 1024, false);
    expect_block(memory + 1023, "first", memory, 1024, false);
    expect_block(memory + 1024, "second", memory + 1024, 512, false);
    expect_block(memory + 2048, "", memory + 2048, 1, false);
    expect_none(BG__REGISTERED, memory + 1536);
    expect_none(BG__REGISTERED, memory + 2049);
    assert_true(owner_of(BG__REGISTERED, memory).generation != owner_of(BG__REGISTERED, memory + 1024).generation);
    EXPECT_OK(bg_ledger_free(memory));
    expect_block(memory + 10, "first", memory, 1024, true);
    EXPECT_OK(bg_ledger_free(memory + 1024));
    EXPECT_OK(bg_ledger_free(memory + 2048));
    EXPECT_CUDA(cudaFree(memory));
    expect_none(BG__REGISTERED, memory + 10); /* the memory went back to the driver */
}

TEST(test_reused)
{
    ALLOCATED(memory, 4096);
    uint64_t before, version;
    EXPECT_OK(bg_ledger_alloc(memory, 1024, "old"));
    before = owner_of(BG__REGISTERED, memory).generation;
    EXPECT_OK(bg_ledger_free(memory));
    version = bg__ledger_version();
    EXPECT_OK(bg_ledger_alloc(memory + 512, 1024, "new")); /* takes the old one's place */
    assert_true(bg__ledger_version() != version);
    expect_none(BG__REGISTERED, memory);
    expect_block(memory + 512, "new", memory + 512, 1024, false);
    EXPECT_OK(bg_ledger_alloc(memory, 512, "old"));
    assert_true(owner_of(BG__REGISTERED, memory).generation != before);
    EXPECT_OK(bg_ledger_free(memory));
    EXPECT_OK(bg_ledger_free(memory + 512));
}

TEST(test_refused)
{
    ALLOCATED(memory, 4096);
    EXPECT_OK(bg_ledger_alloc(memory + 1024, 1024, "kv"));
    EXPECT_FAILS(bg_ledger_alloc(memory + 1024, 1024, "kv"), BG_ERROR_INVALID_ARGUMENT,
                 "overlap block \"kv\" of 1024 bytes");
    EXPECT_FAILS(bg_ledger_alloc(memory, 1025, "x"), BG_ERROR_INVALID_ARGUMENT, "overlap block \"kv\"");
    EXPECT_FAILS(bg_ledger_alloc(memory + 2047, 1, "x"), BG_ERROR_INVALID_ARGUMENT, "call bg_ledger_free first");
    EXPECT_INVALID(bg_ledger_alloc(NULL, 1, "x"));
    EXPECT_INVALID(bg_ledger_alloc(memory, 0, "x"));
    EXPECT_INVALID(bg_ledger_alloc(memory, SIZE_MAX, "x"));
    EXPECT_INVALID(bg_ledger_free(NULL));
    EXPECT_FAILS(bg_ledger_free(memory), BG_ERROR_NOT_FOUND, "was reported with bg_ledger_alloc");
    EXPECT_FAILS(bg_ledger_free(memory + 1025), BG_ERROR_INVALID_ARGUMENT, "is inside block \"kv\"");
    expect_block(memory + 1024, "kv", memory + 1024, 1024, false);
    EXPECT_OK(bg_ledger_free(memory + 1024));
    EXPECT_FAILS(bg_ledger_free(memory + 1024), BG_ERROR_INVALID_ARGUMENT, "block \"kv\" of 1024 bytes");
    EXPECT_ERROR("was already freed");
}

/* An allocator that gives its memory back without a word: what comes after it is not refused for ever. */
TEST(test_forgotten)
{
    char *memory = allocate(4096), *again;
    EXPECT_OK(bg_ledger_alloc(memory, 4096, "forgotten"));
    EXPECT_CUDA(cudaFree(memory));
    for (int i = 0; i < 64; i++) { /* whether or not it is the same address */
        again = allocate(4096);
        EXPECT_OK(bg_ledger_alloc(again, 4096, "next"));
        expect_block(again, "next", again, 4096, false);
        EXPECT_OK(bg_ledger_free(again));
        EXPECT_CUDA(cudaFree(again));
    }
}

TEST(test_resized)
{
    ALLOCATED(memory, 4096);
    uint64_t before;
    EXPECT_OK(bg_ledger_alloc(memory, 1024, "grows"));
    before = owner_of(BG__REGISTERED, memory).generation;
    bg__ledger_resize(memory, 2048);
    expect_block(memory + 2047, "grows", memory, 2048, false);
    assert_int_equal(owner_of(BG__REGISTERED, memory).generation, before);
    EXPECT_OK(bg_ledger_free(memory));
    bg__ledger_resize(memory, 4096); /* it is freed */
    expect_none(BG__REGISTERED, memory + 2048);
}

TEST(test_named)
{
    ALLOCATED(memory, 4096);
    char text[200];
    bg__owner owner;
    EXPECT_OK(bg_ledger_alloc(memory, 1024, "kv"));
    EXPECT_OK(bg_ledger_alloc(memory + 1024, 1024, ""));
    assert_true(bg__owner_find_by_name("kv", 0, &owner));
    assert_ptr_equal((void *)owner.base, memory);
    EXPECT_TEXT(bg__owner_describe(&owner, text, sizeof text), "block \"kv\" of 1024 bytes at ");
    assert_false(bg__owner_find_by_name("kv", owner.generation, &owner)); /* a newer one */
    EXPECT_OK(bg_ledger_alloc(memory + 2048, 1024, "kv"));
    assert_false(bg__owner_find_by_name("kv", 0, &owner)); /* which of the two? */
    EXPECT_OK(bg_ledger_free(memory + 2048));
    assert_false(bg__owner_find_by_name("", 0, &owner));
    assert_false(bg__owner_find_by_name("k", 0, &owner));
    EXPECT_OK(bg_ledger_free(memory));
    assert_false(bg__owner_find_by_name("kv", 0, &owner));
    EXPECT_OK(bg_ledger_free(memory + 1024));
}

/* ---- the driver's ---- */

static void expect_driver(const void *ptr, bg__owner_kind kind, const char *base, size_t bytes)
{
    bg__owner owner = owner_of(BG__DRIVER, ptr);
    uint64_t generation = 0;
    assert_int_equal(owner.kind, kind);
    assert_ptr_equal((void *)owner.base, base);
    assert_int_equal(owner.bytes, bytes);
    assert_false(owner.freed);
    EXPECT_OK(bg__driver_get_generation(ptr, &generation));
    assert_true(generation != 0);
    assert_true(generation == owner.generation);
}

TEST(test_driver)
{
    char *device = allocate(4096), *pinned;
    static char pageable[64];
    uint64_t generation = 1;
    EXPECT_CUDA(cudaMallocHost((void **)&pinned, 8192));
    expect_driver(device, BG__OWNER_DEVICE, device, 4096);
    expect_driver(device + 4095, BG__OWNER_DEVICE, device, 4096);
    expect_driver(pinned + 100, BG__OWNER_PINNED, pinned, 8192);
    expect_none(BG__DRIVER, pageable);
    EXPECT_CUDA(cudaFreeHost(pinned));
    EXPECT_CUDA(cudaFree(device));
    expect_none(BG__DRIVER, device);
    EXPECT_OK(bg__driver_get_generation(device, &generation));
    assert_int_equal(generation, 0);
    EXPECT_CUDA(cudaGetLastError());
}

/* Each mapping of a range is an owner of its own. */
TEST(test_mappings)
{
    bg__pages pages;
    bg__owner first, second;
    size_t page = pool_page();
    EXPECT_OK(bg__pages_init(&pages, 0, 64 * page, 0));
    EXPECT_OK(bg__pages_grow(&pages, BG__LOW, page));
    EXPECT_OK(bg__pages_grow(&pages, BG__LOW, 3 * page));
    expect_driver(pages.base + page - 1, BG__OWNER_DEVICE, pages.base, page);
    expect_driver(pages.base + page, BG__OWNER_DEVICE, pages.base + page, 2 * page);
    expect_none(BG__DRIVER, pages.base + 3 * page);
    first = owner_of(BG__DRIVER, pages.base);
    second = owner_of(BG__DRIVER, pages.base + page);
    assert_true(first.generation != second.generation);
    assert_true(first.range == second.range);
    bg__pages_clear(&pages);
}

/* ---- pools ---- */

static void expect_pooled(const void *ptr, bool freed, bool shared)
{
    bg__owner owner = owner_of(BG__POOLED, ptr);
    assert_int_equal(owner.kind, BG__OWNER_POOL);
    assert_int_equal(owner.freed, freed);
    assert_int_equal(owner.shared, shared);
}

TEST(test_kept_blocks)
{
    bg_pool *pool = pool_make(RESERVE, 0);
    char *first = pool_take(pool, 1000), *second = pool_take(pool, 256);
    bg__owner before = owner_of(BG__POOLED, first + 1023);
    assert_ptr_equal((void *)before.base, first);
    assert_int_equal(before.bytes, 1024);
    expect_pooled(first, false, false);
    assert_true(owner_of(BG__POOLED, second).generation != before.generation);
    assert_true(owner_of(BG__POOLED, second).pool == before.pool);
    pool_release(pool, first);
    expect_pooled(first, true, false);
    assert_ptr_equal(pool_take(pool, 1000), first);
    expect_pooled(first, false, false);
    assert_true(owner_of(BG__POOLED, first).generation != before.generation);
    EXPECT_OK(bg_ledger_alloc(second, 100, "inside")); /* of a block that lies in a pool */
    expect_block(second, "inside", second, 100, false);
    expect_pooled(second, false, false);
    EXPECT_OK(bg_ledger_free(second));
    bg_pool_destroy(pool);
    expect_none(BG__POOLED, first);
    expect_none(BG__REGISTERED, second);
}

TEST(test_buckets)
{
    bg_pool *pool = pool_make(RESERVE, 0);
    char *kept = pool_take(pool, 256), *block;
    bg__owner first;
    pool_begin(pool, "eight");
    block = pool_take(pool, 512);
    expect_pooled(block, false, true);
    expect_pooled(kept, false, false);
    first = owner_of(BG__POOLED, block);
    assert_string_equal(first.name, "eight");
    pool_release(pool, block);
    expect_pooled(block, true, true);
    assert_ptr_equal(pool_pin(pool, 512), block);
    assert_true(owner_of(BG__POOLED, block).generation != first.generation);
    pool_end(pool);
    expect_pooled(block, false, true); /* that of all graphs */
    assert_true(owner_of(BG__POOLED, block).pool == first.pool);
    bg_pool_destroy(pool);
    expect_none(BG__POOLED, block);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 300, EACH = 8 };

static void *tell(void *memory)
{
    uintptr_t failed = 0;
    for (int i = 0; i < ROUNDS; i++)
        for (int k = 0; k < EACH; k++) {
            char *at = (char *)memory + (ptrdiff_t)k * 64;
            bg__owner owner;
            failed |= bg_ledger_alloc(at, 64, "thread") != BG_OK;
            failed |= bg__owner_find(BG__REGISTERED, at + 63, &owner) != BG_OK;
            failed |= owner.base != (uintptr_t)at || owner.freed;
            failed |= bg_ledger_free(at) != BG_OK;
        }
    return (void *)failed;
}

TEST(test_threads)
{
    ALLOCATED(memory, (size_t)THREADS * EACH * 64);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        threads[i] = start_thread(tell, memory + (ptrdiff_t)i * EACH * 64);
    for (int i = 0; i < THREADS; i++)
        assert_null(join_thread(threads[i]));
}
