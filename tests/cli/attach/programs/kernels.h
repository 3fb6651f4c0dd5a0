/* Kernels of programs that know nothing of breakgraph. */
#ifndef ATTACH_KERNELS_H
#define ATTACH_KERNELS_H

#include <cuda_runtime_api.h>

enum { FLOATS = 1024, BYTES = FLOATS * sizeof(float) };

#ifdef __cplusplus
extern "C" {
#endif

/* y += x, for FLOATS of each. */
cudaError_t launch_add(float *y, const float *x, cudaStream_t stream);
/* Waits until *flag is value. */
cudaError_t launch_wait(const int *flag, int value, int blocks, cudaStream_t stream);
/* The same as a node's kernel: its two parameters are y and x. */
const void *add_kernel(void);
/* y *= factor: its parameters are y and factor. */
const void *scale_kernel(void);
/* y += factor: its parameters are two structs with padding. */
typedef struct blend_inputs {
    int count; /* and 4 bytes of padding */
    float *y;
    int unused; /* and 4 bytes of padding */
} blend_inputs;
typedef struct blend_factor {
    char kind; /* and 3 bytes of padding */
    float factor;
} blend_factor;
const void *blend_kernel(void);
/* y = value: its parameters are y and value, one byte, as an empty struct is. */
const void *fill_kernel(void);
/* Two variables of the device, of as many bytes: y for the other kernels. */
cudaError_t get_variable(int second, float **y);
/* *y = table[*index]: its parameters are y, table and index. */
const void *gather_kernel(void);
/* y = x, for the first `rows` floats: its parameters are y, x and rows. */
const void *copy_rows_kernel(void);
/* *y = the sum of x: its parameter is the struct, whose name says nothing of its types. */
struct sum_of {
    float *y;
    const float *x;
};
const void *sum_kernel(void);

#ifdef __cplusplus
}
#endif

#endif
