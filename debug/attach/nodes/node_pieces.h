/* The memory that a kernel node may use: the blocks that its parameters point into, cut at each of these pointers,
 * since the memory behind a pointer has the type of the pointer. */
#ifndef BG_ATTACH_NODE_PIECES_H
#define BG_ATTACH_NODE_PIECES_H

#include "debug/graph/nodes.h"
#include "debug/step/elements.h"

typedef struct bg__piece {
    uintptr_t begin, end;       /* begin is a multiple of 8 */
    uintptr_t block, block_end; /* of the program's allocator, or of CUDA's */
    uintptr_t pointer;          /* 0: the piece lies before the first pointer into the block */
    char held[64];              /* "kernel parameter 2": the holder of the pointer */
    bg__elements elements;
} bg__piece;

/* In the order of their addresses. Starts zeroed. */
typedef struct bg__pieces {
    bg__piece *list;
    size_t count, capacity;
} bg__pieces;

/* The memory that kernels on a device find at an address. */
typedef enum bg__memory_kind {
    BG__MEMORY_NONE,     /* none that CUDA knows, or none that they can access */
    BG__MEMORY_HERE,     /* memory of the device, or managed */
    BG__MEMORY_HOST,     /* pinned memory of the host */
    BG__MEMORY_ELSEWHERE /* memory of another device */
} bg__memory_kind;

/* Replaces the pieces by those of the node. Memory of other devices is left out. A pointer that is in no block may
 * point to the end of the block before it, if the kernel counts down from there. Call bg__pieces_free also after a
 * failure. Errors: OUT_OF_MEMORY, UNSUPPORTED, CUDA. */
bg_status bg__pieces_collect(bg__pieces *pieces, const bg__node *node);
/* The same. *elsewhere: memory of other devices was left out. */
bg_status bg__pieces_collect_here(bg__pieces *pieces, const bg__node *node, bool *elsewhere);
/* Errors: CUDA. */
bg_status bg__memory_kind_of(uintptr_t address, int device, bg__memory_kind *kind);
/* Returns true if CUDA does not know the address: then it is pageable host memory. */
bool bg__memory_is_pageable(const void *address);
void bg__pieces_free(bg__pieces *pieces);

#endif
