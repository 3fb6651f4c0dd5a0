/* The two 8-bit floating-point types in C. Conversions round to nearest even and saturate to the largest finite number,
 * as those of CUDA's types do. */
#ifndef HOSTCUDA_FLOAT8_H
#define HOSTCUDA_FLOAT8_H

#include <stdint.h>

float hc_e4m3_to_float(uint8_t bits);
uint8_t hc_float_to_e4m3(float value);
float hc_e5m2_to_float(uint8_t bits);
uint8_t hc_float_to_e5m2(float value);

#endif
