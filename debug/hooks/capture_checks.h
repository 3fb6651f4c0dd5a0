/* BG_CHECK=recapture and BG_CHECK=poison. */
#ifndef BG_DEBUG_CAPTURE_CHECKS_H
#define BG_DEBUG_CAPTURE_CHECKS_H

#include "capture/inspect.h"

/* Findings go to standard error, as text. A check that fails leaves a warning, and the graph as it was. */
void bg__env_check_recapture(bg_forward forward, void *user, cudaStream_t stream, const bg_capture_options *options);
void bg__env_check_poison(bg_graph *graph, cudaStream_t stream);

#endif
