/* bf16 and fp16 in C: conversions to float, and back with rounding to nearest even. */
#ifndef HOSTCUDA_HALF_H
#define HOSTCUDA_HALF_H

#include <stdint.h>

float hc_bf16_to_float(uint16_t bits);
uint16_t hc_float_to_bf16(float value);
float hc_fp16_to_float(uint16_t bits);
uint16_t hc_float_to_fp16(float value);

#endif
