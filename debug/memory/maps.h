/* The mappings of this process, from /proc/self/maps. */
#ifndef BG_DEBUG_MAPS_H
#define BG_DEBUG_MAPS_H

#include "base/base.h"

typedef struct bg__mapping {
    uintptr_t low, high;
    bool readable, writable;
    bool stack;     /* it is a thread's stack */
    uintptr_t top;  /* stack pointer of the stopped thread that owns this stack; 0: unknown, or the thread is running */
    char name[256]; /* "[heap]", a file's path; "" for anonymous memory */
} bg__mapping;

typedef struct bg__maps {
    bg__mapping *list; /* in order of addresses */
    size_t count, capacity;
    uintptr_t frame;
    uintptr_t own_stack, own_stack_end; /* stack of the calling thread */
} bg__maps;

/* Reads the mappings. frame: an address in the current stack. If the current stack is the calling thread's own stack,
 * the functions with frames below `frame` have returned. Call bg__maps_free also after a failure. Errors: IO,
 * OUT_OF_MEMORY. */
bg_status bg__maps_read(bg__maps *maps, const void *frame);
void bg__maps_free(bg__maps *maps);
/* The mapping that contains `address`; NULL: none. */
bg__mapping *bg__maps_find(const bg__maps *maps, uintptr_t address);
/* Whether `address` is in the stack of a thread, in the frame of a function that has returned. */
bool bg__maps_is_dead_frame(const bg__maps *maps, uintptr_t address);

#endif
