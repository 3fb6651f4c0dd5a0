/* How every API call begins and ends. */
#ifndef HOSTCUDA_CALL_H
#define HOSTCUDA_CALL_H

#include "hostcuda/src/core/core_state.h"

/* Every API function is `error = hc_call_begin(); if (!error) error = ...; return hc_call_end(error);`. hc_call_begin
 * takes the lock, even if it returns an error. hc_call_end releases the lock and keeps the error as the thread's last
 * error, unless the error is NotReady. Call both in the API function itself, since HOSTCUDA_FAIL uses that function's
 * name; a function that begins calls for several others uses hc_call_begin_as. */
#define hc_call_begin() hc_call_begin_as(__func__)
cudaError_t hc_call_begin_as(const char *name);
cudaError_t hc_call_end(cudaError_t error);
/* The body of a function that evaluates one expression, which gives its error. */
#define HC_CALL(...)                                                                                                   \
    do {                                                                                                               \
        cudaError_t error_ = hc_call_begin();                                                                          \
        return hc_call_end(error_ ? error_ : (__VA_ARGS__));                                                           \
    } while (0)
/* The same with a check first: the expression is evaluated only if the check gives no error. */
#define HC_CHECKED_CALL(check, ...)                                                                                    \
    do {                                                                                                               \
        cudaError_t error_ = hc_call_begin();                                                                          \
        if (!error_)                                                                                                   \
            error_ = (check);                                                                                          \
        return hc_call_end(error_ ? error_ : (__VA_ARGS__));                                                           \
    } while (0)
/* The driver's version: 13.0, since the host device follows the rules of CUDA 13.0, or the version of a newer toolkit
 * that the host device is built with. */
#define HC_DRIVER_VERSION (CUDART_VERSION > 13000 ? CUDART_VERSION : 13000)

/* As hc_call_begin, but ignores errors of earlier work: for calls that work even after such errors. */
#define hc_call_begin_despite_errors() hc_call_begin_despite_errors_as(__func__)
cudaError_t hc_call_begin_despite_errors_as(const char *name);
/* As hc_call_begin, for the few calls that are also allowed in host functions (measured). */
#define hc_call_begin_in_host_function() hc_call_begin_in_host_function_as(__func__, false)
cudaError_t hc_call_begin_in_host_function_as(const char *name, bool quiet);
/* As hc_call_begin, for functions of the driver, which end with hc_driver_end. */
cudaError_t hc_call_begin_driver_as(const char *name, bool quiet);
/* As hc_call_begin, for functions that are no CUDA calls of the program, or cannot fail. */
cudaError_t hc_call_begin_uncounted(void);

#endif
