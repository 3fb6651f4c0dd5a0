#include "hostcuda/src/stream/stream_thread.h"

#include <signal.h>

bool hc_own_thread_start(struct hc_own_thread *own, void *(*run)(void *unused))
{
    sigset_t all, before;
    if (own->begun || own->over)
        return own->begun && !own->over;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV); /* fences and kernels raise SIGSEGV and SIGFPE themselves */
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    if (pthread_sigmask(SIG_BLOCK, &all, &before) != 0)
        return false;
    own->begun = pthread_create(&own->thread, NULL, run, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL); /* restores the caller's mask */
    return own->begun;
}

void hc_own_thread_stop(struct hc_own_thread *own, pthread_cond_t *condition)
{
    bool begun = own->begun;
    own->over = true;
    own->begun = false;
    if (!begun)
        return;
    (void)pthread_cond_broadcast(condition);
    hc_unlock();
    (void)pthread_join(own->thread, NULL);
    hc_lock();
}
