/* Threads of the host device's own. */
#ifndef HOSTCUDA_THREAD_H
#define HOSTCUDA_THREAD_H

#include "hostcuda/src/core/core_state.h"

/* Starts zeroed. */
struct hc_own_thread {
    pthread_t thread;
    bool begun, over; /* over: it shall end */
};

/* With the lock. False: there is none, since it is over, or no thread can be had. Signals of the program do not reach
 * it.
 */
bool hc_thread_begin(struct hc_own_thread *own, void *(*run)(void *unused));
/* With the lock, which is released meanwhile. The thread waits on the condition, and returns where it is over. */
void hc_thread_end(struct hc_own_thread *own, pthread_cond_t *condition);

#endif
