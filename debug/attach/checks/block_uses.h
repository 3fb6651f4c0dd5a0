/* The blocks that a graph's nodes point into. */
#ifndef BG_ATTACH_BLOCK_USES_H
#define BG_ATTACH_BLOCK_USES_H

#include "graph/inspect.h"
#include "debug/memory/spans.h"
#include "debug/report/report.h"

typedef struct bg__block_uses bg__block_uses;

/* Call it when a graph has been made from `source`, or updated from it. Records when the graph's nodes were made, and
 * drops the recorded uses. *uses starts NULL. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__block_uses_reset(cudaGraph_t source, bg__block_uses **uses);
/* Call it when the program has changed the nodes' parameters. Drops the recorded uses. NULL does nothing. */
void bg__block_uses_clear(bg__block_uses *uses);
/* Records the blocks that the nodes of graph point into, live or freed since the node was made. uses NULL does nothing.
 * Errors: OUT_OF_MEMORY, UNSUPPORTED, CUDA. */
bg_status bg__block_uses_collect(const bg_graph *graph, bg__block_uses *uses);
/* From now on, also records the blocks that a graph's own capture has allocated in a private pool. */
void bg__block_uses_include_own(void);
/* Adds to `empty` the memory that holds no data when the graph begins, as far as its allocator reports: freed blocks
 * that the nodes point into, except where a live block overlaps them. In a private pool, only blocks that the graph's
 * own capture allocated count; a block of unknown size reaches up to the next block. `uses` NULL adds nothing. Errors:
 * OUT_OF_MEMORY. */
bg_status bg__block_uses_add_uninitialized(const bg__block_uses *uses, bg__spans *empty);
/* Whether an allocator has reported a block that the nodes point into, and the nodes' times are known. NULL: false. */
bool bg__block_uses_are_known(const bg__block_uses *uses);
void bg__block_uses_free(bg__block_uses *uses);

#endif
