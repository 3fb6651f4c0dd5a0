/* Executable graphs that one call makes again and again, while those that it made before stay and are launched
 * ("growth"). */
#ifndef BG_ATTACH_GROWTH_H
#define BG_ATTACH_GROWTH_H

#include "debug/attach/stacks/stacks.h"

/* An executable graph that is alive. */
typedef struct bg__grown bg__grown;
/* made: the call that instantiated it; bytes: of the device memory that this took. NULL: it is not counted. */
bg__grown *bg__growth_add(const bg__stack *made, size_t bytes);
/* It is about to be launched. NULL does nothing, also below. */
void bg__growth_launched(bg__grown *grown);
/* It is destroyed. */
void bg__growth_remove(bg__grown *grown);

#endif
