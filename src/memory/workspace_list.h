/* The list of all workspaces. */
#ifndef BG_MEMORY_WORKSPACE_LIST_H
#define BG_MEMORY_WORKSPACE_LIST_H

#include "memory/memory.h"

typedef struct bg__workspace {
    struct bg__workspace *next;
    const void *owner;
    int device;
    bg_pool *pool; /* NULL: the memory is cudaMalloc's */
    void *ptr;
    size_t bytes;
} bg__workspace;

/* Locks the list. Returns a pointer to its first element, valid until the list is unlocked. */
bg__workspace **bg__workspaces_lock(void);
void bg__workspaces_unlock(void);

#endif
