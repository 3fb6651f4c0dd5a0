/* The sources of blocks. */
#ifndef BG_ATTACH_ALLOCATOR_H
#define BG_ATTACH_ALLOCATOR_H

/* The source of a block. Blocks of two sources may cover the same memory: a block that the program has named lies in a
 * tensor. */
typedef enum bg__allocator { BG__NAMED, BG__PYTORCH, BG__CUPY, BG__LEDGER, BG__ALLOCATORS } bg__allocator;

#endif
