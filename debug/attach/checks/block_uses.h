/* Which blocks a graph's nodes point into. */
#ifndef BG_ATTACH_BLOCK_USES_H
#define BG_ATTACH_BLOCK_USES_H

#include "graph/inspect.h"
#include "debug/memory/spans.h"
#include "debug/report/report.h"

typedef struct bg__block_uses bg__block_uses;

/* A graph has just been made from source, or updated: keeps when its nodes were made, and forgets what was noted. uses
 * starts NULL. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__blocks_prepare(cudaGraph_t source, bg__block_uses **uses);
/* The nodes' parameters are no longer those that they were made with: forgets what was noted. NULL does nothing. */
void bg__blocks_changed(bg__block_uses *uses);
/* Notes which blocks the nodes of graph point into, live or freed since they were made. uses NULL does nothing.
 * Errors: OUT_OF_MEMORY, UNSUPPORTED, CUDA. */
bg_status bg__blocks_note(const bg_graph *graph, bg__block_uses *uses);
/* Adds a finding "freed", "reused" or "moved" for each that has changed since. NULL does nothing. */
void bg__blocks_check(const bg__block_uses *uses, bg_report *report);
/* At each launch of graph: adds a finding "pool-alias" for memory of a pool that another graph has overwritten since it
 * was filled. report NULL: adds none. uses NULL does nothing. */
void bg__blocks_launched(const bg_graph *graph, bg__block_uses *uses, bg_report *report);
/* Graphs also note, from now on, what their own captures have allocated in pools of graphs' own. */
void bg__blocks_note_own(void);
/* Adds to empty the memory that holds nothing when the graph begins, as its allocator says: freed blocks that the nodes
 * point into, as far as no live one has them. In a pool of graphs' own these are what the graph's capture itself has
 * allocated; memory behind such a block whose size is unknown is added up to the next block. uses NULL adds nothing.
 * Errors: OUT_OF_MEMORY. */
bg_status bg__blocks_empty(const bg__block_uses *uses, bg__spans *empty);
/* Whether an allocator has told of some block that the nodes point into, and of when these were made. uses NULL: false.
 */
bool bg__blocks_are_known(const bg__block_uses *uses);
void bg__blocks_free(bg__block_uses *uses);

#endif
