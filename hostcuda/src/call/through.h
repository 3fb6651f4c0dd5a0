/* The head of a call of the runtime that has its counterpart in the driver. */
#ifndef HOSTCUDA_THROUGH_H
#define HOSTCUDA_THROUGH_H

#include "hostcuda/src/call/library.h"

/* The first statement of a function: where HOSTCUDA_THROUGH_DRIVER asks for it, the function of the driver's library is
 * called with these arguments instead, and its answer returned. */
#define HC_THROUGH(entry, ...) HC_THROUGH_IF(true, entry, __VA_ARGS__)
/* Where the condition does not hold, the function itself says what is wrong with its arguments. */
#define HC_THROUGH_IF(condition, entry, ...) HC_THROUGH_THEN(condition, (void)0, entry, __VA_ARGS__)
/* `then` is done where the driver's function succeeds. */
#define HC_THROUGH_THEN(condition, then, entry, ...)                                                                   \
    do {                                                                                                               \
        struct hc_forward forward_;                                                                                    \
        if (HC_GOES_THROUGH && hc_through_begin(&forward_, __func__, HC_TEXT(entry), condition)) {                     \
            CUresult result_ = hc_driver_library.entry(__VA_ARGS__);                                                   \
            if (!result_)                                                                                              \
                then;                                                                                                  \
            return hc_through_end(&forward_, result_);                                                                 \
        }                                                                                                              \
    } while (0)
#define HC_GOES_THROUGH __builtin_expect(__atomic_load_n(&hc_through, __ATOMIC_RELAXED) != 0, 0)
#define HC_TEXT(...)    HC_TEXT_OF(__VA_ARGS__)
#define HC_TEXT_OF(...) #__VA_ARGS__
/* Pointers to what both have alike under two names. */
#define HC_SAME_AS(type, p) ((type)(void *)(uintptr_t)(p))
#define HC_ADDRESS(p)       ((CUdeviceptr)(uintptr_t)(p))

/* False: the caller is to do the work itself. A call of the driver that leads here does. */
bool hc_through_begin(struct hc_forward *forward, const char *runtime, const char *entry, bool condition);
/* Ends the call as hc_end does. */
cudaError_t hc_through_end(struct hc_forward *forward, CUresult result);

/* A launch of one thread by another library, inside a call of its own that has begun: with the lock, but meanwhile. */
cudaError_t hc_through_launch(CUfunction function, cudaStream_t stream, void **arguments);

#endif
