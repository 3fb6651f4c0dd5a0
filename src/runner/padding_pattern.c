/* A padding row's value as bytes. */
#include "runner/runner.h"

#include <math.h>
#include <string.h>

static bool fits_integer(double value, double low, double high)
{
    return value >= low && value <= high && value == floor(value);
}

/* Rounded to nearest even; from a float, so that halves have no rule of their own. */
static uint16_t to_f16(float value)
{
    union {
        float f;
        uint32_t u;
    } in = {value}, scale;
    uint32_t sign = in.u >> 16 & 0x8000u, rest;

    in.u &= 0x7fffffffu;
    if (in.u > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    if (in.u >= 0x477ff000u) /* 65520 and beyond round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    if (in.u < 0x38800000u) { /* below 2^-14: counted in steps of 2^-24, by an addition that rounds */
        scale.f = in.f + 0.5f;
        return (uint16_t)(sign | (scale.u - 0x3f000000u));
    }
    rest = in.u + 0xfffu + (in.u >> 13 & 1u);
    return (uint16_t)(sign | (rest - 0x38000000u) >> 13);
}

static uint16_t to_bf16(float value)
{
    union {
        float f;
        uint32_t u;
    } in = {value};
    if (value != value)
        return (uint16_t)(in.u >> 16 | 0x40u);
    return (uint16_t)((in.u + 0x7fffu + (in.u >> 16 & 1u)) >> 16);
}

static void repeat_element(uint64_t *pattern, const void *element, size_t bytes)
{
    for (size_t at = 0; at < sizeof *pattern; at += bytes)
        memcpy((char *)pattern + at, element, bytes);
}

bool bg__pattern_make(bg_dtype dtype, double value, uint64_t *pattern)
{
    bool finite = isfinite(value), ok = true;
    float single = (float)value;
    union {
        uint8_t u8;
        int8_t i8;
        int32_t i32;
        int64_t i64;
        uint16_t u16;
        float f32;
        double f64;
    } element = {0};

    switch (dtype) {
    case BG_F32: element.f32 = single, ok = !finite || isfinite(single); break;
    case BG_F64: element.f64 = value; break;
    case BG_F16: element.u16 = to_f16(single), ok = !finite || (element.u16 & 0x7c00u) != 0x7c00u; break;
    case BG_BF16: element.u16 = to_bf16(single), ok = !finite || (element.u16 & 0x7f80u) != 0x7f80u; break;
    case BG_I8: ok = fits_integer(value, INT8_MIN, INT8_MAX), element.i8 = ok ? (int8_t)value : 0; break;
    case BG_U8: ok = fits_integer(value, 0, UINT8_MAX), element.u8 = ok ? (uint8_t)value : 0; break;
    case BG_BOOL: ok = fits_integer(value, 0, 1), element.u8 = ok && value != 0; break;
    case BG_I32: ok = fits_integer(value, INT32_MIN, INT32_MAX), element.i32 = ok ? (int32_t)value : 0; break;
    /* 2^63 is the first double above INT64_MAX, so the limit is the double before it. */
    case BG_I64:
        ok = fits_integer(value, (double)INT64_MIN, 9223372036854774784.0), element.i64 = ok ? (int64_t)value : 0;
        break;
    }
    if (ok)
        repeat_element(pattern, &element, bg_dtype_bytes(dtype));
    return ok;
}
