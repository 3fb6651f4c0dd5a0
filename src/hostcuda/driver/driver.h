/* The driver API: the calls that a program fetches by name, or links. They return CUresult, whose codes equal those of
 * cudaError_t where both have one, and never change the runtime's last error. */
#ifndef HOSTCUDA_DRIVER_H
#define HOSTCUDA_DRIVER_H

#include "hostcuda/call/call.h"

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

/* Every function is `error = hc_driver_begin(); if (!error) error = ...; return hc_driver_end(error);`, as in call.h:
 * they stand in the function itself. NotInitialized until cuInit or any call of the runtime. */
#define hc_driver_begin()       (hc_driver_refuses() ? cudaErrorInitializationError : hc_begin())
#define hc_driver_begin_quiet() (hc_driver_refuses() ? cudaErrorInitializationError : hc_begin_quiet())
/* As HC_CALL. */
#define HC_DRIVER_CALL(...)                                                                                            \
    do {                                                                                                               \
        cudaError_t error_ = hc_driver_begin();                                                                        \
        return hc_driver_end(error_ ? error_ : (__VA_ARGS__));                                                         \
    } while (0)
/* True, and with the lock: nothing has started the host device. */
bool hc_driver_refuses(void);
CUresult hc_driver_end(cudaError_t error);

#endif
