/* Internal threads of the host device. */
#ifndef HOSTCUDA_THREAD_H
#define HOSTCUDA_THREAD_H

#include "hostcuda/src/core/core_state.h"

/* Must be zeroed. */
struct hc_own_thread {
    pthread_t thread;
    bool begun, over; /* over: it has to end */
};

/* Starts the thread. Needs the lock. Returns false if the thread is over, or cannot be created. The program's signals
 * do not reach the thread. */
bool hc_own_thread_start(struct hc_own_thread *own, void *(*run)(void *unused));
/* Sets `over`, signals the condition and joins the thread, whose `run` waits on the condition and returns once `over`
 * is set. Needs the lock, which is released during the join. */
void hc_own_thread_stop(struct hc_own_thread *own, pthread_cond_t *condition);

#endif
