/* Fenced memory: device work that touches what it may not fails, with a sentence; host code gets its signal. */
#ifndef HOSTCUDA_FENCE_H
#define HOSTCUDA_FENCE_H

#include "hostcuda/src/core/core_state.h"

/* Runs device work with device memory open to it. IllegalAddress: it touched what it may not; a sentence says what. The
 * name stands for the work in sentences; it must last until the work is over. */
cudaError_t hc_fence_run(cudaError_t (*work)(const void *data), const void *data, const char *name);
/* Inside that work, before a library touches these bytes on threads of its own: false, with a sentence, when it may
 * not. */
bool hc_fence_allows(const void *address, size_t bytes);
/* The handler of faults, if it is not there: the program may have set one of its own. */
void hc_fence_install(void);

#endif
