/* Launches the kernel of scale.cu from C. */
#ifndef SCALE_H
#define SCALE_H

#include <cuda_runtime_api.h>

enum { COUNT = 4 };

#ifdef __cplusplus
extern "C" {
#endif
/* Multiplies the COUNT elements of x by FACTOR. */
cudaError_t scale(float *x, cudaStream_t stream);
#ifdef __cplusplus
}
#endif

#endif
