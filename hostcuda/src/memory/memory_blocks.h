/* Device, pinned and stream-ordered memory: which addresses the program may use. */
#ifndef HOSTCUDA_BLOCKS_H
#define HOSTCUDA_BLOCKS_H

#include "hostcuda/src/core/core_state.h"
#include "hostcuda/src/memory/memory_pool.h"

enum hc_memory { HC_MEMORY_DEVICE, HC_MEMORY_PINNED };

/* An allocation. It exists while the program (live) or a node of a graph refers to it. */
struct hc_block {
    unsigned char *base;
    size_t bytes;
    enum hc_memory kind;
    int device;
    unsigned references;
    unsigned free_node_count; /* number of graphs' free nodes that name it */
    bool live;                /* allocated and not freed, in order of issue */
    bool graphs;              /* an allocation node of a graph owns the address */
    bool walked;              /* scratch: `live` during a traversal of a graph's nodes */
    bool borrowed;            /* the memory has another owner, which frees it: registered host memory, or a mapping */
    uint64_t id;
    struct hc_pool *pool; /* the pool that counts its bytes; NULL: none */
    bool left;            /* the pool counts it as freed */
};

/* Returns a live block with one reference. NULL: no memory. */
struct hc_block *hc_block_make(enum hc_memory kind, size_t bytes, int device);
/* Makes a block of device memory that the pool counts. */
struct hc_block *hc_block_make_in_pool(struct hc_pool *pool, size_t bytes);
/* Makes the pool count the block until it is destroyed, or hc_block_remove_from_pool is called. */
void hc_block_add_to_pool(struct hc_block *block, struct hc_pool *pool);
void hc_block_remove_from_pool(struct hc_block *block);
/* Called when the program has freed the block: the pool no longer counts it as used. */
void hc_block_begin_free(struct hc_block *block);
/* Makes a block of memory that has another owner. */
struct hc_block *hc_block_make_borrowed(enum hc_memory kind, void *base, size_t bytes, int device);
void hc_block_retain(struct hc_block *block);
void hc_block_release(struct hc_block *block);
/* Returns the block that contains the address. NULL: the address is in pageable host memory, or in freed memory. */
struct hc_block *hc_block_find(const void *address);
/* The same for queries of a pointer: a graph's allocation is known only from a launch until it is freed (measured). */
const struct hc_block *hc_block_find_live(const void *address);
/* Returns the first live block that overlaps [address, address + bytes); NULL: none. */
struct hc_block *hc_block_overlapping(const void *address, size_t bytes);
/* Calls `visit` for each block, including those of graphs. It must not make or release blocks. */
void hc_block_visit_all(void (*visit)(struct hc_block *block, const void *data), const void *data);
/* Returns the number of blocks, including those of graphs. */
size_t hc_block_count(void);
/* Whether [address, address + bytes) reaches past the block that contains the address. */
bool hc_block_range_overruns(const void *address, size_t bytes);

#endif
