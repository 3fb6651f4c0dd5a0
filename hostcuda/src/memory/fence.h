/* Fenced memory: device work that accesses memory it may not use fails with a message; in host code, the signal goes to
 * the program. */
#ifndef HOSTCUDA_FENCE_H
#define HOSTCUDA_FENCE_H

#include "hostcuda/src/core/core_state.h"

/* Runs device work, to which device memory is open. IllegalAddress: it accessed memory that it may not use; a message
 * says which. The name of the work, for messages, must stay valid during the work. */
cudaError_t hc_fence_run(cudaError_t (*work)(const void *data), const void *data, const char *name);
/* Call it in device work before a library accesses these bytes on threads of its own. Returns false, with a message, if
 * the work may not access them. */
bool hc_fence_allows(const void *address, size_t bytes);
/* Installs the signal handler again if the program has replaced it. */
void hc_fence_install_handler(void);

#endif
