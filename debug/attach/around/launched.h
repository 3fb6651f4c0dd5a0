/* What the program's calls of the driver launch outside of graphs, and the memory that it uses. */
#ifndef BG_ATTACH_LAUNCHED_H
#define BG_ATTACH_LAUNCHED_H

#include <stdint.h>

#include "debug/attach/shim/shim.h"
#include "signature.h"

typedef struct bg__launched_use {
    uintptr_t begin, end; /* of a pointer among a kernel's parameters, the byte that it points to */
    bg__touch use;
} bg__launched_use;

enum { BG__LAUNCHED_USES = 64 }; /* of a kernel: those are looked at */

/* Order that no stream or event shows. */
typedef struct bg__unseen {
    bool waits;      /* for what anybody may write into memory */
    bool waits_host; /* for what is launched later, too */
    bool tells_host; /* that it has run */
} bg__unseen;

void bg__unseen_add(bg__unseen *unseen, bg__unseen other);
/* Code of the program that runs on the host, a memory operation or a semaphore, a kernel that waits. */
extern const bg__unseen bg__unseen_host_code, bg__unseen_memory, bg__unseen_kernel;

typedef struct bg__launched {
    const char *name; /* "scale", "memcpy"; lives until the process ends */
    bg__launched_use uses[BG__LAUNCHED_USES];
    int count;
    uint64_t threads; /* of a kernel; 0: it is none */
    bool host_waits;  /* the call waits for it, or may */
    bg__unseen unseen;
} bg__launched;

/* name: of the driver's function, which has succeeded. Of a kernel that cannot be read, nothing is known. */
void bg__launched_read(bg__launched *launched, const bg__driver_call *call, const char *name);
/* Handles of kernels that are known may be those of others. */
void bg__launched_forget(void);
/* The same text, which lives until the process ends. NULL: out of host memory. */
const char *bg__launched_keep(const char *text);

#endif
