#include "dequantize.h"
#include <string.h>

static uint16_t load_u16(const unsigned char *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t load_u32(const unsigned char *p)
{
    return (uint32_t)load_u16(p) | (uint32_t)load_u16(p + 2) << 16;
}

static float float_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* IEEE 754 binary16 to binary32, exact for every input. */
static float load_f16(const unsigned char *p)
{
    uint32_t half = load_u16(p), sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31u, mantissa = half & 1023u;
    if (exponent == 0) { /* zero or subnormal: mantissa * 2^-24 */
        float value = (float)mantissa * 0x1p-24f;
        return sign ? -value : value;
    }
    if (exponent == 31)
        return float_from_bits(sign | 0x7f800000u | mantissa << 13);
    return float_from_bits(sign | (exponent + 112) << 23 | mantissa << 13);
}

static void decode_f32(const unsigned char *block, float *out)
{
    *out = float_from_bits(load_u32(block));
}

static void decode_f16(const unsigned char *block, float *out)
{
    *out = load_f16(block);
}

static void decode_bf16(const unsigned char *block, float *out)
{
    *out = float_from_bits((uint32_t)load_u16(block) << 16);
}

/* Decodes a block of 4- or 5-bit elements: 32 elements, the first 16 in the low halves of bytes, the last 16 in the
 * high halves. */
static void decode_nibbles(const unsigned char *quants, uint32_t fifth_bits, float scale, float minimum, float *out)
{
    for (int i = 0; i < 16; i++) {
        unsigned low = (quants[i] & 15u) | (fifth_bits >> i & 1u) << 4;
        unsigned high = (unsigned)quants[i] >> 4 | (fifth_bits >> (i + 16) & 1u) << 4;
        out[i] = (float)low * scale + minimum;
        out[i + 16] = (float)high * scale + minimum;
    }
}

static void decode_q4_0(const unsigned char *block, float *out)
{
    float scale = load_f16(block);
    decode_nibbles(block + 2, 0, scale, -8.0f * scale, out);
}

static void decode_q4_1(const unsigned char *block, float *out)
{
    decode_nibbles(block + 4, 0, load_f16(block), load_f16(block + 2), out);
}

static void decode_q5_0(const unsigned char *block, float *out)
{
    float scale = load_f16(block);
    decode_nibbles(block + 6, load_u32(block + 2), scale, -16.0f * scale, out);
}

static void decode_q5_1(const unsigned char *block, float *out)
{
    decode_nibbles(block + 8, load_u32(block + 4), load_f16(block), load_f16(block + 2), out);
}

static void decode_q8_0(const unsigned char *block, float *out)
{
    float scale = load_f16(block);
    for (int i = 0; i < 32; i++)
        out[i] = scale * (float)(int8_t)block[2 + i];
}

/* 256 elements: 128 bytes with the low 4 bits, 64 with the high 2, 16 signed scales, one fp16 scale of the scales.
 * Each half holds 128 elements as four runs of 32; a run has two scales, 16 elements each. */
static void decode_q6_k(const unsigned char *block, float *out)
{
    const unsigned char *low = block, *high = block + 128, *scales = block + 192;
    float scale = load_f16(block + 208);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, run = i % 128 / 32, at = i % 32;
        unsigned low_bits = (unsigned)low[half * 64 + run % 2 * 32 + at] >> (run / 2 * 4) & 15u;
        unsigned high_bits = (unsigned)high[half * 32 + at] >> (run * 2) & 3u;
        int quant = (int)(low_bits | high_bits << 4) - 32;
        out[i] = scale * (float)(int8_t)scales[half * 8 + run * 2 + at / 16] * (float)quant;
    }
}

static const dequantize_type decoded_types[] = {
    {0, "F32", 1, 4, decode_f32},     {1, "F16", 1, 2, decode_f16},        {2, "Q4_0", 32, 18, decode_q4_0},
    {3, "Q4_1", 32, 20, decode_q4_1}, {6, "Q5_0", 32, 22, decode_q5_0},    {7, "Q5_1", 32, 24, decode_q5_1},
    {8, "Q8_0", 32, 34, decode_q8_0}, {14, "Q6_K", 256, 210, decode_q6_k}, {30, "BF16", 1, 2, decode_bf16},
};

const dequantize_type *dequantize_find(uint32_t id)
{
    for (size_t i = 0; i < sizeof decoded_types / sizeof decoded_types[0]; i++)
        if (decoded_types[i].id == id)
            return &decoded_types[i];
    return NULL;
}

const char *dequantize_names(void)
{
    return "F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q6_K, Q8_0";
}
