/* Device, pinned and stream-ordered memory: which addresses the program may use, and since when. */
#ifndef HOSTCUDA_BLOCKS_H
#define HOSTCUDA_BLOCKS_H

#include "hostcuda/src/core/core_state.h"
#include "hostcuda/src/memory/memory_pool.h"

enum hc_memory { HC_MEMORY_DEVICE, HC_MEMORY_PINNED };

/* An allocation. It is registered and backed while anything refers to it: the program (live), or a graph's nodes. */
struct hc_block {
    unsigned char *base;
    size_t bytes;
    enum hc_memory kind;
    int device;
    unsigned references;
    unsigned free_nodes; /* of graphs, which free it */
    bool live;           /* allocated and not freed, in order of issue */
    bool graphs;         /* the address belongs to an allocation node */
    bool walked;         /* as live, for a walk over a graph's nodes */
    bool borrowed;       /* the memory is another's: registered host memory, or a mapping; freed by that other alone */
    uint64_t id;
    struct hc_pool *pool; /* which counts its bytes; NULL: none */
    bool left;            /* as freed */
};

/* Live, with one reference. NULL: no memory. */
struct hc_block *hc_block_make(enum hc_memory kind, size_t bytes, int device);
/* The same of device memory, which the pool counts from now on. */
struct hc_block *hc_block_make_in(struct hc_pool *pool, size_t bytes);
/* The pool counts the block until it ends, or is uncounted. */
void hc_block_count_in(struct hc_block *block, struct hc_pool *pool);
void hc_block_uncount(struct hc_block *block);
/* The program has freed it; the pool no longer counts it as used. */
void hc_block_leave(struct hc_block *block);
/* The same, of memory that somebody else owns. */
struct hc_block *hc_block_borrow(enum hc_memory kind, void *base, size_t bytes, int device);
void hc_block_retain(struct hc_block *block);
void hc_block_release(struct hc_block *block);
/* The block that contains the address; NULL: pageable host memory, or freed. */
struct hc_block *hc_block_find(const void *address);
/* The same for who asks about a pointer: a graph's allocation is known only from a launch of it until it is freed
 * (measured). */
const struct hc_block *hc_block_ask(const void *address);
/* The first live block that shares a byte with [address, address + bytes); NULL: none. */
struct hc_block *hc_block_overlapping(const void *address, size_t bytes);
/* Each of them, graphs' included; `visit` makes and ends none. */
void hc_block_each(void (*visit)(struct hc_block *block, const void *data), const void *data);
/* All of them, graphs' included. */
size_t hc_block_count(void);
/* Whether [address, address + bytes) leaves the block that address lies in. */
bool hc_block_overrun(const void *address, size_t bytes);

#endif
