/* Blocks of an allocator that keeps what is freed, such as PyTorch's: CUDA sees no free. The program's own allocator
 * says which blocks it gives out and takes back (python.c), and a graph remembers those that its nodes point into. */
#ifndef BG_ATTACH_BLOCKS_H
#define BG_ATTACH_BLOCKS_H

#include <breakgraph/op.h>

#include "allocator.h"

/* It has allocated the block at base. bytes 0: the size is unknown, and comes with the next snapshot; so does the pool
 * of a block of PyTorch's. moved: a graph uses memory that it now has. Returns whether the size is needed soon. */
bool bg__block_allocated(bg__allocator allocator, uintptr_t base, size_t bytes, bool *moved);
/* It has freed the block at base. bytes 0: the size is unknown. true: a graph uses it. */
bool bg__block_freed(bg__allocator allocator, uintptr_t base, size_t bytes, bg_site site);
/* Whether somebody may ask where the live block at base was freed. */
bool bg__block_free_matters(bg__allocator allocator, uintptr_t base);

/* Narrows [*begin, *end), which has address: to the live block that has it, or to what lies between live blocks. */
void bg__block_narrow(uintptr_t address, uintptr_t *begin, uintptr_t *end);

/* Whether an allocator has a live block that begins in these bytes. */
bool bg__blocks_in(uintptr_t base, size_t bytes);

/* The program names a block, or names it again where it is now. Such a block is not freed: what a graph has there is
 * judged by the allocator's block that it lies in. */
void bg__block_named(const char *name, uintptr_t base, size_t bytes);

/* All that an allocator has now, in any order, between begin and end: its blocks; and of PyTorch the segments that
 * these are in, private where they are of a pool of graphs' own, in which a freed block may be used again. end returns
 * whether a graph uses memory of which more is known now. */
void bg__blocks_snapshot_begin(void);
void bg__block_segment(uintptr_t base, size_t bytes, bool private_pool);
void bg__block_live(bg__allocator allocator, uintptr_t base, size_t bytes);
bool bg__blocks_snapshot_end(bg__allocator allocator);

#endif
