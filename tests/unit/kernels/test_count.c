/* bgk_count_specials: which bits are NaN and which infinity, in every format. */
#include "tests/support/support.h"

#include "kernels/library/count.h"

#include <math.h>

static bgk_specials count(const void *host, size_t bytes, size_t n, bgk_float format, cudaStream_t stream)
{
    bgk_specials counts = BGK_SPECIALS_NONE;
    OWNED_MEMORY(bgk_specials, result);
    OWNED_MEMORY(void, x);
    EXPECT_CUDA(cudaMalloc(&x, bytes));
    EXPECT_CUDA(cudaMalloc((void **)&result, sizeof *result));
    EXPECT_CUDA(cudaMemcpy(x, host, bytes, cudaMemcpyHostToDevice));
    EXPECT_CUDA(cudaMemcpy(result, &counts, sizeof counts, cudaMemcpyHostToDevice));
    EXPECT_CUDA(bgk_count_specials(result, x, n, format, stream));
    EXPECT_CUDA(cudaStreamSynchronize(stream));
    EXPECT_CUDA(cudaMemcpy(&counts, result, sizeof counts, cudaMemcpyDeviceToHost));
    return counts;
}

static void expect(bgk_specials found, uint64_t nan, uint64_t inf, uint64_t first_nan, uint64_t first_inf)
{
    assert_int_equal(found.nan, nan);
    assert_int_equal(found.inf, inf);
    assert_int_equal(found.first_nan, first_nan);
    assert_int_equal(found.first_inf, first_inf);
}

/* Zero, the largest finite, a NaN of the least fraction, infinities, a NaN with the sign set, a subnormal: 3 finite, 2
 * NaN, 2 infinite. */
FIXTURE_TEST(test_formats)
{
    static const uint16_t half[] = {0, 0x7bff, 0x7c01, 0x7c00, 0xfc00, 0xfe00, 0x8001},
                          bfloat[] = {0, 0x7f7f, 0x7f81, 0x7f80, 0xff80, 0xffc0, 0x8001};
    static const uint32_t single[] = {0, 0x7f7fffff, 0x7f800001, 0x7f800000, 0xff800000, 0xffc00000, 0x80000001};
    static const uint64_t twice[] = {0, /* of 52 bits of fraction */
                                     0x7fefffffffffffff,
                                     0x7ff0000000000001,
                                     0x7ff0000000000000,
                                     0xfff0000000000000,
                                     0xfff8000000000000,
                                     0x8000000000000001};
    expect(count(half, sizeof half, 7, BGK_F16, f->stream), 2, 2, 2, 3);
    expect(count(bfloat, sizeof bfloat, 7, BGK_BF16, f->stream), 2, 2, 2, 3);
    expect(count(single, sizeof single, 7, BGK_F32, f->stream), 2, 2, 2, 3);
    expect(count(twice, sizeof twice, 7, BGK_F64, f->stream), 2, 2, 2, 3);
    /* What lies behind is not looked at. */
    expect(count(single, sizeof single, 2, BGK_F32, f->stream), 0, 0, UINT64_MAX, UINT64_MAX);
}

/* What tells a mask from an overflow: signs, and whether there are other numbers than 0. */
FIXTURE_TEST(test_masks)
{
    static const struct {
        float values[4];
        uint64_t inf, positive;
        bool numbers;
    } cases[] = {{{-INFINITY, -INFINITY, -INFINITY, -INFINITY}, 4, 0, false},
                 {{0, -INFINITY, -0.0f, -INFINITY}, 2, 0, false},
                 {{0, -INFINITY, 0, INFINITY}, 2, 1, false},
                 {{0, -INFINITY, 0, -1e-40f}, 1, 0, true},
                 {{0, 0, 0, 3}, 0, 0, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bgk_specials found = count(cases[i].values, sizeof cases[i].values, 4, BGK_F32, f->stream);
        assert_int_equal(found.inf, cases[i].inf);
        assert_int_equal(found.positive_inf, cases[i].positive);
        assert_int_equal(found.numbers != 0, cases[i].numbers);
    }
}

/* More elements than one sweep of the grid takes. */
FIXTURE_TEST(test_many)
{
    enum { MANY = 1024 * 256 * 8 + 77 };
    static uint32_t host[MANY]; /* of floats that are 0 */
    host[MANY - 1] = host[300000] = 0x7fc00000;
    host[MANY - 2] = 0xff800000;
    expect(count(host, sizeof host, MANY, BGK_F32, f->stream), 2, 1, 300000, MANY - 2);
    expect(count(host, sizeof host, MANY - 2, BGK_F32, f->stream), 1, 0, 300000, UINT64_MAX);
}

FIXTURE_TEST(test_bad_arguments)
{
    bgk_specials *result = (bgk_specials *)(void *)f->memory;
    assert_int_equal(bgk_count_specials(result, f->memory, 0, BGK_F32, f->stream), cudaErrorInvalidValue);
    assert_int_equal(bgk_count_specials(result, f->memory, 1, (bgk_float)9, f->stream), cudaErrorInvalidValue);
}
