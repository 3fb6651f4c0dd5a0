/* Ranges of memory that calls access, searched by address. */
#ifndef BG_DEBUG_ACCESSES_H
#define BG_DEBUG_ACCESSES_H

#include "base/base.h"

typedef struct bg__access {
    size_t call; /* in the caller's list */
    int tensor;  /* of the call */
    bool write;
    uintptr_t begin, end;
} bg__access;

/* All accesses are added before the sort; after it, each can be put in and taken out. Starts zeroed. */
typedef struct bg__accesses {
    bg__access *list;
    size_t count, capacity;
    size_t *by_begin;  /* indices in list */
    size_t *leaf;      /* the place of each access in by_begin */
    size_t leaves;     /* a power of two */
    uintptr_t *latest; /* binary tree over by_begin, root at 1: the last end of the accesses in it; 0: none */
} bg__accesses;

bg_status bg__accesses_add(bg__accesses *accesses, const bg__access *access);
/* Called once, after the last add; no access is in yet. */
bg_status bg__accesses_sort(bg__accesses *accesses);
void bg__accesses_insert(bg__accesses *accesses, size_t index);
void bg__accesses_remove(bg__accesses *accesses, size_t index);
/* Writes to `found` the indices of the accesses that are in and overlap the range, in the order of the list. `found`
 * has room for all accesses. Returns their number. */
size_t bg__accesses_find(const bg__accesses *accesses, uintptr_t begin, uintptr_t end, size_t *found);
void bg__accesses_free(bg__accesses *accesses);

#endif
