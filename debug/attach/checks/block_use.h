/* The blocks that a graph's nodes point into, as block_uses.c records them. */
#ifndef BG_ATTACH_BLOCK_USE_H
#define BG_ATTACH_BLOCK_USE_H

#include "graph/inspect.h"
#include "debug/attach/memory/block_table.h"
#include "debug/memory/spans.h"

typedef enum bg__block_use_kind {
    BG__USE_POINTS,   /* a node points into the block */
    BG__USE_READS,    /* the node reads the block, for certain */
    BG__USE_WRITES,   /* the node writes the block */
    BG__USE_OVERLAYS, /* the block was freed before the node was made: the graph's own block lies in the same memory */
    BG__USE_OWN,      /* the graph's own capture allocated the block in a private pool */
    BG__USE_PREEXISTING, /* the block was in a private pool before the graph's capture: the program may fill it */
} bg__block_use_kind;

typedef struct bg__block_use {
    bg__heap_block *block;
    const bg__call *call;
    uintptr_t address;
    bg__block_use_kind kind;
    bool alone;
    char *text; /* "parameter 2, offset 8,": where the node has the address; NULL: BG__USE_OVERLAYS, or out of memory */
} bg__block_use;

struct bg__block_uses {
    bg__block_use *list;
    size_t count, capacity;
    uint64_t *made;             /* when each node was made, by the node's place; 0: unknown */
    size_t nodes;               /* length of made */
    bg__block_capture *capture; /* the capture that made the graph; NULL: unknown */
    bool in_pool;               /* some block belongs to a private pool */
    bg__spans unknown;          /* addresses that were in no known block when their node was made */
};

#endif
