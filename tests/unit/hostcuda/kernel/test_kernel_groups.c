/* Cooperative groups of a block. */
#include "tests/support/cuda_support.h"

#include "tests/support/child.h"
#include "tests/support/kernels/group_kernels.h"

enum { THREADS = 64 };

TEST(test_block)
{
    const dim3 grid = {2, 3, 1}, block = {4, 3, 2};
    int got[6 * 24][GR_BLOCK_ROW];
    KERNEL_OUTPUT(got, gr_block(out, grid, block, NULL));
    for (int i = 0; i < 6 * 24; i++) {
        int of_block = i / 24, rank = i % 24;
        int thread = rank % 4 + 10 * (rank / 4 % 3) + 100 * (rank / 12);
        assert_int_equal(got[i][0], rank);
        assert_int_equal(got[i][1], 24);
        assert_int_equal(got[i][2], of_block % 2 + 10 * (of_block / 2) + thread);
        assert_int_equal(got[i][3], 2 * (4 + 30 + 200));
        assert_int_equal(got[i][4], (rank + 1) % 24 * 3);
        assert_int_equal(got[i][5], 24000 + rank);
    }
}

TEST(test_tile)
{
    static const int same[3] = {0x49, 0x92, 0x24};
    int got[THREADS][GR_TILE_ROW];
    KERNEL_OUTPUT(got, gr_tile(out, NULL));
    for (int i = 0; i < THREADS; i++) {
        int rank = i % 8, first = 100 + i - rank;
        const int wanted[GR_TILE_ROW] = {rank,
                                         i / 8,
                                         THREADS / 8,
                                         first + 3,
                                         first + (rank < 2 ? rank : rank - 2),
                                         first + (rank + 3 < 8 ? rank + 3 : rank),
                                         first + (rank ^ 5),
                                         1,
                                         0,
                                         0xc0,
                                         same[rank % 3],
                                         1255};
        assert_memory_equal(got[i], wanted, sizeof wanted);
    }
}

TEST(test_reduce)
{
    int got[THREADS][GR_REDUCE_ROW];
    KERNEL_OUTPUT(got, gr_reduce(out, NULL));
    for (int i = 0; i < THREADS; i++) {
        int first = i / 16 * 16, of_warp = i / 32 * 32;
        const int wanted[GR_REDUCE_ROW] = {i % 4, i % 16 / 4, 4,          16 * first + 120,
                                           first, first + 15, first | 15, 32 * of_warp + 496};
        assert_memory_equal(got[i], wanted, sizeof wanted);
    }
}

TEST(test_any_group)
{
    for (int tile = 4; tile <= 32; tile *= 2) {
        int got[2][THREADS];
        KERNEL_OUTPUT(got, gr_any_group(out, (unsigned)tile, NULL));
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(got[0][i], THREADS * (THREADS - 1) / 2);
            assert_int_equal(got[1][i], tile * (i / tile * tile) + tile * (tile - 1) / 2);
        }
    }
}

static unsigned wrong_size;

static int partition(void)
{
    int *out = NULL;
    EXPECT(cudaMalloc((void **)&out, 2 * THREADS * sizeof *out) == cudaSuccess);
    EXPECT(gr_any_group(out, wrong_size, NULL) == cudaSuccess);
    EXPECT(cudaDeviceSynchronize() == cudaErrorLaunchFailure);
    return 0;
}

TEST(test_wrong_sizes)
{
    static const unsigned sizes[] = {0, 3, 24, 64};
    const struct child child = {"0", partition, 0, "called __trap"};
    skip_unless(on_host_device(), "what the host device says");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        wrong_size = sizes[i];
        expect_child("HOSTCUDA_SEED", &child);
    }
}

TEST(test_wide_values)
{
    double got[32];
    KERNEL_OUTPUT(got, gr_wide(out, NULL));
    for (int i = 0; i < 32; i++)
        assert_true(got[i] == 60);
}

/* Which threads are together is nobody's promise; here, all of a warp that are in the branch. */
TEST(test_coalesced)
{
    int got[THREADS][GR_COALESCED_ROW], seen[THREADS] = {0};
    DEVICE_MEMORY(int, counter, 1);
    KERNEL_OUTPUT(got, gr_coalesced(out, counter, NULL));
    assert_int_equal(read_int(counter, NULL), 22);
    for (int i = 0; i < THREADS; i += 3) {
        assert_true(got[i][0] < got[i][1]);
        assert_in_range(got[i][2], 0, 21);
        assert_int_equal(seen[got[i][2]]++, 0);
        if (on_host_device())
            assert_int_equal(got[i][1], 11);
    }
}

TEST(test_grid)
{
    const dim3 grid = {2, 2, 2}, block = {3, 2, 2};
    int got[8 * 12];
    KERNEL_OUTPUT(got, gr_grid(out, grid, block, NULL));
    for (int i = 0; i < 8 * 12; i++)
        assert_int_equal(got[i], i);
}

TEST(test_match)
{
    unsigned got[64];
    KERNEL_OUTPUT(got, gr_match(out, NULL));
    for (unsigned i = 0; i < 32; i++) {
        unsigned same = 0;
        for (unsigned lane = i % 5; lane < 32; lane += 5)
            same |= 1u << lane;
        assert_int_equal(got[i], same);
        assert_int_equal(got[32 + i], 0xffffffffu);
    }
}
