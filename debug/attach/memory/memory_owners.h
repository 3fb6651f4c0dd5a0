/* Which of its allocations an address of the program is in, in words that hold in another run, too. */
#ifndef BG_ATTACH_OWNERS_H
#define BG_ATTACH_OWNERS_H

#include "debug/attach/stacks/stacks.h"

/* Memory that a call of the driver gave to the program; or an event. */
typedef struct bg__made_memory {
    uintptr_t base;
    size_t bytes;
    const bg__stack *made; /* NULL: unknown */
    unsigned long thread;  /* that has made it: bg__owners_thread */
    unsigned long ordinal; /* among what that stack has made in that thread, from 0 */
    bool event;            /* it is no memory, but an event, of one byte */
} bg__made_memory;

/* A number of the calling thread: how many asked for theirs before it. */
unsigned long bg__owners_thread(void);
/* From now on allocations are noted; before that the functions below do nothing. */
void bg__owners_begin(void);
/* On the thread that has made the call. What overlaps it is gone. */
void bg__owners_add(uintptr_t base, size_t bytes);
/* The same for an event. */
void bg__owners_add_event(uintptr_t event);
/* What begins there is about to be freed. */
void bg__owners_remove(uintptr_t base);
/* false: no allocation that was seen has the address. */
bool bg__owners_find(uintptr_t address, bg__made_memory *owner);

#endif
