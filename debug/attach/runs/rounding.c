#include "rounding.h"

#include <stdint.h>
#include <string.h>

/* farthest: exponents of numbers that programs compute with; ulp: what counts as rounding. */
typedef struct format {
    size_t bytes;
    int mantissa, exponent; /* bits */
    int64_t farthest, ulp;
} format;

static const format formats[] = {{8, 52, 11, 60, 1024}, {4, 23, 8, 40, 1024}, {2, 7, 8, 40, 8}, {2, 10, 5, 14, 8}};

/* No zero, no denormal number, which a small integer would be, and neither infinite nor NaN. */
static bool is_plausible(const format *f, uint64_t bits)
{
    const int64_t bias = (1LL << (f->exponent - 1)) - 1;
    const int64_t exponent = (int64_t)(bits >> f->mantissa & ((1ull << f->exponent) - 1)) - bias;
    return exponent >= -f->farthest && exponent <= f->farthest;
}

static bool are_close(const format *f, uint64_t a, uint64_t b)
{
    const int64_t difference = (int64_t)(a - b);
    return is_plausible(f, a) && is_plausible(f, b) && difference >= -f->ulp && difference <= f->ulp;
}

static bool differs_by_rounding(const format *f, const unsigned char *a, const unsigned char *b, size_t bytes)
{
    bool differs = false;

    if (bytes % f->bytes != 0)
        return false;
    for (size_t i = 0; i < bytes; i += f->bytes) {
        uint64_t x = 0, y = 0; /* a device and its host have the least byte first */
        memcpy(&x, a + i, f->bytes);
        memcpy(&y, b + i, f->bytes);
        if (x != y && !are_close(f, x, y))
            return false;
        differs |= x != y;
    }
    return differs;
}

bool bg__differ_by_rounding(const void *a, const void *b, size_t bytes)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (differs_by_rounding(&formats[i], a, b, bytes))
            return true;
    return false;
}
