/* Capture by hand with instantiation in other threads: what the driver's locks leave to be won, in the least code. The
 * threads never sleep, since waking one would be timed with the rest. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "work.h"

enum { THREADS_MAX = 8 };

typedef struct crew {
    by_hand *hand;
    _Atomic int captured, taken;
    _Atomic int error; /* the first cudaError_t */
} crew;

static void fail(crew *c, cudaError_t error)
{
    int none = cudaSuccess;
    if (error != cudaSuccess)
        (void)atomic_compare_exchange_strong(&c->error, &none, (int)error);
}

static void *instantiate(void *user)
{
    enum cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
    crew *c = user;
    int segment;

    fail(c, cudaThreadExchangeStreamCaptureMode(&mode));
    while ((segment = atomic_fetch_add(&c->taken, 1)) < c->hand->count) {
        while (atomic_load(&c->captured) <= segment && atomic_load(&c->error) == cudaSuccess)
            (void)sched_yield();
        if (atomic_load(&c->error) != cudaSuccess)
            break;
        fail(c, cudaGraphInstantiate(&c->hand->execs[segment], c->hand->graphs[segment],
                                     cudaGraphInstantiateFlagAutoFreeOnLaunch));
    }
    return NULL;
}

bg_status by_hand_open_in_threads(by_hand *hand, const work *w, int threads)
{
    pthread_t started[THREADS_MAX];
    crew c = {.hand = hand};
    int count = 0;
    bg_status status;

    BG__TRY(by_hand_reserve(hand, w));
    for (; count < threads && count < THREADS_MAX; count++) {
        if (pthread_create(&started[count], NULL, instantiate, &c) != 0)
            BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "thread %d could not be started", count);
    }
    for (int segment = 0; segment < hand->count; segment++) {
        BG__TRY(by_hand_capture(hand, w, segment, false));
        atomic_store(&c.captured, segment + 1);
    }
done:
    if (status != BG_OK)
        fail(&c, cudaErrorUnknown);
    for (int i = 0; i < count; i++)
        (void)pthread_join(started[i], NULL);
    if (status == BG_OK && atomic_load(&c.error) != cudaSuccess)
        status = bg__fail_cuda((cudaError_t)atomic_load(&c.error), "cudaGraphInstantiate");
    return status;
}
