/* Kernels for tests of graphs: each changes one int in device memory. */
#ifndef GRAPH_KERNELS_H
#define GRAPH_KERNELS_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* *x += value */
cudaError_t gk_add(int *x, int value, cudaStream_t stream);
/* The kernels as graphs name them; both take int *x, int value. */
const void *gk_add_function(void);
const void *gk_multiply_function(void); /* *x *= value */

/* The grid and block that fill the device with the first. */
cudaError_t gk_add_shape(int *grid, int *block);

/* The parameters of either, as one buffer. */
struct gk_parameters {
    int *x;
    int value;
};

#ifdef __cplusplus
}
#endif

#endif
