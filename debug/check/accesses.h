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

/* All accesses are listed first; then each is put in or taken out. Starts zeroed. */
typedef struct bg__accesses {
    bg__access *list;
    size_t count, capacity;
    size_t *by_begin;  /* indices in list */
    size_t *leaf;      /* of each access, its place in by_begin */
    size_t leaves;     /* a power of two */
    uintptr_t *latest; /* a binary tree over by_begin: the last end of those that are in; 0: none. From 1, the root */
} bg__accesses;

bg_status bg__accesses_add(bg__accesses *accesses, const bg__access *access);
/* After the last add: none is in. */
bg_status bg__accesses_sort(bg__accesses *accesses);
void bg__accesses_put(bg__accesses *accesses, size_t index);
void bg__accesses_take(bg__accesses *accesses, size_t index);
/* Writes the indices of those that are in and have some of the bytes to found, in order of the list, and returns how
 * many. found has room for count. */
size_t bg__accesses_find(const bg__accesses *accesses, uintptr_t begin, uintptr_t end, size_t *found);
void bg__accesses_clear(bg__accesses *accesses);

#endif
