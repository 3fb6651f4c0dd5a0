/* The two 8-bit floats in C: to float and back, rounded to nearest even; what is too large becomes the largest finite
 * number, as CUDA's own types have it. */
#ifndef HOSTCUDA_FLOAT8_H
#define HOSTCUDA_FLOAT8_H

#include <stdint.h>

float hc_e4m3_to_float(uint8_t bits);
uint8_t hc_float_to_e4m3(float value);
float hc_e5m2_to_float(uint8_t bits);
uint8_t hc_float_to_e5m2(float value);

#endif
