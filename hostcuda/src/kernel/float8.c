#include "hostcuda/src/kernel/float8.h"

#include <math.h>

/* Fraction bits, the exponent of the smallest normal number, and the code of the largest finite number. */
struct format {
    int fraction, smallest;
    unsigned largest;
};
static const struct format e4m3 = {3, -6, 0x7e}, e5m2 = {2, -14, 0x7b};
enum { SIGN = 0x80, NOT_A_NUMBER = 0x7f };

/* Codes are in order of value: each exponent has 2^fraction codes, and subnormal numbers come first. */
static float decode_float8(uint8_t bits, const struct format *format)
{
    unsigned code = bits & 0x7fu, steps = 1u << format->fraction;
    unsigned exponent = code >> format->fraction, fraction = code & (steps - 1);
    float magnitude = exponent
                          ? ldexpf((float)(steps + fraction), (int)exponent - 1 + format->smallest - format->fraction)
                          : ldexpf((float)fraction, format->smallest - format->fraction);
    return bits & SIGN ? -magnitude : magnitude;
}

static uint8_t encode_float8(float value, const struct format *format)
{
    unsigned sign = signbit(value) ? SIGN : 0;
    float magnitude = fabsf(value);
    if (isnan(value))
        return NOT_A_NUMBER;
    if (magnitude >= decode_float8((uint8_t)format->largest, format))
        return (uint8_t)(sign | format->largest);
    int exponent = magnitude > 0 ? ilogbf(magnitude) : format->smallest;
    if (exponent < format->smallest)
        exponent = format->smallest;
    /* in units of the last place; a carry into the exponent also gives the next code */
    unsigned units = (unsigned)lrintf(ldexpf(magnitude, format->fraction - exponent));
    return (uint8_t)(sign | (units + ((unsigned)(exponent - format->smallest) << format->fraction)));
}

float hc_e4m3_to_float(uint8_t bits)
{
    return (bits & 0x7f) == NOT_A_NUMBER ? NAN : decode_float8(bits, &e4m3);
}

uint8_t hc_float_to_e4m3(float value)
{
    return encode_float8(value, &e4m3);
}

float hc_e5m2_to_float(uint8_t bits)
{
    unsigned code = bits & 0x7fu;
    if (code == 0x7c)
        return bits & SIGN ? -INFINITY : INFINITY;
    return code > 0x7c ? NAN : decode_float8(bits, &e5m2);
}

uint8_t hc_float_to_e5m2(float value)
{
    return encode_float8(value, &e5m2);
}
