/* A pass that forks by CUDA's own names, written in C and in CUDA C++ (compiled by nvcc, or as C++ for the host
 * device). */
#ifndef BG_TESTS_HOOKED_H
#define BG_TESTS_HOOKED_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hooked_scene {
    cudaStream_t other;
    float *x, *y, *z; /* of count floats */
    size_t count;
    void (*at_break)(void *user, cudaStream_t stream);
    void *user;
} hooked_scene;

/* z = 30 x, on stream and other, with a break between fork and join. */
cudaError_t hooked_pass_in_cpp(const hooked_scene *scene, cudaStream_t stream);

/* The line of the wait, which is on work outside a capture. */
cudaError_t hooked_wait_in_cpp(cudaStream_t stream, cudaEvent_t event, int *line);

#ifdef __cplusplus
}
#endif

#endif
