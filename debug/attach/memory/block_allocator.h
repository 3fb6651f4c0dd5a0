/* The sources of blocks. */
#ifndef BG_ATTACH_BLOCK_ALLOCATOR_H
#define BG_ATTACH_BLOCK_ALLOCATOR_H

/* The source of a block. Blocks of two sources may cover the same memory: a block that the program has named lies in a
 * tensor. */
typedef enum bg__allocator {
    BG__ALLOCATOR_NAMED,
    BG__ALLOCATOR_PYTORCH,
    BG__ALLOCATOR_CUPY,
    BG__ALLOCATOR_LEDGER,
    BG__ALLOCATORS
} bg__allocator;

#endif
