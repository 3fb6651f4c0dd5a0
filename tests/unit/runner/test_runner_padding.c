/* What the runner writes into the rows beyond a batch, in each kind of padding and each dtype. */
#include "tests/support/runner/sum_model.h"

#include <math.h>

static void expect_padding(fixture *f, bg_padding padding, double value, const float *expected)
{
    bg_batch batches[] = {mixed_batch(4), mixed_batch(2)};
    float rows[4 * WIDTH], found[4 * WIDTH];
    OWNED_SUM_MODEL(m);

    sum_model_open_for(f, &m, CONFIG(.schedule = "4"), padding, value, TOKENS_MAX);
    EXPECT_OK(bg_runner_capture(m.runner));
    for (int b = 0; b < 2; b++) {
        bg_tensor input = bg_tensor_2d(rows, BG_F32, batches[b].tokens, WIDTH);
        for (int i = 0; i < batches[b].tokens * WIDTH; i++)
            rows[i] = (float)(b == 0 ? 100 + i : i);
        EXPECT_OK(bg_runner_run(m.runner, &batches[b], &input, NULL, NULL));
    }
    read_device(f, found, m.x.data, sizeof found);
    for (int i = 0; i < 2 * WIDTH; i++) {
        float want = expected != NULL ? expected[i % WIDTH] : 100 + 2 * WIDTH + (float)i;
        assert_true(found[i] == (float)i);
        if (found[2 * WIDTH + i] != want && !(isnan(want) && isnan(found[2 * WIDTH + i])))
            fail_msg("padding %d: element %d is %g, not %g", (int)padding, i, found[2 * WIDTH + i], want);
    }
}

FIXTURE_TEST(test_padding)
{
    float not_a_number = nanf("");
    expect_padding(f, BG_PAD_ZERO, 5, (const float[]){0, 0, 0, 0});
    expect_padding(f, BG_PAD_SENTINEL, -7.5, (const float[]){-7.5, -7.5, -7.5, -7.5});
    expect_padding(f, BG_PAD_SENTINEL, (double)not_a_number,
                   (const float[]){not_a_number, not_a_number, not_a_number, not_a_number});
    expect_padding(f, BG_PAD_REPEAT_LAST, 5, (const float[]){4, 5, 6, 7});
    expect_padding(f, BG_PAD_KEEP, 5, NULL);
}

/* Each dtype's sentinel, as its bytes. */
FIXTURE_TEST(test_sentinels)
{
    static const struct {
        bg_dtype dtype;
        double value;
        const char *bytes; /* of an element, little-endian; NULL: no value of that dtype */
    } cases[] = {
        {BG_I32, -1, "\xff\xff\xff\xff"},
        {BG_I64, -2, "\xfe\xff\xff\xff\xff\xff\xff\xff"},
        {BG_I8, -128, "\x80"},
        {BG_U8, 255, "\xff"},
        {BG_BOOL, 1, "\x01"},
        {BG_F32, 1, "\x00\x00\x80\x3f"},
        {BG_F64, 1, "\x00\x00\x00\x00\x00\x00\xf0\x3f"},
        {BG_F16, 1, "\x00\x3c"},
        {BG_F16, -65504, "\xff\xfb"},
        {BG_F16, 5.9604644775390625e-08, "\x01\x00"}, /* 2^-24 */
        {BG_F16, 1.0009765625, "\x01\x3c"},           /* 1 + 2^-10 */
        {BG_F16, 1.00048828125, "\x00\x3c"},          /* 1 + 2^-11: to even */
        {BG_F16, (double)INFINITY, "\x00\x7c"},
        {BG_BF16, 1, "\x80\x3f"},
        {BG_BF16, 3.140625, "\x49\x40"},
        {BG_I8, 128, NULL},
        {BG_U8, -1, NULL},
        {BG_BOOL, 2, NULL},
        {BG_I32, 1.5, NULL},
        {BG_I64, 9223372036854775808.0, NULL},
        {BG_I32, (double)NAN, NULL},
        {BG_F16, 65520, NULL},
        {BG_F32, 1e39, NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t bytes = bg_dtype_bytes(cases[i].dtype);
        unsigned char found[4 * 8];
        bg_tensor t;
        bg_status status;
        OPENED_SUM_MODEL(m, f, CONFIG(.schedule = "4"));

        status =
            bg_runner_add_input(m.runner, "t", cases[i].dtype, 1, (int64_t[]){0}, BG_PAD_SENTINEL, cases[i].value, &t);
        if (cases[i].bytes == NULL) {
            EXPECT_FAILS(status, BG_ERROR_INVALID_ARGUMENT, "cannot be represented as");
            continue;
        }
        EXPECT_OK(status);
        EXPECT_OK(bg_runner_capture(m.runner));
        EXPECT_OK(run_bare(m.runner, mixed_batch(3)));
        read_device(f, found, t.data, 4 * bytes);
        assert_memory_equal(found + 3 * bytes, cases[i].bytes, bytes);
    }
}
