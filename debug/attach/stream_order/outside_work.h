/* The work that a driver call launches outside of graphs, and the memory that this work uses. */
#ifndef BG_ATTACH_OUTSIDE_WORK_H
#define BG_ATTACH_OUTSIDE_WORK_H

#include <stdint.h>

#include "debug/attach/shim/shim.h"
#include "signature.h"

typedef struct bg__outside_use {
    uintptr_t begin, end; /* for a kernel's pointer, the byte that it points to */
    bg__access_kind use;
} bg__outside_use;

enum { BG__OUTSIDE_USES_MAX = 64 }; /* the most uses of a kernel that are recorded */

/* Order that comes from the work itself, and not from streams and events. */
typedef struct bg__implicit_order {
    bool waits;        /* for memory that any other work may write */
    bool waits_host;   /* for the host, and so for work that is launched later */
    bool signals_host; /* the host may learn that the work has run */
} bg__implicit_order;

void bg__implicit_order_add(bg__implicit_order *implicit_order, bg__implicit_order other);
/* The program's host functions; memory operations and semaphores; kernels that may wait. */
extern const bg__implicit_order bg__implicit_order_host_code, bg__implicit_order_memory, bg__implicit_order_kernel;

typedef struct bg__outside_work {
    const char *name; /* "scale", "memcpy"; lives until the process ends */
    bg__outside_use uses[BG__OUTSIDE_USES_MAX];
    int count;
    uint64_t threads; /* of a kernel; 0: not a kernel */
    bool host_waits;  /* the call waits, or may wait, for the work */
    bg__implicit_order implicit_order;
} bg__outside_work;

/* Reads a driver call that has succeeded. name: the driver's function. A kernel that cannot be read gets no uses. */
void bg__outside_work_read(bg__outside_work *launched, const bg__driver_call *call, const char *name);
/* Forgets all kernels, since their handles may be reused. */
void bg__outside_work_forget_kernels(void);
/* Returns a copy of text, one for equal texts, that lives until the process ends. NULL: out of host memory. */
const char *bg__intern_text(const char *text);

#endif
