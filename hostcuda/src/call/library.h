/* The library that a program has for its driver: with HOSTCUDA_THROUGH_DRIVER, calls of the runtime go through it, as
 * those of NVIDIA's runtime do. It must end here. */
#ifndef HOSTCUDA_LIBRARY_H
#define HOSTCUDA_LIBRARY_H

#include "hostcuda/src/core/core_state.h"

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

/* 0: the runtime's calls do their work themselves. Else they go through the library, or nothing has been read yet. */
extern int hc_through __attribute__((visibility("hidden")));

/* Set once a function of the driver has called one of the runtime, or calls of the runtime go through the library: what
 * all others pass by. */
extern bool hc_driver_used __attribute__((visibility("hidden")));
#define HC_DRIVER_USED __builtin_expect(__atomic_load_n(&hc_driver_used, __ATOMIC_RELAXED), 0)

/* The library's functions, with the names and types of cuda.h. */
struct hc_driver_library {
#define X(name, since) __typeof__(name) *name;
#include "hostcuda/src/core/driver_functions.def"
#undef X
};
extern struct hc_driver_library hc_driver_library;

/* What HOSTCUDA_THROUGH_DRIVER has. False: it is not allowed, and a sentence on stderr says so. */
bool hc_through_read(const char *text);
/* Opens the library at the first call. False: there is none, or it does not end here; a sentence on stderr said so.
 * Without the lock: the library calls back. */
bool hc_library_good(void);

/* ---- a call of the runtime on its way through the library -------------------------------------------------------- */

struct hc_forward {
    const char *entry;   /* the driver's function that it calls */
    const char *runtime; /* its own name; NULL: no call that HOSTCUDA_FAIL counts */
    bool arrived;
    cudaError_t error; /* what the driver's function found, which the runtime may name more closely */
    struct hc_forward *outer;
};

void hc_forward_begin(struct hc_forward *forward, const char *runtime, const char *entry);
/* What the runtime makes of the library's answer. */
cudaError_t hc_forward_end(struct hc_forward *forward, CUresult result);

/* A function of the driver begins: it counts as the call of the runtime that it is for, if any, whose name this gives.
 */
const char *hc_forward_arrive(struct hc_thread *thread, const char *entry);
/* The driver's function ends. */
void hc_forward_leave(struct hc_thread *thread, cudaError_t error);
/* The runtime names some arguments more closely than the driver does. */
CUresult hc_driver_code(cudaError_t error);

#endif
