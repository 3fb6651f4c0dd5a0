/* The driver API: functions that a program looks up by name, or links. They return CUresult, whose codes equal those of
 * cudaError_t where both have one, and never change the runtime's last error. */
#ifndef HOSTCUDA_DRIVER_H
#define HOSTCUDA_DRIVER_H

#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

/* Every driver function is `error = hc_driver_begin(); if (!error) error = ...; return hc_driver_end(error);`. As in
 * call_entry.h, both must be called in the driver function itself. The function returns NotInitialized until cuInit or
 * any runtime call. */
#define hc_driver_begin()                                                                                              \
    (hc_driver_lock_if_uninitialized() ? cudaErrorInitializationError : hc_call_begin_driver_as(__func__, false))
#define hc_driver_begin_quiet()                                                                                        \
    (hc_driver_lock_if_uninitialized() ? cudaErrorInitializationError : hc_call_begin_driver_as(__func__, true))
/* The same as HC_CALL. */
#define HC_DRIVER_CALL(...)                                                                                            \
    do {                                                                                                               \
        cudaError_t error_ = hc_driver_begin();                                                                        \
        return hc_driver_end(error_ ? error_ : (__VA_ARGS__));                                                         \
    } while (0)
/* The body of a driver function that calls a runtime function. The runtime call begins and ends as the driver
 * function. */
#define HC_DRIVER_AS(...)                                                                                              \
    do {                                                                                                               \
        if (!hc_driver_enter_runtime(__func__))                                                                        \
            return CUDA_ERROR_NOT_INITIALIZED;                                                                         \
        return hc_driver_leave_runtime(__VA_ARGS__);                                                                   \
    } while (0)
bool hc_driver_enter_runtime(const char *name);
CUresult hc_driver_leave_runtime(cudaError_t error);
bool hc_driver_lacks_context(void);
/* Defines a driver function with the body HC_DRIVER_AS. */
#define HC_ENTRY(entry, params, ...)                                                                                   \
    CUresult entry params                                                                                              \
    {                                                                                                                  \
        HC_DRIVER_AS(__VA_ARGS__);                                                                                     \
    }
/* Defines a driver function that needs a current context, and has no stream parameter that could provide one. */
#define HC_CONTEXT_ENTRY(entry, params, ...)                                                                           \
    CUresult entry params                                                                                              \
    {                                                                                                                  \
        if (hc_driver_lacks_context())                                                                                 \
            return CUDA_ERROR_INVALID_CONTEXT;                                                                         \
        HC_DRIVER_AS(__VA_ARGS__);                                                                                     \
    }
/* Defines the per-thread variant of a function with a parameter hStream: NULL means the thread's own default stream.
 * driver_per_thread.def lists it, too. */
#define HC_PER_THREAD(entry, params, ...) HC_PER_THREAD_NAMED(entry, params, __VA_ARGS__)
#define HC_PER_THREAD_NAMED(entry, params, ...)                                                                        \
    CUresult entry##_ptsz params;                                                                                      \
    CUresult entry##_ptsz params                                                                                       \
    {                                                                                                                  \
        hStream = hStream ? hStream : CU_STREAM_PER_THREAD;                                                            \
        return entry(__VA_ARGS__);                                                                                     \
    }
/* Returns true, with the lock held, if the host device has not been initialized. */
bool hc_driver_lock_if_uninitialized(void);
CUresult hc_driver_end(cudaError_t error);

#endif
