/* The process's own memory, as /proc/self/maps tells it. */
#ifndef BG_DEBUG_MAPS_H
#define BG_DEBUG_MAPS_H

#include "base/base.h"

typedef struct bg__mapping {
    uintptr_t low, high;
    bool readable, writable;
    bool stack;     /* of a thread: the calling one, the main one, or another */
    char name[256]; /* "[heap]", a file's path; "" for anonymous memory */
} bg__mapping;

typedef struct bg__maps {
    bg__mapping *list; /* in order of addresses */
    size_t count, capacity;
    uintptr_t frame;
    uintptr_t own_stack, own_stack_end; /* the calling thread's */
} bg__maps;

/* frame: of the calling thread; functions below it have returned. Starts zeroed; free it, also where this failed.
 * Errors: IO, OUT_OF_MEMORY. */
bg_status bg__maps_take(bg__maps *maps, const void *frame);
void bg__maps_free(bg__maps *maps);
/* NULL: address is not mapped. */
const bg__mapping *bg__maps_find(const bg__maps *maps, uintptr_t address);
/* Whether it lies in the calling thread's stack, in the frame of a function that has returned. */
bool bg__maps_is_gone(const bg__maps *maps, uintptr_t address);

#endif
