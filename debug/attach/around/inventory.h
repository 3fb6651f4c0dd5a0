/* BG_CHECK=inputs: what a graph reads before it writes it, whether others write that between its launches, and which of
 * its results are written over before anything reads them. Notes ("inputs"): only the program knows what is right.
 * Callers hold the lock of around.c. */
#ifndef BG_ATTACH_INVENTORY_H
#define BG_ATTACH_INVENTORY_H

#include "base/base.h"
#include "debug/attach/stacks/stacks.h"
#include "signature.h"

/* Of one graph. NULL: nothing is listed, in all functions. */
typedef struct bg__inventory bg__inventory;

/* Before the first graph. */
void bg__inventory_want(bool wanted);
/* The graph's uses of memory, in the order of its nodes. name lives until the process ends. Errors: OUT_OF_MEMORY. */
bg_status bg__inventory_add(bg__inventory **inventory, uintptr_t begin, uintptr_t end, bg__touch use, const char *name,
                            bg_site site);
/* The graph is another one than before, which is freed: what is known of it stays if it has the same uses. */
void bg__inventory_replace(bg__inventory **inventory, bg__inventory *before);
/* The graph is launched: before the history has its uses. owner: as in these. */
void bg__inventory_launched(bg__inventory *inventory, uint64_t owner);
/* It is launched no more: adds the notes. */
void bg__inventory_tell(bg__inventory *inventory, const char *graph);
void bg__inventory_free(bg__inventory *inventory);

#endif
