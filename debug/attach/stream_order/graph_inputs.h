/* BG_CHECK=inputs: the memory that a graph reads before it writes it, whether others write it between launches, and the
 * results that are overwritten before anything reads them. These are notes ("inputs"), since only the program knows
 * what is right. The lock of stream_order.c protects all of it. */
#ifndef BG_ATTACH_GRAPH_INPUTS_H
#define BG_ATTACH_GRAPH_INPUTS_H

#include "base/base.h"
#include "debug/attach/stacks/stacks.h"
#include "signature.h"

/* The inputs and results of one graph. All functions accept NULL: nothing is listed. */
typedef struct bg__graph_inputs bg__graph_inputs;

/* Call it before the first graph. */
void bg__graph_inputs_enable(bool wanted);
/* Adds a use of memory. Call it in the order of the nodes. name must live until the process ends. Errors:
 * OUT_OF_MEMORY. */
bg_status bg__graph_inputs_add_use(bg__graph_inputs **inventory, uintptr_t begin, uintptr_t end, bg__access_kind use,
                                   const char *name, bg_site site);
/* The graph was updated. If *inventory and `before` have the same uses, `before`, which has counted the launches,
 * becomes *inventory. The inventory that is not kept is freed. */
void bg__graph_inputs_replace(bg__graph_inputs **inventory, bg__graph_inputs *before);
/* The graph is launched. Call it before bg__history_record_use gets the uses of this launch, with the same owner. */
void bg__graph_inputs_record_launch(bg__graph_inputs *inventory, uint64_t owner);
/* Adds the notes. Call it when the graph is launched no more. */
void bg__graph_inputs_report(bg__graph_inputs *inventory, const char *graph);
void bg__graph_inputs_free(bg__graph_inputs *inventory);

#endif
