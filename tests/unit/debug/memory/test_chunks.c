/* Device memory in chunks: how much is taken for how many bytes, and that no two requests share any. */
#include "tests/support/support.h"

#include "debug/memory/chunks.h"

enum { CHUNK = 1 << 24, KIB = 1 << 10, MIB = 1 << 20 };

static void take(bg__chunks *chunks, size_t bytes)
{
    void *memory;
    EXPECT_OK(bg__chunks_allocate(chunks, bytes, &memory));
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % 16, 0);
}

/* What is left of a chunk is not lost where a large request does not fit in it. */
TEST(test_bytes)
{
    static const size_t sizes[][2] = {
        {9 * MIB, 16}, {9 * MIB, 16 * KIB}, {MIB, 3 * MIB}, {1536 * KIB, 2 * MIB}, {16, 16}, {9 * KIB, 5 * KIB},
    };

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        bg__chunks chunks = {0};
        size_t all = 0;
        for (int k = 0; k < 32; k++) {
            take(&chunks, sizes[i][k % 2]);
            all += sizes[i][k % 2];
            assert_in_range(chunks.bytes, all, all + all / 8 + (all < CHUNK ? all + CHUNK / 1024 : CHUNK));
        }
        bg__chunks_free(&chunks);
    }
}

TEST(test_few_allocations)
{
    bg__chunks chunks = {0};

    for (int i = 0; i < 20000; i++)
        take(&chunks, 1000);
    assert_in_range(chunks.count, 1, 13);
    bg__chunks_free(&chunks);
}

TEST(test_apart)
{
    enum { COUNT = 60 };
    bg__chunks chunks = {0};
    struct {
        char *begin;
        size_t bytes;
    } taken[COUNT];

    for (size_t i = 0; i < COUNT; i++) {
        taken[i].bytes = i % 3 == 0 ? 3000 * i : i;
        EXPECT_OK(bg__chunks_allocate(&chunks, taken[i].bytes, (void **)&taken[i].begin));
        for (size_t k = 0; k < i; k++)
            assert_true(taken[k].begin + taken[k].bytes <= taken[i].begin ||
                        taken[i].begin + taken[i].bytes <= taken[k].begin);
    }
    bg__chunks_free(&chunks);
    assert_int_equal(chunks.bytes, 0);
}
