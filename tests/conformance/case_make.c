#include "case.h"

#include <semaphore.h>
#include <string.h>
#include <time.h>

static cudaError_t make_other(struct scene *s)
{
    cudaError_t error = cudaStreamBeginCapture(s->c, cudaStreamCaptureModeRelaxed);
    if (!error)
        error = kernel(s, s->c);
    return error ? error : cudaStreamEndCapture(s->c, &s->other);
}

static cudaError_t make_exec(struct scene *s)
{
    cudaError_t error = s->other ? cudaSuccess : make_other(s);
    return error ? error : cudaGraphInstantiate(&s->exec, s->other, 0);
}

static cudaError_t make_event(struct scene *s)
{
    cudaError_t error = cudaEventCreateWithFlags(&s->event, cudaEventDisableTiming);
    if (!error)
        error = cudaEventRecord(s->event, s->b);
    return error ? error : cudaStreamSynchronize(s->b);
}

const struct case_call case_make_exec = {make_exec, "/* exec is an executable graph of one kernel, made from other */"};
const struct case_call case_make_other = {make_other, "/* other is a graph of one kernel */"};
const struct case_call case_make_event = {make_event, "/* event was recorded on b, and is complete */"};

/* ---- graphs that may be gone --------------------------------------------------------------------------------------
 */

enum { DESTROY_SECONDS_MAX = 2 };

static sem_t held_is_destroyed;

static void tell_destroyed(void *user)
{
    sem_post(user);
}

cudaError_t case_hold(cudaGraph_t graph)
{
    cudaUserObject_t object = NULL;
    if (sem_init(&held_is_destroyed, 0, 0) != 0)
        return cudaErrorUnknown;
    cudaError_t error =
        cudaUserObjectCreate(&object, &held_is_destroyed, tell_destroyed, 1, cudaUserObjectNoDestructorSync);
    if (error)
        return error;
    error = cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove);
    if (error)
        cudaUserObjectRelease(object, 1);
    return error;
}

/* The host device destroys in the call that lets go. */
bool case_held_is_destroyed(void)
{
    struct timespec until;
    if (strcmp(BG_DEVICE_KIND, "host") == 0)
        return sem_trywait(&held_is_destroyed) == 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += DESTROY_SECONDS_MAX;
    return sem_timedwait(&held_is_destroyed, &until) == 0;
}
