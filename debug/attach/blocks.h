/* Blocks of an allocator that keeps what is freed, such as PyTorch's: CUDA sees no free. The program's own allocator
 * says which blocks are live (python.c), and a graph remembers those that its nodes point into. */
#ifndef BG_ATTACH_BLOCKS_H
#define BG_ATTACH_BLOCKS_H

#include "debug/attach/stacks.h"
#include "debug/report/report.h"

/* Which blocks a graph's nodes point into. */
typedef struct bg__block_uses bg__block_uses;

/* The allocator has this block; private: of a pool of graphs' own, in which a freed block may be used again. */
void bg__block_live(uintptr_t base, size_t bytes, bool private_pool);
/* It has freed, or allocated, the block at base. true: a graph uses it. */
bool bg__block_freed(uintptr_t base, bg_site site);
/* Whether a graph uses the live block at base. */
bool bg__block_is_used(uintptr_t base);
bool bg__block_allocated(uintptr_t base);

/* Narrows [*begin, *end), which has address: to the live block that has it, or to what lies between live blocks. */
void bg__block_narrow(uintptr_t address, uintptr_t *begin, uintptr_t *end);

/* Notes which of the live blocks the nodes of graph point into, and forgets what was noted before. uses starts NULL.
 * Errors: OUT_OF_MEMORY, UNSUPPORTED, CUDA. */
bg_status bg__blocks_note(const bg_graph *graph, bg__block_uses **uses);
/* Adds a finding "freed" or "reused" for each that has changed since. NULL does nothing. */
void bg__blocks_check(bg__block_uses *uses, bg_report *report);
void bg__blocks_free(bg__block_uses *uses);

#endif
