/* Finds the allocation that contains an address. Its stack, thread and ordinal identify it: they are the same in
 * another run. */
#ifndef BG_ATTACH_OWNERS_H
#define BG_ATTACH_OWNERS_H

#include "debug/attach/stacks/stacks.h"

/* Memory that a driver call has allocated for the program, or an event. */
typedef struct bg__memory_owner {
    uintptr_t base;
    size_t bytes;
    const bg__stack *made; /* NULL: unknown */
    unsigned long thread;  /* the thread that has made it (bg__owners_thread_number) */
    unsigned long ordinal; /* among the allocations of that stack in that thread, from 0 */
    bool event;            /* it is an event, of one byte */
} bg__memory_owner;

/* Returns the number of the calling thread: threads are numbered in the order of their first call. */
unsigned long bg__owners_thread_number(void);
/* Begins to record; before that bg__owners_find finds nothing. */
void bg__owners_enable(void);
/* Returns false if no recorded allocation has the address. */
bool bg__owners_find(uintptr_t address, bg__memory_owner *owner);

#endif
