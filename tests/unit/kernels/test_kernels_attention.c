/* The attention kernels against plain C in double precision, over odd shapes. */
#include "tests/support/test.h"
#include "tests/support/kernels/kernel_buffers.h"

static void attend(double *out, const float *q, const float *keys, const float *values, int length, size_t stride,
                   int head_dim)
{
    double *score = buffer_make_expected((size_t)length), highest = -INFINITY, sum = 0;
    for (int s = 0; s < length; s++) {
        score[s] = 0;
        for (int i = 0; i < head_dim; i++)
            score[s] += (double)q[i] * keys[s * stride + i];
        score[s] /= sqrt(head_dim);
        highest = fmax(highest, score[s]);
    }
    for (int s = 0; s < length; s++)
        sum += score[s] = exp(score[s] - highest);
    for (int i = 0; i < head_dim; i++) {
        out[i] = 0;
        for (int s = 0; s < length; s++)
            out[i] += score[s] / sum * values[s * stride + i];
    }
    free(score);
}

/* What lies in the cache beyond the rows' own positions is NaN, and must not be read into the result. */
static void hide_future(buffer *cache, size_t stride, int from)
{
    for (size_t i = (size_t)from * stride; i < cache->count; i++)
        cache->host[i] = nanf("");
    buffer_upload(cache);
}

static bgk_heads whole(int heads, int kv_heads)
{
    return (bgk_heads){heads, kv_heads, heads / kv_heads, 0};
}

/* Of query head h. */
static size_t key_head(bgk_heads heads, int h)
{
    return (size_t)((heads.first + h) / heads.group);
}

static void check_heads(int rows, bgk_heads heads, int head_dim, int capacity, int position, double scale)
{
    size_t stride = (size_t)heads.key * head_dim, count = (size_t)rows * heads.query * head_dim;
    buffer *q = buffer_make_input(count, scale), *keys = buffer_make_input(capacity * stride, scale),
           *values = buffer_make_input(capacity * stride, 1);
    buffer *y = buffer_make_output(count);
    double *expected = buffer_make_expected(count);
    int end = position + rows < 0 ? 0 : position + rows < capacity ? position + rows : capacity;
    hide_future(keys, stride, end);
    hide_future(values, stride, end);
    for (int r = 0; r < rows; r++)
        for (int h = 0; h < heads.query; h++) {
            size_t at = ((size_t)r * heads.query + h) * head_dim, head = key_head(heads, h) * head_dim;
            int length = position + r + 1;
            if (length >= 1 && length <= capacity)
                attend(expected + at, q->host + at, keys->host + head, values->host + head, length, stride, head_dim);
            for (int i = 0; i < head_dim && (length < 1 || length > capacity); i++)
                expected[at + i] = NAN;
        }
    kernel_ok(bgk_attention(y->device, q->device, keys->device, values->device, buffer_make_ints(&position, 1), rows,
                            heads, head_dim, capacity, kernel_stream));
    buffer_expect_close(y, expected, 2e-5 * fmax(1, scale), 1);
    if (rows <= BGK_FEW_ROWS) {
        kernel_ok(bgk_attention_few(y->device, q->device, keys->device, values->device, buffer_make_ints(&position, 1),
                                    NULL, rows, heads, head_dim, capacity, 0, kernel_stream));
        buffer_expect_close(y, expected, 2e-5 * fmax(1, scale), 1);
    }
    free(expected);
    buffers_release();
}

static void check_attention(int rows, int heads, int kv_heads, int head_dim, int capacity, int position, double scale)
{
    check_heads(rows, whole(heads, kv_heads), head_dim, capacity, position, scale);
}

#define KERNELS_ATTENTION_TEST(name) TEST_F(name, buffers_set_up, buffers_tear_down, void *state)

KERNELS_ATTENTION_TEST(test_attention_decodes)
{
    static const int positions[] = {0, 1, 30, 62, 63, 64, 65, 127, 128, 199};
    for (size_t i = 0; i < sizeof positions / sizeof positions[0]; i++) {
        check_attention(1, 9, 3, 64, 200, positions[i], 1);
        check_attention(1, 8, 4, 32, 200, positions[i], 3);
    }
    check_attention(1, 1, 1, 4, 100, 99, 1);
    check_attention(1, 6, 2, 100, 100, 70, 1);
    check_attention(1, 2, 1, 256, 100, 80, 1);
    check_attention(1, 4, 4, 128, 100, 80, 1);
}

KERNELS_ATTENTION_TEST(test_attention_prefills)
{
    check_attention(5, 9, 3, 64, 64, 0, 1);
    check_attention(70, 4, 2, 32, 140, 65, 2);
    check_attention(3, 2, 2, 20, 8, 4, 1);
}

/* What a rank of several has: it begins, or ends, within a group. */
KERNELS_ATTENTION_TEST(test_attention_of_a_part)
{
    check_heads(1, (bgk_heads){5, 2, 3, 0}, 64, 100, 70, 1);
    check_heads(1, (bgk_heads){4, 2, 3, 2}, 64, 100, 70, 1);
    check_heads(5, (bgk_heads){2, 2, 3, 2}, 20, 64, 3, 1);
    check_heads(5, (bgk_heads){2, 1, 3, 1}, 20, 64, 3, 1);
    check_heads(1, (bgk_heads){1, 1, 9, 8}, 8, 10, 9, 1);
    check_heads(3, (bgk_heads){8, 4, 3, 2}, 8, 10, 6, 1);
}

KERNELS_ATTENTION_TEST(test_attention_with_extreme_scores)
{
    check_attention(1, 2, 1, 64, 150, 149, 30); /* scores of hundreds: exp of them overflows */
}

KERNELS_ATTENTION_TEST(test_attention_outside_the_cache)
{
    check_attention(4, 2, 1, 8, 6, 4, 1);  /* the last two rows */
    check_attention(3, 2, 1, 8, 6, -2, 1); /* the first */
}

typedef struct places {
    int rows, slots, capacity;
    const int *position, *slot;
} places;

static bool is_inside(const places *p, int row)
{
    return p->position[row] >= 0 && p->position[row] < p->capacity && p->slot[row] >= 0 && p->slot[row] < p->slots;
}

/* NaN wherever no row of the call may look. */
static void hide_from_rows(buffer *cache, size_t stride, const places *p)
{
    for (int s = 0; s < p->slots; s++) {
        int end = 0;
        for (int r = 0; r < p->rows; r++)
            if (is_inside(p, r) && p->slot[r] == s && p->position[r] >= end)
                end = p->position[r] + 1;
        for (size_t i = (size_t)end * stride; i < p->capacity * stride; i++)
            cache->host[s * p->capacity * stride + i] = nanf("");
    }
    buffer_upload(cache);
}

static void expect_attention_rows(const places *p, bgk_heads heads, int head_dim, double *expected, const buffer *q,
                                  const buffer *keys, const buffer *values)
{
    size_t stride = (size_t)heads.key * head_dim;
    for (int r = 0; r < p->rows; r++)
        for (int h = 0; h < heads.query; h++) {
            size_t at = ((size_t)r * heads.query + h) * head_dim, head = key_head(heads, h) * head_dim;
            for (int i = 0; i < head_dim; i++)
                expected[at + i] = p->slot[r] < 0 ? 0 : NAN;
            if (is_inside(p, r)) {
                size_t start = (size_t)p->slot[r] * p->capacity * stride + head;
                attend(expected + at, q->host + at, keys->host + start, values->host + start, p->position[r] + 1,
                       stride, head_dim);
            }
        }
}

/* Each row inside, bit for bit, as the one-text kernel computes it alone. */
static void expect_same_alone(const places *p, bgk_heads heads, int head_dim, const buffer *y, const buffer *q,
                              const buffer *keys, const buffer *values)
{
    size_t width = (size_t)heads.query * head_dim, slot = (size_t)p->capacity * heads.key * head_dim;
    buffer *alone = buffer_make_output(width);
    for (int r = 0; r < p->rows; r++) {
        if (!is_inside(p, r))
            continue;
        kernel_ok(bgk_attention(alone->device, q->device + r * width, keys->device + p->slot[r] * slot,
                                values->device + p->slot[r] * slot, buffer_make_ints(&p->position[r], 1), 1, heads,
                                head_dim, p->capacity, kernel_stream));
        buffer_read_back(alone);
        assert_memory_equal(alone->host, y->host + r * width, width * sizeof(float));
        buffers_release_to(alone);
    }
}

static void check_attention_rows(const places *p, bgk_heads heads, int head_dim)
{
    size_t stride = (size_t)heads.key * head_dim, width = (size_t)heads.query * head_dim;
    size_t cached = p->slots * p->capacity * stride;
    buffer *q = buffer_make_input(p->rows * width, 1), *keys = buffer_make_input(cached, 1),
           *values = buffer_make_input(cached, 1);
    buffer *y = buffer_make_output(p->rows * width);
    double *expected = buffer_make_expected(p->rows * width);
    for (int r = 0; r < p->rows; r++)
        for (size_t i = 0; !is_inside(p, r) && i < width; i++)
            q->host[r * width + i] = nanf("");
    buffer_upload(q);
    hide_from_rows(keys, stride, p);
    hide_from_rows(values, stride, p);
    expect_attention_rows(p, heads, head_dim, expected, q, keys, values);
    kernel_ok(bgk_attention_rows(y->device, q->device, keys->device, values->device,
                                 buffer_make_ints(p->position, p->rows), buffer_make_ints(p->slot, p->rows), p->rows,
                                 heads, head_dim, p->capacity, p->slots, kernel_stream));
    buffer_expect_close(y, expected, 2e-5, 1);
    expect_same_alone(p, heads, head_dim, y, q, keys, values);
    free(expected);
    buffers_release();
}

KERNELS_ATTENTION_TEST(test_attention_rows)
{
    const int decode_at[] = {70, 0, 129, 63, 64}, decode_of[] = {2, 0, 4, 1, 3};
    const int mixed_at[] = {0, 1, 2, 65, 3, 0, 1}, mixed_of[] = {1, 1, 1, 0, 1, 2, 2};
    const int padded_at[] = {9, 0, 5, -7, 2147483647}, padded_of[] = {1, -1, 0, -2147483647 - 1, -1};
    const int outside_at[] = {12, -1, 2147483647, 3, 4, -2147483647 - 1, 11},
              outside_of[] = {0, 1, 0, 2, 2147483647, 1, 1};
    const places decode = {5, 5, 130, decode_at, decode_of}, mixed = {7, 3, 66, mixed_at, mixed_of},
                 padded = {5, 2, 12, padded_at, padded_of}, outside = {7, 2, 12, outside_at, outside_of};
    check_attention_rows(&decode, whole(8, 4), 32);
    check_attention_rows(&decode, whole(9, 3), 64);
    check_attention_rows(&mixed, whole(6, 2), 20);
    check_attention_rows(&mixed, whole(2, 1), 256);
    check_attention_rows(&padded, whole(4, 4), 8);
    check_attention_rows(&outside, whole(4, 2), 8);
    check_attention_rows(&mixed, (bgk_heads){4, 2, 3, 2}, 20);
    check_attention_rows(&outside, (bgk_heads){5, 2, 3, 0}, 8);
}
