/* Where the program's memory has changed: what was allocated, freed, mapped or unmapped since a graph was last looked
 * at.
 */
#ifndef BG_ATTACH_CHANGES_H
#define BG_ATTACH_CHANGES_H

#include "debug/memory/pointers.h"

/* The bytes from base on mean something else now; bytes 0: nobody knows which, all may. */
void bg__change_note(uintptr_t base, size_t bytes);
/* How many changes there were. */
uint64_t bg__changes(void);
/* Whether one of those after the first `since` may have changed an allocation of the set. */
bool bg__changes_meet(uint64_t since, const bg__allocations *set);

#endif
