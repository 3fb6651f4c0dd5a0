/* Finds calls that make executable graphs again and again, while their older graphs stay alive and are launched
 * ("growth"). */
#ifndef BG_ATTACH_GRAPH_GROWTH_H
#define BG_ATTACH_GRAPH_GROWTH_H

#include "debug/attach/stacks/stacks.h"

/* A live executable graph that is counted. */
typedef struct bg__counted_exec bg__counted_exec;
/* made: the call that instantiated the graph. bytes: the device memory that instantiation took. NULL: not counted. */
bg__counted_exec *bg__growth_add_exec(const bg__stack *made, size_t bytes);
/* The graph is about to be launched. NULL does nothing. */
void bg__growth_record_launch(bg__counted_exec *grown);
/* The graph is destroyed. NULL does nothing. */
void bg__growth_remove_exec(bg__counted_exec *grown);

#endif
