/* Shared by the samples: TRY checks a call, and goes to the function's one exit if the call fails. */
#ifndef EXAMPLES_GRAPHS_TRY_H
#define EXAMPLES_GRAPHS_TRY_H

#include <cuda_runtime_api.h>
#include <stdio.h>

/* Needs `cudaError_t error` and the label `done`. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        error = (call);                                                                                                \
        if (error != cudaSuccess) {                                                                                    \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error));                  \
            goto done;                                                                                                 \
        }                                                                                                              \
    } while (0)

#endif
