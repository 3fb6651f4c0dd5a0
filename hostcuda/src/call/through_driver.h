/* Runtime calls that are forwarded to their counterpart in libcuda.so.1 (HOSTCUDA_THROUGH_DRIVER). */
#ifndef HOSTCUDA_THROUGH_DRIVER_H
#define HOSTCUDA_THROUGH_DRIVER_H

#include "hostcuda/src/call/driver_library.h"

/* The first statement of a runtime function. If HOSTCUDA_THROUGH_DRIVER asks for it, the statement calls the driver
 * function `entry` of the library with these arguments, and the runtime function returns its result. */
#define HC_THROUGH_DRIVER(entry, ...) HC_THROUGH_DRIVER_IF(true, entry, __VA_ARGS__)
/* The same under a condition. If it is false, the function itself reports what is wrong with its arguments. */
#define HC_THROUGH_DRIVER_IF(condition, entry, ...) HC_THROUGH_DRIVER_THEN(condition, (void)0, entry, __VA_ARGS__)
/* `then` runs if the driver function succeeds. */
#define HC_THROUGH_DRIVER_THEN(condition, then, entry, ...)                                                            \
    do {                                                                                                               \
        struct hc_forward forward_;                                                                                    \
        if (HC_GOES_THROUGH_DRIVER && hc_through_driver_begin(&forward_, __func__, HC_TEXT(entry), condition)) {       \
            CUresult result_ = hc_driver_library.entry(__VA_ARGS__);                                                   \
            if (!result_)                                                                                              \
                then;                                                                                                  \
            return hc_through_driver_end(&forward_, result_);                                                          \
        }                                                                                                              \
    } while (0)
#define HC_GOES_THROUGH_DRIVER __builtin_expect(__atomic_load_n(&hc_through_driver, __ATOMIC_RELAXED) != 0, 0)
#define HC_TEXT(...)           HC_TEXT_OF(__VA_ARGS__)
#define HC_TEXT_OF(...)        #__VA_ARGS__
/* Converts pointers to types that runtime and driver both have, under two names. */
#define HC_SAME_AS(type, p) ((type)(void *)(uintptr_t)(p))
#define HC_ADDRESS(p)       ((CUdeviceptr)(uintptr_t)(p))

/* Returns false if the caller has to do the work itself, as it has to in calls that a driver function makes. */
bool hc_through_driver_begin(struct hc_forward *forward, const char *runtime, const char *entry, bool condition);
/* Ends the call as hc_call_end does. */
cudaError_t hc_through_driver_end(struct hc_forward *forward, CUresult result);

/* Launches a kernel with one thread for another library, inside a call that has begun. Needs the lock, and releases the
 * lock during the launch. */
cudaError_t hc_through_driver_launch(CUfunction function, cudaStream_t stream, void **arguments);

#endif
