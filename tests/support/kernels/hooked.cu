#include "hooked.h"

#include "kernels/model/kernels.h"

#include <breakgraph/hooks.h>

cudaError_t hooked_pass_in_cpp(const hooked_scene *scene, cudaStream_t stream)
{
    cudaEvent_t fork = NULL, join = NULL;
    cudaError_t error = cudaEventCreateWithFlags(&fork, cudaEventDisableTiming);
    if (!error)
        error = cudaEventCreateWithFlags(&join, cudaEventDisableTiming);
    if (!error)
        error = cudaEventRecord(fork, stream);
    if (!error)
        error = cudaStreamWaitEvent(scene->other, fork); /* C++ has a default for the flags */
    if (!error)
        error = bgk_scale(scene->y, scene->x, 2, scene->count, scene->other);
    if (!error)
        error = cudaEventRecordWithFlags(join, scene->other);
    scene->at_break(scene->user, stream);
    if (!error)
        error = ::cudaStreamWaitEvent(stream, join, cudaEventWaitDefault);
    if (!error)
        error = bgk_scale(scene->z, scene->y, 3, scene->count, stream);
    if (fork)
        (void)cudaEventDestroy(fork);
    if (join)
        (void)cudaEventDestroy(join);
    return error;
}

cudaError_t hooked_wait_in_cpp(cudaStream_t stream, cudaEvent_t event, int *line)
{
    *line = __LINE__ + 1;
    return cudaStreamWaitEvent(stream, event);
}
