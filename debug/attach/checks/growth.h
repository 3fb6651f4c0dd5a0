/* Finds calls that make executable graphs again and again, while their older graphs stay alive and are launched
 * ("growth"). */
#ifndef BG_ATTACH_GROWTH_H
#define BG_ATTACH_GROWTH_H

#include "debug/attach/stacks/stacks.h"

/* A live executable graph that is counted. */
typedef struct bg__grown bg__grown;
/* made: the call that instantiated the graph. bytes: the device memory that instantiation took. NULL: not counted. */
bg__grown *bg__growth_add(const bg__stack *made, size_t bytes);
/* The graph is about to be launched. NULL does nothing. */
void bg__growth_launched(bg__grown *grown);
/* The graph is destroyed. NULL does nothing. */
void bg__growth_remove(bg__grown *grown);

#endif
