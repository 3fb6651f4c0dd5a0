/* bgk_compare against plain C, for every kind of element: bits of all sorts, and what a tolerance lets pass. */
#include "tests/support/support.h"

#include "kernels/library/compare.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 5000 };

static uint64_t random_state = 1;

static uint64_t draw(void)
{
    random_state ^= random_state >> 12; /* xorshift64*, Vigna 2016 */
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * 0x2545F4914F6CDD1Du;
}

static const struct kind {
    bgk_element element;
    const char *name;
    int bytes, fraction, exponent; /* fraction 0: integers */
    bool has_sign;
} kinds[] = {
    {BGK_ELEMENT_F32, "f32", 4, 23, 8, true}, {BGK_ELEMENT_F64, "f64", 8, 52, 11, true},
    {BGK_ELEMENT_F16, "f16", 2, 10, 5, true}, {BGK_ELEMENT_BF16, "bf16", 2, 7, 8, true},
    {BGK_ELEMENT_I8, "i8", 1, 0, 0, true},    {BGK_ELEMENT_U8, "u8", 1, 0, 0, false},
    {BGK_ELEMENT_I32, "i32", 4, 0, 0, true},  {BGK_ELEMENT_I64, "i64", 8, 0, 0, true},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static uint64_t load(const unsigned char *at, int bytes)
{
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)bytes); /* little-endian, as the device is */
    return bits;
}

static int64_t as_signed(uint64_t bits, int bytes)
{
    int shift = 64 - 8 * bytes;
    return (int64_t)(bits << shift) >> shift;
}

static double value_of(const struct kind *k, uint64_t bits)
{
    if (k->fraction == 0)
        return k->has_sign ? (double)as_signed(bits, k->bytes) : (double)bits;
    uint64_t fraction = bits & ((1ull << k->fraction) - 1);
    int bias = (1 << (k->exponent - 1)) - 1, exponent = (int)(bits >> k->fraction & ((1u << k->exponent) - 1));
    bool negative = bits >> (k->fraction + k->exponent) & 1;
    double value = exponent == 0 ? ldexp((double)fraction, 1 - bias - k->fraction)
                                 : ldexp((double)(fraction | 1ull << k->fraction), exponent - bias - k->fraction);
    if (exponent == (1 << k->exponent) - 1)
        value = fraction ? NAN : INFINITY;
    return negative ? -value : value;
}

/* Of floats, ULPs: the distance through 0 where the signs differ. */
static unsigned long long steps_between(const struct kind *k, uint64_t a, uint64_t b)
{
    const uint64_t sign = 1ull << (8 * k->bytes - 1);
    const bool through_zero = k->fraction > 0 && (a ^ b) & sign;
    uint64_t m = k->fraction > 0 ? a & (sign - 1) : k->has_sign ? a ^ sign : a;
    uint64_t n = k->fraction > 0 ? b & (sign - 1) : k->has_sign ? b ^ sign : b;
    return through_zero ? m + n : m > n ? m - n : n - m;
}

static void expect_pair(const struct kind *k, uint64_t a, uint64_t b, size_t at, const bgk_tolerance *t,
                        bgk_difference *d)
{
    const bool exact = t->absolute == 0 && t->relative == 0 && t->ulp == 0;
    const double x = value_of(k, a), y = value_of(k, b);
    bool fits = isnan(x) && isnan(y);
    if (isfinite(x) && isfinite(y)) {
        unsigned long long steps = steps_between(k, a, b);
        double absolute = k->fraction == 0 ? (double)steps : fabs(x - y);
        double relative = absolute == 0 ? 0 : absolute / fabs(x);
        d->absolute = fmax(d->absolute, absolute);
        d->relative = fmax(d->relative, relative);
        d->ulp = steps > d->ulp ? steps : d->ulp;
        fits = absolute <= t->absolute || relative <= t->relative || steps <= t->ulp;
    } else {
        d->lost += !fits;
    }
    d->differing++;
    if (exact || !fits) {
        d->beyond++;
        d->first = at < d->first ? at : d->first;
    }
}

/* Most elements are the same, some are near each other, some are anything. */
static void fill(unsigned char *a, unsigned char *b, int bytes)
{
    for (size_t i = 0; i < ELEMENTS; i++) {
        uint64_t x = draw(), y = x, how = draw() % 16;
        if (how == 0)
            y = draw();
        else if (how == 1)
            y = x + draw() % 5 - 2;
        else if (how == 2)
            y = x ^ 1ull << (8 * bytes - 1);
        memcpy(a + i * (size_t)bytes, &x, (size_t)bytes);
        memcpy(b + i * (size_t)bytes, &y, (size_t)bytes);
    }
}

static bgk_difference compare(fixture *f, const struct kind *k, const void *a, const void *b, size_t n,
                              const bgk_tolerance *t)
{
    const bgk_difference none = BGK_DIFFERENCE_NONE;
    const size_t bytes = n * (size_t)k->bytes;
    bgk_difference found;
    OWNED_MEMORY(bgk_difference, room);
    OWNED_MEMORY(void, x);
    OWNED_MEMORY(void, y);

    EXPECT_CUDA(cudaMalloc((void **)&room, sizeof *room));
    EXPECT_CUDA(cudaMemcpy(room, &none, sizeof none, cudaMemcpyHostToDevice));
    EXPECT_CUDA(cudaMalloc(&x, bytes));
    EXPECT_CUDA(cudaMalloc(&y, bytes));
    EXPECT_CUDA(cudaMemcpy(x, a, bytes, cudaMemcpyHostToDevice));
    EXPECT_CUDA(cudaMemcpy(y, b, bytes, cudaMemcpyHostToDevice));
    EXPECT_CUDA(bgk_compare(room, x, y, n, k->element, t, f->stream));
    EXPECT_CUDA(cudaStreamSynchronize(f->stream));
    EXPECT_CUDA(cudaMemcpy(&found, room, sizeof found, cudaMemcpyDeviceToHost));
    return found;
}

static void check(fixture *f, const struct kind *k, const bgk_tolerance *t)
{
    static unsigned char a[ELEMENTS * 8], b[ELEMENTS * 8];
    bgk_difference want = BGK_DIFFERENCE_NONE, found;

    fill(a, b, k->bytes);
    for (size_t i = 0; i < ELEMENTS; i++) {
        uint64_t x = load(a + i * (size_t)k->bytes, k->bytes), y = load(b + i * (size_t)k->bytes, k->bytes);
        if (k->fraction > 0) {
            double values[] = {value_of(k, x), value_of(k, y)};
            for (int s = 0; s < 2; s++) {
                want.nan[s] += isnan(values[s]) != 0;
                want.inf[s] += isinf(values[s]) != 0;
            }
        }
        if (x != y)
            expect_pair(k, x, y, i, t, &want);
    }
    found = compare(f, k, a, b, ELEMENTS, t);
    if (found.differing != want.differing || found.beyond != want.beyond || found.first != want.first ||
        found.ulp != want.ulp || found.lost != want.lost || memcmp(found.nan, want.nan, sizeof found.nan) != 0 ||
        memcmp(found.inf, want.inf, sizeof found.inf) != 0 || found.absolute != want.absolute ||
        found.relative != want.relative)
        fail_msg(
            "%s, tolerance %g %g %llu: %llu differ, %llu beyond, first %llu, %g, %g, %llu ULP, %llu lost; expected "
            "%llu, %llu, %llu, %g, %g, %llu, %llu",
            k->name, t->absolute, t->relative, t->ulp, found.differing, found.beyond, found.first, found.absolute,
            found.relative, found.ulp, found.lost, want.differing, want.beyond, want.first, want.absolute,
            want.relative, want.ulp, want.lost);
    assert_true(found.digest[0] != found.digest[1]);
}

FIXTURE_TEST(test_all_kinds)
{
    static const bgk_tolerance tolerances[] = {{0, 0, 0}, {0, 0, 1}, {0, 1e-3, 0}, {1e-3, 0, 0}, {10, 0.5, 2}};
    printf("seed %llu\n", (unsigned long long)random_state);
    for (int k = 0; k < KINDS; k++)
        for (size_t t = 0; t < sizeof tolerances / sizeof *tolerances; t++)
            check(f, &kinds[k], &tolerances[t]);
}

/* The digest is of what is where. */
FIXTURE_TEST(test_digest)
{
    const bgk_tolerance bits = {0, 0, 0};
    int a[] = {1, 2, 3, 4}, same[] = {1, 2, 3, 4}, moved[] = {2, 1, 3, 4};
    bgk_difference d = compare(f, &kinds[6], a, same, 4, &bits);
    assert_true(d.digest[0] == d.digest[1]);
    assert_true(d.differing == 0 && d.beyond == 0 && d.first == ~0ull && d.ulp == 0);
    d = compare(f, &kinds[6], a, moved, 4, &bits);
    assert_true(d.digest[0] != d.digest[1]);
    assert_true(d.differing == 2 && d.beyond == 2 && d.first == 0 && d.ulp == 1);
}

FIXTURE_TEST(test_zeros)
{
    const bgk_tolerance bits = {0, 0, 0}, one = {0, 0, 1};
    float a[] = {0.0f, 1.0f, NAN, INFINITY}, b[] = {-0.0f, nextafterf(1.0f, 2.0f), -NAN, -INFINITY};
    bgk_difference d = compare(f, &kinds[0], a, b, 4, &bits);
    assert_true(d.differing == 4 && d.beyond == 4 && d.first == 0 && d.lost == 1 && d.ulp == 1);
    assert_true(d.absolute == FLT_EPSILON && d.nan[0] == 1 && d.nan[1] == 1 && d.inf[0] == 1 && d.inf[1] == 1);
    d = compare(f, &kinds[0], a, b, 4, &one);
    assert_true(d.differing == 4 && d.beyond == 1 && d.first == 3);
}

FIXTURE_TEST(test_refused)
{
    const bgk_tolerance bits = {0, 0, 0};
    assert_int_equal(bgk_compare(f->x.data, f->x.data, f->y.data, 0, BGK_ELEMENT_F32, &bits, f->stream),
                     cudaErrorInvalidValue);
    assert_int_equal(bgk_compare(f->x.data, f->x.data, f->y.data, 1, (bgk_element)99, &bits, f->stream),
                     cudaErrorInvalidValue);
}
