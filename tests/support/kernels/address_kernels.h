/* Kernels that nobody launches but by their addresses, as C names them. */
#ifndef ADDRESS_KERNELS_H
#define ADDRESS_KERNELS_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { AK_MANY = 20, AK_LONG = 60 };

const void *ak_add(void);      /* int *x, int value: *x += value */
const void *ak_multiply(void); /* int *x, int value: *x *= value; in a namespace of its own */
/* double *out, bool, char, signed char, unsigned char, short, unsigned short, int, unsigned, long, unsigned long, long
 * long, unsigned long long, then float and double in turn, up to AK_MANY; out[i] = the i-th of them, from 1. */
const void *ak_many(void);
const void *ak_long(void);         /* int *sum, AK_LONG - 1 ints: *sum = the sum of the i-th times i */
const void *ak_scale_float(void);  /* of a template: float *x, float factor */
const void *ak_scale_double(void); /* double *x, double factor */
const void *ak_half(void);         /* float *out, __half, __nv_bfloat16: *out = the sum */
const void *ak_none(void);         /* nothing */

/* What a name does not say: a struct by value, and a function of C. */
struct ak_pair {
    int first, second;
};
const void *ak_of_struct(void); /* int *out, struct ak_pair: *out = the difference */
const void *ak_of_c(void);      /* int *x, int value: *x += value */
/* As a program shows the host device what they take. */
cudaError_t ak_show(void);
cudaError_t ak_show_multiply(void); /* the same, of one whose name says it */

const void *ak_no_kernel(void); /* a function of the host */

#ifdef __cplusplus
}
#endif

#endif
