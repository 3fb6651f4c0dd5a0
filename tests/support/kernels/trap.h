/* A kernel that faults. */
#ifndef BG_TESTS_TRAP_H
#define BG_TESTS_TRAP_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C"
#endif
    /* Queues a kernel that traps where *armed, in device memory, is not 0. The device is lost then. */
    cudaError_t
    trap_if(const float *armed, cudaStream_t stream);

#endif
