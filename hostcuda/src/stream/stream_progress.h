/* Runs work while the program makes no calls. A program may wait, in a loop of its own, for a flag that a host function
 * sets, or poll memory that a kernel writes. A thread checks now and then whether the program has made calls. If it has
 * made none for the timeout (hc_progress_timeout), the thread runs everything that can run. */
#ifndef HOSTCUDA_PROGRESS_H
#define HOSTCUDA_PROGRESS_H

#include "hostcuda/src/core/core_state.h"

/* Number of calls that have begun. */
extern uint64_t hc_call_count;

/* Called at the end of a call, when something may be queued. */
void hc_progress_start_if_queued(void);

#endif
