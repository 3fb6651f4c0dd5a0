/* Ranges of memory that calls access, searched by address. */
#ifndef BG_DEBUG_ACCESSES_H
#define BG_DEBUG_ACCESSES_H

#include "base/base.h"

typedef struct bg__access {
    size_t call; /* index of the call in the caller's list */
    int tensor;  /* index of the tensor in the call */
    bool write;
    uintptr_t begin, end;
} bg__access;

/* Add all accesses before the sort. After the sort, each access can be put in and taken out. Starts zeroed. */
typedef struct bg__accesses {
    bg__access *list;
    size_t count, capacity;
    size_t *by_begin;  /* indices in list */
    size_t *leaf;      /* the place of each access in by_begin */
    size_t leaves;     /* a power of two */
    uintptr_t *latest; /* binary tree over by_begin, with its root at 1; each node has the greatest end of the accesses
                        * below it that are in; 0: none is in */
} bg__accesses;

bg_status bg__accesses_add(bg__accesses *accesses, const bg__access *access);
/* Sorts the accesses. Call it once, after the last add. After the sort no access is in. */
bg_status bg__accesses_sort(bg__accesses *accesses);
void bg__accesses_insert(bg__accesses *accesses, size_t index);
void bg__accesses_remove(bg__accesses *accesses, size_t index);
/* Writes to `found` the indices of the accesses that are in and overlap the range, in the order of the list. `found`
 * has room for all accesses. Returns their number. */
size_t bg__accesses_find(const bg__accesses *accesses, uintptr_t begin, uintptr_t end, size_t *found);
void bg__accesses_free(bg__accesses *accesses);

#endif
