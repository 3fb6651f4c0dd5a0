/* Work that goes on where the program does not call: a program may wait, in a loop of its own, for a flag that a host
 * function sets, or poll memory that a kernel writes. A thread looks at times whether the program has called; where it
 * has not for the patience, all runs that can run. */
#ifndef HOSTCUDA_PROGRESS_H
#define HOSTCUDA_PROGRESS_H

#include "hostcuda/src/core/core_state.h"

/* Calls that have begun. */
extern uint64_t hc_calls;

/* At the end of a call: something may be queued. */
void hc_progress_begin(void);

#endif
