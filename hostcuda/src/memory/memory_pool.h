/* Memory pools: what is counted of memory that is allocated in a stream's order, and what programs ask of it. The
 * memory itself is as any other. */
#ifndef HOSTCUDA_POOL_H
#define HOSTCUDA_POOL_H

#include "hostcuda/src/core/core_state.h"

enum { HC_POOL_REUSES = 3 };

struct hc_pool {
    size_t max_bytes;               /* 0: no limit */
    size_t used, used_high;         /* bytes in blocks that are not freed */
    size_t leaving_bytes;           /* and in those whose free has not run yet */
    size_t reserved, reserved_high; /* and what a GPU would hold for them */
    uint64_t threshold;             /* bytes that it keeps when nobody uses them */
    int device;
    bool leaving;                /* destroyed by the program: freed when it has no memory any more */
    bool strict[HC_POOL_REUSES]; /* a way of reuse that the program has switched off */
    bool shown[HC_DEVICES_MAX];  /* the other devices that may use it */
};

/* NULL: no memory. */
struct hc_pool *hc_pool_make(int device, size_t max_bytes);
/* Not the default one. */
void hc_pool_destroy(struct hc_pool *pool);
struct hc_pool *hc_pool_default(int device);
/* What cudaMallocAsync takes from. */
struct hc_pool *hc_pool_current(int device);
void hc_pool_make_current(struct hc_pool *pool);
/* The device's default pool is as at first, and current. */
void hc_pool_reset(int device);
/* The memory of a device's graphs, which stays reserved until it is trimmed. Programs have no handle of it. */
struct hc_pool *hc_pool_of_graphs(int device);
/* The pool behind a handle. */
cudaError_t hc_pool_from(cudaMemPool_t handle, struct hc_pool **pool);

bool hc_pool_has_room(const struct hc_pool *pool, size_t bytes);
void hc_pool_take(struct hc_pool *pool, size_t bytes);
void hc_pool_give(struct hc_pool *pool, size_t bytes);
/* They are freed from now on, and given later. */
void hc_pool_leave(struct hc_pool *pool, size_t bytes);
/* The bytes, rounded up to CUDA's step of reservations; more than there are come to 0, as in CUDA (measured). */
uint64_t hc_pool_round(uint64_t bytes);
/* Gives back what is reserved above `keep` bytes and not used. */
void hc_pool_trim(struct hc_pool *pool, uint64_t keep);

#endif
