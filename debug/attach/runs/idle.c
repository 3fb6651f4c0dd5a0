#include "idle.h"

#include <cudaTypedefs.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "debug/attach/graphs/graph_table.h"

/* Of the thread that waits for the device and the one that waits for that: the last one frees it. */
typedef struct waiting {
    CUcontext context;
    PFN_cuCtxSetCurrent_v4000 set;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ended, left;
    cudaError_t error;
} waiting;

static atomic_int left_behind; /* threads that still wait though nobody waits for them */

static void free_waiting(waiting *w)
{
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

static void *wait_for_device(void *user)
{
    waiting *w = user;
    cudaError_t error;
    bool left;

    bg__graph_table_exclude_thread();
    error = (cudaError_t)w->set(w->context);
    if (error == cudaSuccess)
        error = cudaDeviceSynchronize();
    pthread_mutex_lock(&w->lock);
    w->error = error;
    w->ended = true;
    left = w->left;
    pthread_cond_signal(&w->changed);
    pthread_mutex_unlock(&w->lock);
    if (left) {
        atomic_fetch_sub(&left_behind, 1);
        free_waiting(w);
    }
    return NULL;
}

static bg_status create(waiting **made)
{
    waiting *w = calloc(1, sizeof *w);
    PFN_cuCtxGetCurrent_v4000 get;
    bg_status status;

    *made = NULL;
    if (w == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for waiting for the device");
    BG__TRY(bg__driver_get_entry_point("cuCtxGetCurrent", 4000, (void *)&get));
    BG__TRY(bg__driver_get_entry_point("cuCtxSetCurrent", 4000, (void *)&w->set));
    BG__TRY_DRIVER("cuCtxGetCurrent", get(&w->context));
    if (pthread_mutex_init(&w->lock, NULL) != 0)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for waiting for the device");
    if (pthread_cond_init(&w->changed, NULL) != 0) {
        pthread_mutex_destroy(&w->lock);
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for waiting for the device");
    }
    *made = w;
    w = NULL;
done:
    free(w);
    return status;
}

/* The program's signals are not this thread's, but those of faults are: the host device runs kernels in it. */
static bool start(waiting *w)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
    sigset_t most, before;
    pthread_t thread;
    bool started;

    (void)sigfillset(&most);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        (void)sigdelset(&most, faults[i]);
    pthread_sigmask(SIG_SETMASK, &most, &before);
    started = pthread_create(&thread, NULL, wait_for_device, w) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        (void)pthread_detach(thread);
    return started;
}

/* Whether the device was idle in time; else the thread frees w later. */
static bool wait_for_thread(waiting *w)
{
    struct timespec limit;
    bool ended;

    (void)clock_gettime(CLOCK_MONOTONIC, &limit);
    limit.tv_sec += BG__IDLE_LIMIT;
    pthread_mutex_lock(&w->lock);
    while (!w->ended && pthread_cond_clockwait(&w->changed, &w->lock, CLOCK_MONOTONIC, &limit) != ETIMEDOUT) {
    }
    ended = w->ended;
    w->left = !ended;
    if (!ended)
        atomic_fetch_add(&left_behind, 1);
    pthread_mutex_unlock(&w->lock);
    return ended;
}

bg_status bg__wait_until_idle(bool *idle)
{
    waiting *w = NULL;
    cudaError_t error;
    bg_status status = BG_OK;

    *idle = false;
    if (atomic_load(&left_behind) > 0)
        return BG_OK;
    BG__TRY(create(&w));
    if (!start(w)) {
        free_waiting(w);
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "no thread can be started that waits for the device");
    }
    *idle = wait_for_thread(w);
    if (!*idle)
        return BG_OK;
    error = w->error;
    free_waiting(w);
    BG__TRY_CUDA(error);
done:
    return status;
}
