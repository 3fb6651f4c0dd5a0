/* The last changes of the program's memory: ranges that were allocated, freed, mapped or unmapped. */
#ifndef BG_ATTACH_ALLOCATION_CHANGES_H
#define BG_ATTACH_ALLOCATION_CHANGES_H

#include "debug/memory/pointers.h"

/* Returns the number of changes. */
uint64_t bg__changes_count(void);
/* Whether any change after the first `since` ones may have changed an allocation of `set`. */
bool bg__changes_overlap(uint64_t since, const bg__allocations *set);

#endif
