#include "hostcuda/src/kernel/half.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float hc_bf16_to_float(uint16_t bits)
{
    return float_of((uint32_t)bits << 16);
}

uint16_t hc_float_to_bf16(float value)
{
    uint32_t bits = bits_of(value);
    if (value != value)
        return 0x7fff;
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

float hc_fp16_to_float(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16, exponent = bits >> 10 & 31u, fraction = bits & 1023u;
    if (exponent == 31)
        return float_of(sign | 0x7f800000u | fraction << 13);
    if (exponent)
        return float_of(sign | (exponent + 112) << 23 | fraction << 13);
    float magnitude = ldexpf((float)fraction, -24);
    return sign ? -magnitude : magnitude;
}

uint16_t hc_float_to_fp16(float value)
{
    uint16_t sign = (uint16_t)(bits_of(value) >> 16 & 0x8000u);
    float magnitude = fabsf(value);
    if (value != value)
        return 0x7fff;
    if (magnitude >= 65520.0f) /* rounds to infinity */
        return sign | 0x7c00u;
    if (magnitude < 0x1p-14f) /* subnormal: a multiple of 2^-24 */
        return sign | (uint16_t)lrintf(ldexpf(magnitude, 24));
    uint32_t bits = bits_of(magnitude) - (112u << 23);
    return sign | (uint16_t)((bits + 0xfffu + (bits >> 13 & 1u)) >> 13);
}
