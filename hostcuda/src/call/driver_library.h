/* Opens and calls the program's libcuda.so.1. With HOSTCUDA_THROUGH_DRIVER, runtime calls go through this library, as
 * calls of NVIDIA's runtime do. The library's own calls must arrive at this host device. */
#ifndef HOSTCUDA_DRIVER_LIBRARY_H
#define HOSTCUDA_DRIVER_LIBRARY_H

#include "hostcuda/src/core/core_state.h"

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

/* 0: runtime calls do their work themselves. 1: they go through the library. -1: the environment has not been read. */
extern int hc_through_driver __attribute__((visibility("hidden")));

/* Set once a driver function has called a runtime function, or if runtime calls go through the library. Until it is
 * set, calls skip the checks for both. */
extern bool hc_driver_used __attribute__((visibility("hidden")));
#define HC_DRIVER_USED __builtin_expect(__atomic_load_n(&hc_driver_used, __ATOMIC_RELAXED), 0)

/* Functions of the library, with the names and types of cuda.h. */
struct hc_driver_library {
#define X(name, since) __typeof__(name) *name;
#include "hostcuda/src/core/driver_functions.def"
#undef X
};
extern struct hc_driver_library hc_driver_library;

/* Reads the value of HOSTCUDA_THROUGH_DRIVER. Returns false, with a message on stderr, if it is not allowed. */
bool hc_through_driver_read(const char *text);
/* The first call opens the library. Returns false, with a message on stderr, if the library is missing or does not call
 * this host device. Call this function without the lock, since the library calls back. */
bool hc_driver_library_open(void);

/* ---- runtime calls that are forwarded to the library ------------------------------------------------------------- */

struct hc_forward {
    const char *entry;   /* the driver function that is called */
    const char *runtime; /* the runtime function; NULL: HOSTCUDA_FAIL does not count the call */
    bool arrived;
    cudaError_t error; /* the driver function's error; as a runtime error it may be more specific */
    struct hc_forward *outer;
};

void hc_forward_begin(struct hc_forward *forward, const char *runtime, const char *entry);
/* Returns the runtime's error for the library's result. */
cudaError_t hc_forward_end(struct hc_forward *forward, CUresult result);

/* Called when a driver function begins. Returns the name under which the call is counted: the name of the runtime call
 * that was forwarded to this function, or `entry` if none was. */
const char *hc_forward_enter_driver(struct hc_thread *thread, const char *entry);
/* Called when the driver function ends. */
void hc_forward_leave_driver(struct hc_thread *thread, cudaError_t error);
/* Returns the driver's code for a runtime error. The runtime has more specific errors for some arguments. */
CUresult hc_driver_error_of(cudaError_t error);

#endif
