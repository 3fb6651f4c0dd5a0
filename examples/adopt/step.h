/* Shared by the programs of this folder: one step of a miniature decoder. Its kernels can be captured; the host decides
 * in the middle of the step. All programs print the same numbers. */
#ifndef EXAMPLES_ADOPT_STEP_H
#define EXAMPLES_ADOPT_STEP_H

#include <cuda_runtime_api.h>
#include <stdio.h>

#include "kernels/model/kernels.h"

enum { N = 4, STEPS = 4 };

/* Needs `cudaError_t error` and the label `done`. */
#define TRY(call)                                                                                                      \
    do {                                                                                                               \
        error = (call);                                                                                                \
        if (error != cudaSuccess) {                                                                                    \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(error));                  \
            goto done;                                                                                                 \
        }                                                                                                              \
    } while (0)

typedef struct model {
    cudaStream_t stream;
    float *x, *h; /* N floats in device memory */
} model;

static inline cudaError_t create_model(model *m)
{
    const float start[N] = {1, 2, 3, 4};
    cudaError_t error;
    TRY(cudaStreamCreateWithFlags(&m->stream, cudaStreamNonBlocking));
    TRY(cudaMalloc((void **)&m->x, 2 * sizeof start));
    m->h = m->x + N;
    TRY(cudaMemcpyAsync(m->x, start, sizeof start, cudaMemcpyHostToDevice, m->stream));
done:
    return error;
}

static inline void destroy_model(model *m)
{
    cudaFree(m->x);
    if (m->stream != NULL)
        cudaStreamDestroy(m->stream);
}

/* h = 3 x */
static inline cudaError_t first_half(const model *m)
{
    return bgk_scale(m->h, m->x, 3, N, m->stream);
}

/* Waits for h, and sets h = h / 8 if it has become large. No graph can contain this. */
static inline cudaError_t decide(const model *m)
{
    float host[N];
    cudaError_t error;
    TRY(cudaMemcpyAsync(host, m->h, sizeof host, cudaMemcpyDeviceToHost, m->stream));
    TRY(cudaStreamSynchronize(m->stream));
    if (host[N - 1] > 20)
        TRY(bgk_scale(m->h, m->h, 0.125f, N, m->stream));
done:
    return error;
}

/* x = x + h */
static inline cudaError_t second_half(const model *m)
{
    return bgk_add(m->x, m->x, m->h, N, m->stream);
}

static inline cudaError_t print_step(const model *m, int step)
{
    float host[N];
    cudaError_t error;
    TRY(cudaMemcpyAsync(host, m->x, sizeof host, cudaMemcpyDeviceToHost, m->stream));
    TRY(cudaStreamSynchronize(m->stream));
    printf("step %d: %g %g %g %g\n", step, host[0], host[1], host[2], host[3]);
done:
    return error;
}

#endif
