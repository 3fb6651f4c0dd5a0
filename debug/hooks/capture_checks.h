/* Checks of a new graph: BG_CHECK=recapture and BG_CHECK=poison. */
#ifndef BG_DEBUG_CAPTURE_CHECKS_H
#define BG_DEBUG_CAPTURE_CHECKS_H

#include "capture/inspect.h"

/* Print findings to standard error. A check that fails prints a warning and leaves the graph unchanged. */
void bg__env_check_recapture(bg_forward forward, void *user, cudaStream_t stream, const bg_capture_options *options);
void bg__env_check_poison(bg_graph *graph, cudaStream_t stream);

#endif
