/* What a graph's nodes point into, as block_uses.c notes it. */
#ifndef BG_ATTACH_BLOCK_USE_H
#define BG_ATTACH_BLOCK_USE_H

#include "graph/inspect.h"
#include "debug/attach/memory/block_table.h"
#include "debug/memory/spans.h"

typedef enum bg__block_use_kind {
    BG__USES,   /* a node points into the block */
    BG__READS,  /* and reads it, for certain */
    BG__WRITES, /* and writes it */
    BG__TAKES,  /* points there although the block was freed: its memory is another block's */
    BG__OWNS,   /* and the graph's own capture allocated it, in a pool of graphs' own */
    BG__FINDS,  /* and it was there, in such a pool, before the graph's capture: it may hold what the program puts there
                 */
} bg__block_use_kind;

typedef struct bg__block_use {
    bg__heap_block *block;
    const bg__call *call;
    uintptr_t address;
    bg__block_use_kind kind;
    bool alone;
    char *text; /* "parameter 2, offset 8,": where the node has it; NULL of BG__TAKES, or out of host memory */
} bg__block_use;

struct bg__block_uses {
    bg__block_use *list;
    size_t count, capacity;
    uint64_t *made;             /* when each node was made, by its place; 0: unknown */
    size_t nodes;               /* in made */
    bg__block_capture *capture; /* that made the graph; NULL: unknown */
    bool in_pool;               /* some block is of a private pool */
    bg__spans unknown;          /* addresses of nodes that were in no block that is known, when the node was made */
};

#endif
