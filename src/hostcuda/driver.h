/* The driver API: the calls that a program fetches by name, or links. Their codes are CUresult's, which agree with
 * cudaError_t wherever both have one, and the runtime's last error never hears of them. */
#ifndef HOSTCUDA_DRIVER_H
#define HOSTCUDA_DRIVER_H

#include "hostcuda/state.h"

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

/* Every function is `error = hc_driver_begin(); if (!error) error = ...; return hc_driver_end(error);`, as in state.h.
 * NotInitialized until cuInit or any call of the runtime. */
cudaError_t hc_driver_begin(void);
/* The same, without the errors of what ran before: for calls that still work then. */
cudaError_t hc_driver_begin_quiet(void);
CUresult hc_driver_end(cudaError_t error);

#endif
