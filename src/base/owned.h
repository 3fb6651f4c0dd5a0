/* Objects of the program that a graph or a runner owns, and destroys at its end. */
#ifndef BG_OWNED_H
#define BG_OWNED_H

#include "base/base.h"

typedef struct bg__owned_object {
    void *object;
    void (*destroy)(void *object);
} bg__owned_object;

/* Starts zeroed. */
typedef struct bg__owned {
    bg__owned_object *list;
    size_t count, capacity;
} bg__owned;

/* After a failure (OUT_OF_MEMORY) the object stays the caller's. */
bg_status bg__owned_add(bg__owned *owned, void *object, void (*destroy)(void *object));
/* Destroys the last one first. */
void bg__owned_free(bg__owned *owned);

#endif
