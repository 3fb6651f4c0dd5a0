/* How every call begins and ends. */
#ifndef HOSTCUDA_CALL_H
#define HOSTCUDA_CALL_H

#include "hostcuda/src/core/core_state.h"

/* Every function of the API is `error = hc_begin(); if (!error) error = ...; return hc_end(error);`. hc_begin takes the
 * lock, whatever it returns; hc_end releases it and keeps an error, but for NotReady, as the thread's last one. They
 * stand in the function itself, whose name is what HOSTCUDA_FAIL knows; a function that begins for several uses
 * hc_begin_as. */
#define hc_begin() hc_begin_as(__func__)
cudaError_t hc_begin_as(const char *name);
cudaError_t hc_end(cudaError_t error);
/* The whole body of a function whose work is one expression, which gives its error. */
#define HC_CALL(...)                                                                                                   \
    do {                                                                                                               \
        cudaError_t error_ = hc_begin();                                                                               \
        return hc_end(error_ ? error_ : (__VA_ARGS__));                                                                \
    } while (0)
/* The same with a check before: the work is done where the check gives no error. */
#define HC_CHECKED_CALL(check, ...)                                                                                    \
    do {                                                                                                               \
        cudaError_t error_ = hc_begin();                                                                               \
        if (!error_)                                                                                                   \
            error_ = (check);                                                                                          \
        return hc_end(error_ ? error_ : (__VA_ARGS__));                                                                \
    } while (0)
/* The driver's version: that of CUDA 13.0, whose rules these are, or of a newer toolkit that this is built with. */
#define HC_DRIVER_VERSION (CUDART_VERSION > 13000 ? CUDART_VERSION : 13000)

/* As hc_begin, without the errors of what ran before: for calls that still work then. */
#define hc_begin_quiet() hc_begin_quiet_as(__func__)
cudaError_t hc_begin_quiet_as(const char *name);
/* As hc_begin, for the few calls that a host function may make, too (measured). */
#define hc_begin_permitted() hc_begin_permitted_as(__func__, false)
cudaError_t hc_begin_permitted_as(const char *name, bool quiet);
/* The same for a function of the driver; hc_driver_end is its end. */
cudaError_t hc_begin_driver_as(const char *name, bool quiet);
/* The same for what is no call of the program's to CUDA, or cannot fail. */
cudaError_t hc_begin_unnamed(void);

#endif
