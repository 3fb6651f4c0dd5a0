/* Blocks of caching allocators, such as PyTorch's, which keep freed memory: CUDA sees no free. The allocator reports
 * the blocks that it allocates and frees (python.c, attach_ledger.c), and a graph records those that its nodes point
 * into. */
#ifndef BG_ATTACH_BLOCKS_H
#define BG_ATTACH_BLOCKS_H

#include <breakgraph/op.h>

#include "block_allocator.h"

/* The allocator has allocated the block at base. bytes 0: the size is unknown until the next snapshot; so is the pool
 * of a PyTorch block. *moved: a graph uses memory of the block. Returns whether a snapshot is needed for the size. */
bool bg__block_record_alloc(bg__allocator allocator, uintptr_t base, size_t bytes, bool *moved);
/* The allocator has freed the block at base. bytes 0: the size is unknown. Returns true if a graph uses it. */
bool bg__block_record_free(bg__allocator allocator, uintptr_t base, size_t bytes, bg_site site);
/* Whether a finding may need the place where the live block at base is freed. */
bool bg__block_free_needs_site(bg__allocator allocator, uintptr_t base);

/* Narrows [*begin, *end) to the live block that has address, or to the gap between live blocks. */
void bg__block_narrow_range(uintptr_t address, uintptr_t *begin, uintptr_t *end);

/* Whether an allocator has a live block that begins in these bytes. */
bool bg__blocks_any_begins_in(uintptr_t base, size_t bytes);

/* The program names a block, or moves the name to another one. A named block itself is never freed; the allocator's
 * block around it is. */
void bg__block_set_name(const char *name, uintptr_t base, size_t bytes);

/* A snapshot of an allocator. Between begin and end, in any order: its live blocks and, for PyTorch, their segments.
 * private_pool: the pool belongs to graphs, and may reuse a freed block. end returns whether it has found freed or
 * reused blocks that a graph uses. */
void bg__blocks_snapshot_begin(void);
void bg__blocks_snapshot_add_segment(uintptr_t base, size_t bytes, bool private_pool);
void bg__blocks_snapshot_add_block(bg__allocator allocator, uintptr_t base, size_t bytes);
bool bg__blocks_snapshot_end(bg__allocator allocator);

#endif
