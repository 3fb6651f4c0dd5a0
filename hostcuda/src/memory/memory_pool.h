/* Memory pools: the accounting of stream-ordered allocations, and the pools' attributes. The memory itself is like any
 * other. */
#ifndef HOSTCUDA_POOL_H
#define HOSTCUDA_POOL_H

#include "hostcuda/src/core/core_state.h"

enum { HC_POOL_REUSES = 3 };

struct hc_pool {
    size_t max_bytes;               /* 0: no limit */
    size_t used, used_high;         /* bytes in blocks that are not freed */
    size_t freeing_bytes;           /* bytes in blocks whose free has not run yet */
    size_t reserved, reserved_high; /* bytes that a GPU would hold for them */
    uint64_t threshold;             /* bytes that stay reserved when they are unused */
    int device;
    bool leaving;                /* destroyed by the program: freed when it has no more memory */
    bool strict[HC_POOL_REUSES]; /* the program has disabled this way of reuse */
    bool shown[HC_DEVICES_MAX];  /* other devices that may use it */
};

/* Returns NULL if there is no memory. */
struct hc_pool *hc_pool_make(int device, size_t max_bytes);
/* Not for the default pool. */
void hc_pool_destroy(struct hc_pool *pool);
struct hc_pool *hc_pool_default(int device);
/* Returns the pool that cudaMallocAsync uses. */
struct hc_pool *hc_pool_current(int device);
void hc_pool_make_current(struct hc_pool *pool);
/* Resets the device's default pool and makes it current. */
void hc_pool_reset(int device);
/* Returns the pool of a device's graph memory, which stays reserved until it is trimmed. Programs have no handle to it.
 */
struct hc_pool *hc_pool_of_graphs(int device);
/* Finds the pool behind a handle. */
cudaError_t hc_pool_from_handle(cudaMemPool_t handle, struct hc_pool **pool);

bool hc_pool_has_room(const struct hc_pool *pool, size_t bytes);
void hc_pool_add_used(struct hc_pool *pool, size_t bytes);
void hc_pool_finish_free(struct hc_pool *pool, size_t bytes);
/* The bytes count as being freed from now on. They are subtracted when the free runs. */
void hc_pool_begin_free(struct hc_pool *pool, size_t bytes);
/* Rounds up to CUDA's reservation step; an overflow results in 0, as in CUDA (measured). */
uint64_t hc_pool_round_up(uint64_t bytes);
/* Releases the reserved bytes above `keep` that are not used. */
void hc_pool_trim(struct hc_pool *pool, uint64_t keep);

#endif
