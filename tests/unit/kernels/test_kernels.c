/* Every kernel but attention against plain C in double precision, over odd shapes. */
#include "tests/support/test.h"
#include "tests/support/kernels/kernel_buffers.h"

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

static void end_check(double **expected)
{
    free(*expected);
    buffers_release();
}
/* What a kernel should give; at the end of its scope it goes, and all buffers with it. */
#define EXPECTED(name, count) __attribute__((cleanup(end_check))) double *name = buffer_make_expected(count)

typedef cudaError_t pair_kernel(float *y, const float *a, const float *b, size_t n, cudaStream_t on);

/* The kernel on n elements, `shift` elements into its buffers, in place or not. */
static void check_pair(pair_kernel *kernel, double (*formula)(double, double), size_t n, size_t shift, bool in_place)
{
    buffer *a = buffer_make_input(n + shift, 10), *b = buffer_make_input(n + shift, 10),
           *y = in_place ? a : buffer_make_output(n + shift);
    EXPECTED(expected, n + shift);
    for (size_t i = 0; i < n + shift; i++)
        expected[i] = i < shift ? (double)y->host[i] : formula(a->host[i], b->host[i]);
    kernel_ok(kernel(y->device + shift, a->device + shift, b->device + shift, n, kernel_stream));
    buffer_expect_close(y, expected, 1e-5, 1e-6);
}

static void check_pairs(pair_kernel *kernel, double (*formula)(double, double))
{
    for (int i = 0; i < LENGTHS; i++)
        for (size_t shift = 0; shift < 2; shift++)
            for (int in_place = 0; in_place < 2; in_place++)
                check_pair(kernel, formula, lengths[i], shift, in_place);
    kernel_ok(kernel(NULL, NULL, NULL, 0, kernel_stream));
}

#define KERNELS_TEST(name) TEST_F(name, buffers_set_up, buffers_tear_down, void *state)

KERNELS_TEST(test_add)
{
    check_pairs(bgk_add, add_of);
}

KERNELS_TEST(test_silu_gate)
{
    check_pairs(bgk_silu_gate, silu_gate_of);
}

KERNELS_TEST(test_silu_gate_of_extremes)
{
    buffer *gate = buffer_make_input(4, 0), *up = buffer_make_input(4, 0), *y = buffer_make_output(4);
    const double expected[4] = {0, 200, 0, 0};
    memcpy(gate->host, (float[]){-200, 200, 0, -1e30f}, 16);
    memcpy(up->host, (float[]){1, 1, 5, 1}, 16);
    buffer_upload(gate);
    buffer_upload(up);
    kernel_ok(bgk_silu_gate(y->device, gate->device, up->device, 4, kernel_stream));
    buffer_expect_close(y, expected, 1e-6, 1e-6);
}

KERNELS_TEST(test_scale)
{
    check_pairs(run_scale, scale_of);
}

KERNELS_TEST(test_fill)
{
    for (int i = 0; i < LENGTHS; i++) {
        buffer *y = buffer_make_output(lengths[i]);
        EXPECTED(expected, lengths[i]);
        for (size_t j = 0; j < lengths[i]; j++)
            expected[j] = -2.5;
        kernel_ok(bgk_fill(y->device, -2.5f, lengths[i], kernel_stream));
        buffer_expect_close(y, expected, 0, 0);
    }
    kernel_ok(bgk_fill(NULL, 1, 0, kernel_stream));
}

/* ---- rows --------------------------------------------------------------------------------------- */

KERNELS_TEST(test_embedding)
{
    static const int widths[] = {1, 7, 64, 128, 129, 576};
    static const int tokens[] = {3, 0, 10, 3, -1, 11, 2147483647};
    const int rows = sizeof tokens / sizeof tokens[0], vocabulary = 11;
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
        size_t width = (size_t)widths[w];
        buffer *table = buffer_make_input(vocabulary * width, 1), *y = buffer_make_output(rows * width);
        EXPECTED(expected, rows * width);
        for (size_t i = 0; i < rows * width; i++) {
            int token = tokens[i / width];
            expected[i] = token >= 0 && token < vocabulary ? table->host[(size_t)token * width + i % width] : NAN;
        }
        kernel_ok(bgk_embedding(y->device, table->device, buffer_make_ints(tokens, rows), rows, widths[w], vocabulary,
                                kernel_stream));
        buffer_expect_close(y, expected, 0, 0);
    }
}

static void check_rms_norm(int rows, int width, double scale, bool in_place)
{
    const float epsilon = 1e-5f;
    buffer *x = buffer_make_input((size_t)rows * width, scale), *weight = buffer_make_input((size_t)width, 2);
    buffer *y = in_place ? x : buffer_make_output((size_t)rows * width);
    EXPECTED(expected, (size_t)rows * width);
    for (int r = 0; r < rows; r++) {
        const float *row = x->host + (size_t)r * width;
        double squares = 0;
        for (int i = 0; i < width; i++)
            squares += (double)row[i] * row[i];
        for (int i = 0; i < width; i++)
            expected[(size_t)r * width + i] = row[i] / sqrt(squares / width + epsilon) * weight->host[i];
    }
    kernel_ok(bgk_rms_norm(y->device, x->device, weight->device, rows, width, epsilon, kernel_stream));
    buffer_expect_close(y, expected, 2e-6, 1e-6);
}

KERNELS_TEST(test_rms_norm)
{
    static const int widths[] = {1, 2, 31, 32, 33, 100, 576, 1023, 2048, 4097, 9000};
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
    buffer *x = buffer_make_input(count, 2);
    EXPECTED(expected, count);
    for (size_t i = 0; i < count; i += 2) {
        int row = (int)(i / ((size_t)heads * head_dim)), pair = (int)(i % head_dim);
        double angle = (position + row) * pow(base, -(double)pair / head_dim), a = x->host[i], b = x->host[i + 1];
        expected[i] = a * cos(angle) - b * sin(angle);
        expected[i + 1] = a * sin(angle) + b * cos(angle);
    }
    kernel_ok(bgk_rope(x->device, buffer_make_ints(&position, 1), rows, heads, head_dim, (float)base, kernel_stream));
    /* the angle is rounded to fp32: its error grows with the position */
    buffer_expect_close(x, expected, 1e-6 + 2e-7 * (position + rows), 2);
}

KERNELS_TEST(test_rope)
{
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
KERNELS_TEST(test_rope_rows)
{
    enum { HEADS = 3, HEAD_DIM = 50, WIDTH = HEADS * HEAD_DIM };
    for (int rows = 1; rows <= ROW_POSITIONS; rows++) {
        buffer *x = buffer_make_input((size_t)rows * WIDTH, 2);
        EXPECTED(expected, x->count);
        for (int r = 0; r < rows; r++) {
            bool garbage = row_positions[r] < 0 || row_positions[r] == 2147483647;
            float *row = x->host + (size_t)r * WIDTH;
            buffer *alone = buffer_make(WIDTH);
            for (int i = 0; garbage && i < WIDTH; i++)
                row[i] = nanf("");
            memcpy(alone->host, row, WIDTH * sizeof(float));
            buffer_upload(alone);
            kernel_ok(bgk_rope(alone->device, buffer_make_ints(&row_positions[r], 1), 1, HEADS, HEAD_DIM, 1e4f,
                               kernel_stream));
            buffer_read_back(alone);
            for (int i = 0; i < WIDTH; i++)
                expected[r * WIDTH + i] = alone->host[i];
            buffers_release_to(x);
        }
        buffer_upload(x);
        kernel_ok(bgk_rope_rows(x->device, buffer_make_ints(row_positions, rows), rows, HEADS, HEAD_DIM, 1e4f,
                                kernel_stream));
        buffer_expect_close(x, expected, 0, 0);
    }
}

static void check_kv_append(int rows, int width, int capacity, int position)
{
    buffer *cache = buffer_make_input((size_t)capacity * width, 1), *x = buffer_make_input((size_t)rows * width, 1);
    EXPECTED(expected, cache->count);
    for (size_t i = 0; i < cache->count; i++) {
        int row = (int)(i / width) - position;
        expected[i] = row >= 0 && row < rows ? x->host[(size_t)row * width + i % width] : cache->host[i];
    }
    kernel_ok(
        bgk_kv_append(cache->device, x->device, buffer_make_ints(&position, 1), rows, width, capacity, kernel_stream));
    buffer_expect_close(cache, expected, 0, 0);
}

KERNELS_TEST(test_kv_append)
{
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
    buffer *cache = buffer_make_input((size_t)SLOTS * CAPACITY * width, 1),
           *x = buffer_make_input((size_t)rows * width, 1);
    EXPECTED(expected, cache->count);
    for (size_t i = 0; i < cache->count; i++)
        expected[i] = cache->host[i];
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < width && position[r] >= 0 && position[r] < CAPACITY && slot[r] >= 0 && slot[r] < SLOTS; i++)
            expected[(slot[r] * CAPACITY + position[r]) * width + i] = x->host[r * width + i];
    kernel_ok(bgk_kv_append_rows(cache->device, x->device, buffer_make_ints(position, rows),
                                 buffer_make_ints(slot, rows), rows, width, CAPACITY, SLOTS, kernel_stream));
    buffer_expect_close(cache, expected, 0, 0);
}

KERNELS_TEST(test_kv_append_rows)
{
    const int corners[] = {0, 4, 0, 4, 2}, of_corners[] = {0, 0, 2, 2, 1};
    const int outside[] = {5, -1, 2147483647, 0, 0, -2147483647 - 1, 1},
              of_outside[] = {0, 1, 2, 3, 2147483647, 0, -2147483647 - 1};
    const int padded[] = {0, 1, 1, 2147483647, 3}, of_padded[] = {0, -1, 1, -1, 2};
    check_kv_append_rows(5, 12, corners, of_corners);
    check_kv_append_rows(1, 130, corners, of_corners);
    check_kv_append_rows(7, 12, outside, of_outside);
    check_kv_append_rows(5, 129, padded, of_padded);
}

#define EXPECT_REFUSED(call) assert_int_equal(call, cudaErrorInvalidValue)

/* Those that read other key heads than there are, or none. */
KERNELS_TEST(test_refuses_heads)
{
    static const bgk_heads wrong[] = {{3, 2, 1, 0}, {3, 2, 3, 0}, {5, 2, 3, 2},  {4, 2, 3, 3},
                                      {1, 1, 0, 0}, {0, 1, 1, 0}, {1, 1, 3, -1}, {1, 0, 1, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        EXPECT_REFUSED(bgk_attention(NULL, NULL, NULL, NULL, NULL, 1, wrong[i], 64, 8, kernel_stream));
        EXPECT_REFUSED(bgk_attention_rows(NULL, NULL, NULL, NULL, NULL, NULL, 1, wrong[i], 64, 8, 1, kernel_stream));
    }
}

KERNELS_TEST(test_refuses_sizes)
{
    const bgk_heads even = {2, 2, 1, 0};
    EXPECT_REFUSED(bgk_attention(NULL, NULL, NULL, NULL, NULL, 1, even, 66, 8, kernel_stream));
    EXPECT_REFUSED(bgk_attention(NULL, NULL, NULL, NULL, NULL, 1, even, 260, 8, kernel_stream));
    EXPECT_REFUSED(bgk_rope(NULL, NULL, 1, 1, 7, 1e4f, kernel_stream));
    EXPECT_REFUSED(bgk_rms_norm(NULL, NULL, NULL, 1, 0, 1e-5f, kernel_stream));
    EXPECT_REFUSED(bgk_embedding(NULL, NULL, NULL, 0, 1, 1, kernel_stream));
    EXPECT_REFUSED(bgk_kv_append(NULL, NULL, NULL, 1, 1, 0, kernel_stream));
    EXPECT_REFUSED(bgk_argmax(NULL, NULL, 1, 0, kernel_stream));
    EXPECT_REFUSED(bgk_rope_rows(NULL, NULL, 65536, 1, 2, 1e4f, kernel_stream));
    EXPECT_REFUSED(bgk_kv_append_rows(NULL, NULL, NULL, NULL, 1, 1, 1, 0, kernel_stream));
    EXPECT_REFUSED(bgk_attention_rows(NULL, NULL, NULL, NULL, NULL, NULL, 1, even, 64, 8, 0, kernel_stream));
    assert_int_equal(cudaGetLastError(), cudaSuccess);
}

/* ---- argmax and counters ------------------------------------------------------------------------ */

static void expect_ints(buffer *b, const int *expected)
{
    buffer_read_back(b);
    for (size_t i = 0; i < b->count; i++) {
        int found;
        memcpy(&found, &b->host[i], sizeof found);
        assert_int_equal(found, expected[i]);
    }
}

enum { ROWS_OF_ARGMAX = 3 };

static void check_argmax(int rows, int n, bool coarse)
{
    buffer *x = buffer_make_input((size_t)rows * n, 5), *index = buffer_make_output((size_t)rows);
    int expected[ROWS_OF_ARGMAX] = {0};
    for (size_t i = 0; coarse && i < x->count; i++)
        x->host[i] = roundf(x->host[i]); /* many are equal: the first counts */
    buffer_upload(x);
    for (int r = 0; r < rows; r++)
        for (int i = 0; i < n; i++)
            if (x->host[(size_t)r * n + i] > x->host[(size_t)r * n + expected[r]])
                expected[r] = i;
    kernel_ok(bgk_argmax((int *)index->device, x->device, rows, n, kernel_stream));
    expect_ints(index, expected);
    buffers_release();
}

KERNELS_TEST(test_argmax)
{
    static const int sizes[] = {1, 2, 31, 32, 33, 255, 512, 1023, 1024, 5000, 49152};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        check_argmax(1, sizes[i], false);
        check_argmax(ROWS_OF_ARGMAX, sizes[i], true);
    }
}

KERNELS_TEST(test_argmax_with_nan_and_infinity)
{
    const float rows[4][3] = {{NAN, -3, -2}, {NAN, NAN, NAN}, {-INFINITY, -INFINITY, NAN}, {1, INFINITY, NAN}};
    const int expected[4] = {2, 0, 0, 1};
    buffer *x = buffer_make_input(12, 0), *index = buffer_make_output(4);
    memcpy(x->host, rows, sizeof rows);
    buffer_upload(x);
    kernel_ok(bgk_argmax((int *)index->device, x->device, 4, 3, kernel_stream));
    expect_ints(index, expected);
}

KERNELS_TEST(test_counters)
{
    int start[2] = {41, 7}, expected[2] = {42, 7};
    int *counter = buffer_make_ints(start, 2);
    kernel_ok(bgk_increment(counter, 3, kernel_stream));
    kernel_ok(bgk_increment(counter, -2, kernel_stream));
    expect_ints(buffer_at(0), expected);
    kernel_ok(bgk_set_counter(counter, -5, kernel_stream));
    expected[0] = -5;
    expect_ints(buffer_at(0), expected);
}
