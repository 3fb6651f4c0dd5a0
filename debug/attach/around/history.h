/* Who used the memory of graphs last, and uses of it that nothing orders ("unordered"). Callers hold the lock of
 * around.c. */
#ifndef BG_ATTACH_HISTORY_H
#define BG_ATTACH_HISTORY_H

#include "clocks.h"
#include "debug/attach/stacks/stacks.h"
#include "signature.h"

/* Who uses memory. Names live until the process ends. */
typedef struct bg__user {
    const char *name;  /* "scale#0" of a graph, "scale", "memcpy" */
    const char *graph; /* NULL: it is in none */
    bg_site site;      /* of its launch; in a graph, of the one that was captured */
    CUstream stream;
    bg__moment work;
} bg__user;

/* Uses of [begin, end) by graphs are kept from now on. false: out of host memory, or there are too many. */
bool bg__history_add(uintptr_t begin, uintptr_t end);
/* Whether any is kept of these bytes. */
bool bg__history_has(uintptr_t begin, uintptr_t end);
/* A use of these bytes, by work that the program launches now: compares it with those before, and keeps it. */
void bg__history_use(uintptr_t begin, uintptr_t end, bg__touch use, const bg__user *user);
/* The bytes are other memory now. */
void bg__history_forget(uintptr_t begin, uintptr_t end);

#endif
