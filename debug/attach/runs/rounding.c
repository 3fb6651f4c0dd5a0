#include "rounding.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* farthest: exponents of numbers that programs compute with; ulp: what counts as rounding; near: that of a sum which
 * was rounded in between, as a part of what was added. */
typedef struct format {
    size_t bytes;
    int mantissa, exponent; /* bits */
    int64_t farthest, ulp;
    double near;
} format;

static const format formats[] = {
    {8, 52, 11, 60, 1024, 1e-9}, {4, 23, 8, 40, 1024, 1e-4}, {2, 7, 8, 40, 8, 0.05}, {2, 10, 5, 14, 8, 0.01}};

static uint64_t bits_at(const format *f, const unsigned char *state, size_t at)
{
    uint64_t bits = 0; /* a device and its host have the least byte first */
    memcpy(&bits, state + at, f->bytes);
    return bits;
}

static int64_t exponent_of(const format *f, uint64_t bits)
{
    return (int64_t)(bits >> f->mantissa & ((1ull << f->exponent) - 1)) - ((1LL << (f->exponent - 1)) - 1);
}

/* No denormal number, which a small integer would be, and neither infinite nor NaN. */
static bool is_plausible(const format *f, uint64_t bits)
{
    const int64_t exponent = exponent_of(f, bits);
    return (exponent >= -f->farthest && exponent <= f->farthest) || bits << (64 - 8 * f->bytes) << 1 == 0;
}

/* Of what is plausible. */
static double number_of(const format *f, uint64_t bits)
{
    const uint64_t fraction = bits & ((1ull << f->mantissa) - 1);
    const double number = ldexp(1 + (double)fraction / (double)(1ull << f->mantissa), (int)exponent_of(f, bits));
    if (bits << (64 - 8 * f->bytes) << 1 == 0)
        return 0;
    return bits >> (8 * f->bytes - 1) != 0 ? -number : number;
}

/* Of one element. */
static bool is_sum(const format *f, const unsigned char *const states[BG__SUM_STATES], size_t at)
{
    double numbers[BG__SUM_STATES], sum, most;
    int64_t difference;

    for (int i = 0; i < BG__SUM_STATES; i++) {
        if (!is_plausible(f, bits_at(f, states[i], at)))
            return false;
        numbers[i] = number_of(f, bits_at(f, states[i], at));
    }
    difference = (int64_t)(bits_at(f, states[BG__AFTER_BOTH], at) - bits_at(f, states[BG__AFTER_REVERSED], at));
    sum = numbers[BG__AFTER_ONE] + numbers[BG__AFTER_OTHER] - numbers[BG__BEFORE];
    most = fabs(numbers[BG__AFTER_ONE]) + fabs(numbers[BG__AFTER_OTHER]) + fabs(numbers[BG__BEFORE]);
    return difference >= -f->ulp && difference <= f->ulp && fabs(numbers[BG__AFTER_BOTH] - sum) <= f->near * most &&
           fabs(numbers[BG__AFTER_REVERSED] - sum) <= f->near * most;
}

/* Halves of other numbers look like numbers of two bytes: but they do not differ at odd and even places. */
static bool are_sums_of(const format *f, const unsigned char *const states[BG__SUM_STATES], size_t bytes)
{
    bool differs[2] = {f->bytes > 2, f->bytes > 2}, any = false;

    if (bytes % f->bytes != 0)
        return false;
    for (size_t at = 0; at < bytes; at += f->bytes) {
        if (memcmp(states[BG__AFTER_BOTH] + at, states[BG__AFTER_REVERSED] + at, f->bytes) == 0)
            continue;
        if (!is_sum(f, states, at))
            return false;
        differs[at / f->bytes % 2] = any = true;
    }
    return any && differs[0] && differs[1];
}

bool bg__are_sums(const unsigned char *const states[BG__SUM_STATES], size_t bytes)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (are_sums_of(&formats[i], states, bytes))
            return true;
    return false;
}

/* As if nothing had been there before, and the other node had added nothing. */
bool bg__differ_by_rounding(const unsigned char *one, const unsigned char *other, size_t bytes)
{
    return bg__are_sums((const unsigned char *const[]){one, one, one, one, other}, bytes);
}
