/* How the programs of these tests call CUDA, in C and in C++. */
#ifndef ATTACH_CUDA_CHECK_H
#define ATTACH_CUDA_CHECK_H

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#define CUDA(call)                                                                                                     \
    do {                                                                                                               \
        cudaError_t error_ = (call);                                                                                   \
        if (error_ != cudaSuccess) {                                                                                   \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(error_));                   \
            exit(3);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* What is launched into one stream from now on comes behind what has been launched into the other one. */
static inline void wait_for(cudaStream_t waits, cudaStream_t recorded)
{
    cudaEvent_t event;
    CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CUDA(cudaEventRecord(event, recorded));
    CUDA(cudaStreamWaitEvent(waits, event, 0));
    CUDA(cudaEventDestroy(event));
}

#endif
