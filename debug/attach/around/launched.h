/* The work that a driver call launches outside of graphs, and the memory that this work uses. */
#ifndef BG_ATTACH_LAUNCHED_H
#define BG_ATTACH_LAUNCHED_H

#include <stdint.h>

#include "debug/attach/shim/shim.h"
#include "signature.h"

typedef struct bg__launched_use {
    uintptr_t begin, end; /* for a kernel's pointer, the byte that it points to */
    bg__touch use;
} bg__launched_use;

enum { BG__LAUNCHED_USES = 64 }; /* the most uses of a kernel that are recorded */

/* Order that comes from the work itself, and not from streams and events. */
typedef struct bg__unseen {
    bool waits;      /* for memory that any other work may write */
    bool waits_host; /* for the host, and so for work that is launched later */
    bool tells_host; /* the host may learn that the work has run */
} bg__unseen;

void bg__unseen_add(bg__unseen *unseen, bg__unseen other);
/* The program's host functions; memory operations and semaphores; kernels that may wait. */
extern const bg__unseen bg__unseen_host_code, bg__unseen_memory, bg__unseen_kernel;

typedef struct bg__launched {
    const char *name; /* "scale", "memcpy"; lives until the process ends */
    bg__launched_use uses[BG__LAUNCHED_USES];
    int count;
    uint64_t threads; /* of a kernel; 0: not a kernel */
    bool host_waits;  /* the call waits, or may wait, for the work */
    bg__unseen unseen;
} bg__launched;

/* Reads a driver call that has succeeded. name: the driver's function. A kernel that cannot be read gets no uses. */
void bg__launched_read(bg__launched *launched, const bg__driver_call *call, const char *name);
/* Forgets all kernels, since their handles may be reused. */
void bg__launched_forget(void);
/* Returns a copy of text, one for equal texts, that lives until the process ends. NULL: out of host memory. */
const char *bg__launched_keep(const char *text);

#endif
