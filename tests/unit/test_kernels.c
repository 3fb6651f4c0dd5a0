/* Every kernel against plain C in double precision, over odd shapes. Outputs are poisoned with NaN before each run and
 * have a guard behind them that must not change. */
#include <cuda_runtime_api.h>
#include <kernels.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { GUARD = 64, MAX_BUFFERS = 16 };

/* A buffer on both sides; host is what the device was given, until it is read back. */
typedef struct buffer {
    float *host, *device;
    size_t count;
} buffer;

static cudaStream_t stream;
static uint64_t seed, random_state;
static buffer buffers[MAX_BUFFERS];
static int buffer_count;

static void ok(cudaError_t result)
{
    if (result != cudaSuccess)
        fail_msg("%s: %s", cudaGetErrorName(result), cudaGetErrorString(result));
}

/* xorshift64* (Vigna 2016), in -1..1 */
static double next_uniform(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (double)(int64_t)(random_state * 0x2545F4914F6CDD1Du) * 0x1p-63;
}

static void upload(const buffer *b)
{
    ok(cudaMemcpyAsync(b->device, b->host, (b->count + GUARD) * sizeof(float), cudaMemcpyHostToDevice, stream));
    ok(cudaStreamSynchronize(stream));
}

static buffer *make(size_t count)
{
    buffer *b = &buffers[buffer_count++];
    assert_true(buffer_count <= MAX_BUFFERS);
    b->count = count;
    b->host = malloc((count + GUARD) * sizeof *b->host);
    assert_non_null(b->host);
    ok(cudaMalloc((void **)&b->device, (count + GUARD) * sizeof(float)));
    for (size_t i = 0; i < count + GUARD; i++)
        b->host[i] = nanf("");
    return b;
}

/* An output: NaN all over. */
static buffer *make_output(size_t count)
{
    buffer *b = make(count);
    upload(b);
    return b;
}

static buffer *make_input(size_t count, double scale)
{
    buffer *b = make(count);
    for (size_t i = 0; i < count; i++)
        b->host[i] = (float)(scale * next_uniform());
    upload(b);
    return b;
}

static int *make_ints(const int *values, int count)
{
    buffer *b = make((size_t)count);
    memcpy(b->host, values, (size_t)count * sizeof(int));
    upload(b);
    return (int *)b->device;
}

static void read_back(buffer *b)
{
    ok(cudaMemcpyAsync(b->host, b->device, (b->count + GUARD) * sizeof(float), cudaMemcpyDeviceToHost, stream));
    ok(cudaStreamSynchronize(stream));
    for (size_t i = b->count; i < b->count + GUARD; i++)
        assert_true(isnan(b->host[i]));
}

/* |difference| <= tolerance * (|expected| + scale), element by element. */
static void expect_close(buffer *b, const double *expected, double tolerance, double scale)
{
    read_back(b);
    for (size_t i = 0; i < b->count; i++) {
        double bound = tolerance * (fabs(expected[i]) + scale);
        if (isnan(expected[i]) ? !isnan(b->host[i]) : !(fabs(b->host[i] - expected[i]) <= bound))
            fail_msg("element %zu of %zu: %.9g, expected %.9g (seed %llu)", i, b->count, (double)b->host[i],
                     expected[i], (unsigned long long)seed);
    }
}

static double *make_expected(size_t count)
{
    double *expected = malloc((count ? count : 1) * sizeof *expected);
    assert_non_null(expected);
    return expected;
}

static int set_up(void **state)
{
    (void)state;
    seed = 7;
    random_state = seed;
    return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess ? 0 : -1;
}

/* Frees the buffers that were made after `last`. */
static void release_to(const buffer *last)
{
    while (buffer_count > 0 && &buffers[buffer_count - 1] != last) {
        buffer *b = &buffers[--buffer_count];
        cudaFree(b->device);
        free(b->host);
    }
}

static void release(void)
{
    release_to(NULL);
}

static int tear_down(void **state)
{
    (void)state;
    release();
    return cudaStreamDestroy(stream) == cudaSuccess ? 0 : -1;
}

/* ---- element by element ------------------------------------------------------------------------- */

static const size_t lengths[] = {1, 2, 3, 4, 5, 31, 127, 128, 129, 512, 513, 1000, 4096, 5003};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static double add_of(double a, double b)
{
    return a + b;
}

static double silu_gate_of(double gate, double up)
{
    return gate / (1 + exp(-gate)) * up;
}

static double scale_of(double a, double b)
{
    (void)b;
    return a * -1.75;
}

static cudaError_t run_scale(float *y, const float *a, const float *b, size_t n, cudaStream_t on)
{
    (void)b;
    return bgk_scale(y, a, -1.75f, n, on);
}

/* The kernel on n elements, `shift` elements into its buffers, in place or not. */
static void check_pair(cudaError_t (*kernel)(float *, const float *, const float *, size_t, cudaStream_t),
                       double (*formula)(double, double), size_t n, size_t shift, bool in_place)
{
    buffer *a = make_input(n + shift, 10), *b = make_input(n + shift, 10), *y = in_place ? a : make_output(n + shift);
    double *expected = make_expected(n + shift);
    for (size_t i = 0; i < n + shift; i++)
        expected[i] = i < shift ? (double)y->host[i] : formula(a->host[i], b->host[i]);
    ok(kernel(y->device + shift, a->device + shift, b->device + shift, n, stream));
    expect_close(y, expected, 1e-5, 1e-6);
    free(expected);
    release();
}

static void check_pairs(cudaError_t (*kernel)(float *, const float *, const float *, size_t, cudaStream_t),
                        double (*formula)(double, double))
{
    for (int i = 0; i < LENGTHS; i++)
        for (size_t shift = 0; shift < 2; shift++)
            for (int in_place = 0; in_place < 2; in_place++)
                check_pair(kernel, formula, lengths[i], shift, in_place);
    ok(kernel(NULL, NULL, NULL, 0, stream));
}

static void test_add(void **state)
{
    (void)state;
    check_pairs(bgk_add, add_of);
}

static void test_silu_gate(void **state)
{
    (void)state;
    check_pairs(bgk_silu_gate, silu_gate_of);
}

static void test_silu_gate_of_extremes(void **state)
{
    buffer *gate = make_input(4, 0), *up = make_input(4, 0), *y = make_output(4);
    const double expected[4] = {0, 200, 0, 0};
    (void)state;
    memcpy(gate->host, (float[]){-200, 200, 0, -1e30f}, 16);
    memcpy(up->host, (float[]){1, 1, 5, 1}, 16);
    upload(gate);
    upload(up);
    ok(bgk_silu_gate(y->device, gate->device, up->device, 4, stream));
    expect_close(y, expected, 1e-6, 1e-6);
}

static void test_scale(void **state)
{
    (void)state;
    check_pairs(run_scale, scale_of);
}

static void test_fill(void **state)
{
    (void)state;
    for (int i = 0; i < LENGTHS; i++) {
        buffer *y = make_output(lengths[i]);
        double *expected = make_expected(lengths[i]);
        for (size_t j = 0; j < lengths[i]; j++)
            expected[j] = -2.5;
        ok(bgk_fill(y->device, -2.5f, lengths[i], stream));
        expect_close(y, expected, 0, 0);
        free(expected);
        release();
    }
    ok(bgk_fill(NULL, 1, 0, stream));
}

/* ---- rows --------------------------------------------------------------------------------------- */

static void test_embedding(void **state)
{
    static const int widths[] = {1, 7, 64, 128, 129, 576};
    static const int tokens[] = {3, 0, 10, 3, -1, 11, 2147483647};
    const int rows = sizeof tokens / sizeof tokens[0], vocabulary = 11;
    (void)state;
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
        size_t width = (size_t)widths[w];
        buffer *table = make_input(vocabulary * width, 1), *y = make_output(rows * width);
        double *expected = make_expected(rows * width);
        for (size_t i = 0; i < rows * width; i++) {
            int token = tokens[i / width];
            expected[i] = token >= 0 && token < vocabulary ? table->host[(size_t)token * width + i % width] : NAN;
        }
        ok(bgk_embedding(y->device, table->device, make_ints(tokens, rows), rows, widths[w], vocabulary, stream));
        expect_close(y, expected, 0, 0);
        free(expected);
        release();
    }
}

static void check_rms_norm(int rows, int width, double scale, bool in_place)
{
    const float epsilon = 1e-5f;
    buffer *x = make_input((size_t)rows * width, scale), *weight = make_input((size_t)width, 2);
    buffer *y = in_place ? x : make_output((size_t)rows * width);
    double *expected = make_expected((size_t)rows * width);
    for (int r = 0; r < rows; r++) {
        const float *row = x->host + (size_t)r * width;
        double squares = 0;
        for (int i = 0; i < width; i++)
            squares += (double)row[i] * row[i];
        for (int i = 0; i < width; i++)
            expected[(size_t)r * width + i] = row[i] / sqrt(squares / width + epsilon) * weight->host[i];
    }
    ok(bgk_rms_norm(y->device, x->device, weight->device, rows, width, epsilon, stream));
    expect_close(y, expected, 2e-6, 1e-6);
    free(expected);
    release();
}

static void test_rms_norm(void **state)
{
    static const int widths[] = {1, 2, 31, 32, 33, 100, 576, 1023, 2048, 4097, 9000};
    (void)state;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        check_rms_norm(1, widths[i], 3, false);
        check_rms_norm(3, widths[i], 1e-3, true);
    }
    check_rms_norm(2, 64, 0, false); /* a row of zeros stays zero */
}

static void check_rope(int rows, int heads, int head_dim, int position)
{
    const double base = 10000;
    size_t count = (size_t)rows * heads * head_dim;
    buffer *x = make_input(count, 2);
    double *expected = make_expected(count);
    for (size_t i = 0; i < count; i += 2) {
        int row = (int)(i / ((size_t)heads * head_dim)), pair = (int)(i % head_dim);
        double angle = (position + row) * pow(base, -(double)pair / head_dim), a = x->host[i], b = x->host[i + 1];
        expected[i] = a * cos(angle) - b * sin(angle);
        expected[i + 1] = a * sin(angle) + b * cos(angle);
    }
    ok(bgk_rope(x->device, make_ints(&position, 1), rows, heads, head_dim, (float)base, stream));
    /* the angle is rounded to fp32: its error grows with the position */
    expect_close(x, expected, 1e-6 + 2e-7 * (position + rows), 2);
    free(expected);
    release();
}

static void test_rope(void **state)
{
    (void)state;
    check_rope(1, 1, 2, 0);
    check_rope(1, 9, 64, 1);
    check_rope(1, 3, 64, 1000);
    check_rope(5, 4, 32, 17);
    check_rope(7, 3, 6, 100);
    check_rope(2, 33, 128, 8191);
}

static const int row_positions[] = {17, 0, 3, 17, 2147483647, 4, 0, -2147483647 - 1, 511};
enum { ROW_POSITIONS = sizeof row_positions / sizeof row_positions[0] };

/* Each row as the one-position kernel turns it alone, bit for bit: at places in any order, beside rows of NaN. */
static void test_rope_rows(void **state)
{
    enum { HEADS = 3, HEAD_DIM = 50, WIDTH = HEADS * HEAD_DIM };
    (void)state;
    for (int rows = 1; rows <= ROW_POSITIONS; rows++) {
        buffer *x = make_input((size_t)rows * WIDTH, 2);
        double *expected = make_expected(x->count);
        for (int r = 0; r < rows; r++) {
            bool garbage = row_positions[r] < 0 || row_positions[r] == 2147483647;
            float *row = x->host + (size_t)r * WIDTH;
            buffer *alone = make(WIDTH);
            for (int i = 0; garbage && i < WIDTH; i++)
                row[i] = nanf("");
            memcpy(alone->host, row, WIDTH * sizeof(float));
            upload(alone);
            ok(bgk_rope(alone->device, make_ints(&row_positions[r], 1), 1, HEADS, HEAD_DIM, 1e4f, stream));
            read_back(alone);
            for (int i = 0; i < WIDTH; i++)
                expected[r * WIDTH + i] = alone->host[i];
            release_to(x);
        }
        upload(x);
        ok(bgk_rope_rows(x->device, make_ints(row_positions, rows), rows, HEADS, HEAD_DIM, 1e4f, stream));
        expect_close(x, expected, 0, 0);
        free(expected);
        release();
    }
}

static void check_kv_append(int rows, int width, int capacity, int position)
{
    buffer *cache = make_input((size_t)capacity * width, 1), *x = make_input((size_t)rows * width, 1);
    double *expected = make_expected(cache->count);
    for (size_t i = 0; i < cache->count; i++) {
        int row = (int)(i / width) - position;
        expected[i] = row >= 0 && row < rows ? x->host[(size_t)row * width + i % width] : cache->host[i];
    }
    ok(bgk_kv_append(cache->device, x->device, make_ints(&position, 1), rows, width, capacity, stream));
    expect_close(cache, expected, 0, 0);
    free(expected);
    release();
}

static void test_kv_append(void **state)
{
    (void)state;
    check_kv_append(1, 192, 16, 0);
    check_kv_append(1, 5, 16, 15);
    check_kv_append(4, 130, 9, 3);
    check_kv_append(4, 12, 9, 7);  /* two rows do not fit */
    check_kv_append(3, 12, 9, 9);  /* none does */
    check_kv_append(3, 12, 9, -2); /* two lie before the start */
}

static void check_kv_append_rows(int rows, int width, const int *position, const int *slot)
{
    enum { CAPACITY = 5, SLOTS = 3 };
    buffer *cache = make_input((size_t)SLOTS * CAPACITY * width, 1), *x = make_input((size_t)rows * width, 1);
    double *expected = make_expected(cache->count);
    for (size_t i = 0; i < cache->count; i++)
        expected[i] = cache->host[i];
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < width && position[r] >= 0 && position[r] < CAPACITY && slot[r] >= 0 && slot[r] < SLOTS; i++)
            expected[(slot[r] * CAPACITY + position[r]) * width + i] = x->host[r * width + i];
    ok(bgk_kv_append_rows(cache->device, x->device, make_ints(position, rows), make_ints(slot, rows), rows, width,
                          CAPACITY, SLOTS, stream));
    expect_close(cache, expected, 0, 0);
    free(expected);
    release();
}

static void test_kv_append_rows(void **state)
{
    const int corners[] = {0, 4, 0, 4, 2}, of_corners[] = {0, 0, 2, 2, 1};
    const int outside[] = {5, -1, 2147483647, 0, 0, -2147483647 - 1, 1},
              of_outside[] = {0, 1, 2, 3, 2147483647, 0, -2147483647 - 1};
    const int padded[] = {0, 1, 1, 2147483647, 3}, of_padded[] = {0, -1, 1, -1, 2};
    (void)state;
    check_kv_append_rows(5, 12, corners, of_corners);
    check_kv_append_rows(1, 130, corners, of_corners);
    check_kv_append_rows(7, 12, outside, of_outside);
    check_kv_append_rows(5, 129, padded, of_padded);
}

/* ---- attention ---------------------------------------------------------------------------------- */

static void attend(double *out, const float *q, const float *keys, const float *values, int length, size_t stride,
                   int head_dim)
{
    double *score = make_expected((size_t)length), highest = -INFINITY, sum = 0;
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
    upload(cache);
}

static void check_attention(int rows, int heads, int kv_heads, int head_dim, int capacity, int position, double scale)
{
    size_t stride = (size_t)kv_heads * head_dim, count = (size_t)rows * heads * head_dim;
    buffer *q = make_input(count, scale), *keys = make_input(capacity * stride, scale),
           *values = make_input(capacity * stride, 1);
    buffer *y = make_output(count);
    double *expected = make_expected(count);
    int end = position + rows < 0 ? 0 : position + rows < capacity ? position + rows : capacity;
    hide_future(keys, stride, end);
    hide_future(values, stride, end);
    for (int r = 0; r < rows; r++)
        for (int h = 0; h < heads; h++) {
            size_t at = ((size_t)r * heads + h) * head_dim, head = (size_t)(h * kv_heads / heads) * head_dim;
            int length = position + r + 1;
            if (length >= 1 && length <= capacity)
                attend(expected + at, q->host + at, keys->host + head, values->host + head, length, stride, head_dim);
            for (int i = 0; i < head_dim && (length < 1 || length > capacity); i++)
                expected[at + i] = NAN;
        }
    ok(bgk_attention(y->device, q->device, keys->device, values->device, make_ints(&position, 1), rows, heads, kv_heads,
                     head_dim, capacity, stream));
    expect_close(y, expected, 2e-5 * fmax(1, scale), 1);
    free(expected);
    release();
}

static void test_attention_decodes(void **state)
{
    static const int positions[] = {0, 1, 30, 62, 63, 64, 65, 127, 128, 199};
    (void)state;
    for (size_t i = 0; i < sizeof positions / sizeof positions[0]; i++) {
        check_attention(1, 9, 3, 64, 200, positions[i], 1);
        check_attention(1, 8, 4, 32, 200, positions[i], 3);
    }
    check_attention(1, 1, 1, 4, 100, 99, 1);
    check_attention(1, 6, 2, 100, 100, 70, 1);
    check_attention(1, 2, 1, 256, 100, 80, 1);
    check_attention(1, 4, 4, 128, 100, 80, 1);
}

static void test_attention_prefills(void **state)
{
    (void)state;
    check_attention(5, 9, 3, 64, 64, 0, 1);
    check_attention(70, 4, 2, 32, 140, 65, 2);
    check_attention(3, 2, 2, 20, 8, 4, 1);
}

static void test_attention_with_extreme_scores(void **state)
{
    (void)state;
    check_attention(1, 2, 1, 64, 150, 149, 30); /* scores of hundreds: exp of them overflows */
}

static void test_attention_outside_the_cache(void **state)
{
    (void)state;
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
    upload(cache);
}

static void expect_attention_rows(const places *p, int heads, int kv_heads, int head_dim, double *expected,
                                  const buffer *q, const buffer *keys, const buffer *values)
{
    size_t stride = (size_t)kv_heads * head_dim;
    for (int r = 0; r < p->rows; r++)
        for (int h = 0; h < heads; h++) {
            size_t at = ((size_t)r * heads + h) * head_dim, head = (size_t)(h * kv_heads / heads) * head_dim;
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
static void expect_same_alone(const places *p, int heads, int kv_heads, int head_dim, const buffer *y, const buffer *q,
                              const buffer *keys, const buffer *values)
{
    size_t width = (size_t)heads * head_dim, slot = (size_t)p->capacity * kv_heads * head_dim;
    buffer *alone = make_output(width);
    for (int r = 0; r < p->rows; r++) {
        if (!is_inside(p, r))
            continue;
        ok(bgk_attention(alone->device, q->device + r * width, keys->device + p->slot[r] * slot,
                         values->device + p->slot[r] * slot, make_ints(&p->position[r], 1), 1, heads, kv_heads,
                         head_dim, p->capacity, stream));
        read_back(alone);
        assert_memory_equal(alone->host, y->host + r * width, width * sizeof(float));
        release_to(alone);
    }
}

static void check_attention_rows(const places *p, int heads, int kv_heads, int head_dim)
{
    size_t stride = (size_t)kv_heads * head_dim, width = (size_t)heads * head_dim;
    size_t cached = p->slots * p->capacity * stride;
    buffer *q = make_input(p->rows * width, 1), *keys = make_input(cached, 1), *values = make_input(cached, 1);
    buffer *y = make_output(p->rows * width);
    double *expected = make_expected(p->rows * width);
    for (int r = 0; r < p->rows; r++)
        for (size_t i = 0; !is_inside(p, r) && i < width; i++)
            q->host[r * width + i] = nanf("");
    upload(q);
    hide_from_rows(keys, stride, p);
    hide_from_rows(values, stride, p);
    expect_attention_rows(p, heads, kv_heads, head_dim, expected, q, keys, values);
    ok(bgk_attention_rows(y->device, q->device, keys->device, values->device, make_ints(p->position, p->rows),
                          make_ints(p->slot, p->rows), p->rows, heads, kv_heads, head_dim, p->capacity, p->slots,
                          stream));
    expect_close(y, expected, 2e-5, 1);
    expect_same_alone(p, heads, kv_heads, head_dim, y, q, keys, values);
    free(expected);
    release();
}

static void test_attention_rows(void **state)
{
    const int decode_at[] = {70, 0, 129, 63, 64}, decode_of[] = {2, 0, 4, 1, 3};
    const int mixed_at[] = {0, 1, 2, 65, 3, 0, 1}, mixed_of[] = {1, 1, 1, 0, 1, 2, 2};
    const int padded_at[] = {9, 0, 5, -7, 2147483647}, padded_of[] = {1, -1, 0, -2147483647 - 1, -1};
    const int outside_at[] = {12, -1, 2147483647, 3, 4, -2147483647 - 1, 11},
              outside_of[] = {0, 1, 0, 2, 2147483647, 1, 1};
    const places decode = {5, 5, 130, decode_at, decode_of}, mixed = {7, 3, 66, mixed_at, mixed_of},
                 padded = {5, 2, 12, padded_at, padded_of}, outside = {7, 2, 12, outside_at, outside_of};
    (void)state;
    check_attention_rows(&decode, 8, 4, 32);
    check_attention_rows(&decode, 9, 3, 64);
    check_attention_rows(&mixed, 6, 2, 20);
    check_attention_rows(&mixed, 2, 1, 256);
    check_attention_rows(&padded, 4, 4, 8);
    check_attention_rows(&outside, 4, 2, 8);
}

static void test_refuses_sizes(void **state)
{
    (void)state;
    assert_int_equal(bgk_attention(NULL, NULL, NULL, NULL, NULL, 1, 3, 2, 64, 8, stream), cudaErrorInvalidValue);
    assert_int_equal(bgk_attention(NULL, NULL, NULL, NULL, NULL, 1, 2, 2, 66, 8, stream), cudaErrorInvalidValue);
    assert_int_equal(bgk_attention(NULL, NULL, NULL, NULL, NULL, 1, 2, 2, 260, 8, stream), cudaErrorInvalidValue);
    assert_int_equal(bgk_rope(NULL, NULL, 1, 1, 7, 1e4f, stream), cudaErrorInvalidValue);
    assert_int_equal(bgk_rms_norm(NULL, NULL, NULL, 1, 0, 1e-5f, stream), cudaErrorInvalidValue);
    assert_int_equal(bgk_embedding(NULL, NULL, NULL, 0, 1, 1, stream), cudaErrorInvalidValue);
    assert_int_equal(bgk_kv_append(NULL, NULL, NULL, 1, 1, 0, stream), cudaErrorInvalidValue);
    assert_int_equal(bgk_argmax(NULL, NULL, 1, 0, stream), cudaErrorInvalidValue);
    assert_int_equal(bgk_rope_rows(NULL, NULL, 65536, 1, 2, 1e4f, stream), cudaErrorInvalidValue);
    assert_int_equal(bgk_kv_append_rows(NULL, NULL, NULL, NULL, 1, 1, 1, 0, stream), cudaErrorInvalidValue);
    assert_int_equal(bgk_attention_rows(NULL, NULL, NULL, NULL, NULL, NULL, 1, 3, 2, 64, 8, 1, stream),
                     cudaErrorInvalidValue);
    assert_int_equal(bgk_attention_rows(NULL, NULL, NULL, NULL, NULL, NULL, 1, 2, 2, 64, 8, 0, stream),
                     cudaErrorInvalidValue);
    assert_int_equal(cudaGetLastError(), cudaSuccess);
}

/* ---- argmax and counters ------------------------------------------------------------------------ */

static void expect_ints(buffer *b, const int *expected)
{
    read_back(b);
    for (size_t i = 0; i < b->count; i++) {
        int found;
        memcpy(&found, &b->host[i], sizeof found);
        assert_int_equal(found, expected[i]);
    }
}

static void check_argmax(int rows, int n, bool coarse)
{
    buffer *x = make_input((size_t)rows * n, 5), *index = make_output((size_t)rows);
    int *expected = calloc((size_t)rows, sizeof *expected);
    assert_non_null(expected);
    for (size_t i = 0; coarse && i < x->count; i++)
        x->host[i] = roundf(x->host[i]); /* many are equal: the first counts */
    upload(x);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i++)
            if (x->host[(size_t)r * n + i] > x->host[(size_t)r * n + expected[r]])
                expected[r] = i;
    ok(bgk_argmax((int *)index->device, x->device, rows, n, stream));
    expect_ints(index, expected);
    free(expected);
    release();
}

static void test_argmax(void **state)
{
    static const int sizes[] = {1, 2, 31, 32, 33, 255, 512, 1023, 1024, 5000, 49152};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        check_argmax(1, sizes[i], false);
        check_argmax(3, sizes[i], true);
    }
}

static void test_argmax_with_nan_and_infinity(void **state)
{
    const float rows[4][3] = {{NAN, -3, -2}, {NAN, NAN, NAN}, {-INFINITY, -INFINITY, NAN}, {1, INFINITY, NAN}};
    const int expected[4] = {2, 0, 0, 1};
    buffer *x = make_input(12, 0), *index = make_output(4);
    (void)state;
    memcpy(x->host, rows, sizeof rows);
    upload(x);
    ok(bgk_argmax((int *)index->device, x->device, 4, 3, stream));
    expect_ints(index, expected);
}

static void test_counters(void **state)
{
    int start[2] = {41, 7}, expected[2] = {42, 7};
    int *counter = make_ints(start, 2);
    (void)state;
    ok(bgk_increment(counter, 3, stream));
    ok(bgk_increment(counter, -2, stream));
    expect_ints(&buffers[0], expected);
    ok(bgk_set_counter(counter, -5, stream));
    expected[0] = -5;
    expect_ints(&buffers[0], expected);
}

#define KERNEL_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(test_add),
        KERNEL_TEST(test_silu_gate),
        KERNEL_TEST(test_silu_gate_of_extremes),
        KERNEL_TEST(test_scale),
        KERNEL_TEST(test_fill),
        KERNEL_TEST(test_embedding),
        KERNEL_TEST(test_rms_norm),
        KERNEL_TEST(test_rope),
        KERNEL_TEST(test_rope_rows),
        KERNEL_TEST(test_kv_append),
        KERNEL_TEST(test_kv_append_rows),
        KERNEL_TEST(test_attention_decodes),
        KERNEL_TEST(test_attention_prefills),
        KERNEL_TEST(test_attention_with_extreme_scores),
        KERNEL_TEST(test_attention_outside_the_cache),
        KERNEL_TEST(test_attention_rows),
        KERNEL_TEST(test_refuses_sizes),
        KERNEL_TEST(test_argmax),
        KERNEL_TEST(test_argmax_with_nan_and_infinity),
        KERNEL_TEST(test_counters),
    };
    printf("seed 7\n");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
