/* What the programs of these tests share: PROGRAM CASE has the fault of that name, PROGRAM CASE correct its twin. */
#ifndef ATTACH_PROGRAM_H
#define ATTACH_PROGRAM_H

#include <stdbool.h>
#include <string.h>

#include "cuda_check.h"
#include "kernels.h"

static inline bool is_case(const char *given, const char *name)
{
    return strcmp(given, name) == 0;
}

/* The kernel's name is all that the launch tells: y += x. */
static inline __attribute__((always_inline)) cudaError_t launch(float **y, float **x, cudaStream_t stream)
{
    const dim3 blocks = {FLOATS / 128, 1, 1}, threads = {128, 1, 1};
    void *parameters[] = {y, x};
    return cudaLaunchKernel(add_kernel(), blocks, threads, parameters, 0, stream);
}

static inline struct cudaKernelNodeParams node_of(void **parameters)
{
    return (struct cudaKernelNodeParams){
        (void *)(size_t)add_kernel(), {FLOATS / 128, 1, 1}, {128, 1, 1}, 0, parameters, NULL};
}

#endif
