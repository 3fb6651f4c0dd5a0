#include "hostcuda/src/memory/memory_pool.h"

#include <stdlib.h>

/* CUDA reserves memory in steps of this size. */
static const size_t CHUNK_BYTES = (size_t)32 << 20;

static struct hc_pool default_pools[HC_DEVICES_MAX], graph_pools[HC_DEVICES_MAX], *current[HC_DEVICES_MAX];

struct hc_pool *hc_pool_make(int device, size_t max_bytes)
{
    struct hc_pool *pool = calloc(1, sizeof *pool);
    if (!pool || !hc_handle_add(HC_POOL, pool)) {
        free(pool);
        return NULL;
    }
    pool->device = device;
    pool->max_bytes = max_bytes;
    return pool;
}

static void free_pool(struct hc_pool *pool)
{
    if (pool->leaving && !pool->used && !pool->freeing_bytes)
        free(pool);
}

void hc_pool_destroy(struct hc_pool *pool)
{
    if (current[pool->device] == pool)
        current[pool->device] = NULL;
    hc_handle_remove(pool);
    pool->leaving = true;
    free_pool(pool);
}

struct hc_pool *hc_pool_default(int device)
{
    default_pools[device].device = device;
    return &default_pools[device];
}

struct hc_pool *hc_pool_current(int device)
{
    return current[device] ? current[device] : hc_pool_default(device);
}

void hc_pool_make_current(struct hc_pool *pool)
{
    current[pool->device] = pool;
}

void hc_pool_reset(int device)
{
    struct hc_pool *pool = hc_pool_default(device);
    pool->threshold = 0;
    for (int i = 0; i < HC_POOL_REUSES; i++)
        pool->strict[i] = false;
    for (int i = 0; i < HC_DEVICES_MAX; i++)
        pool->shown[i] = false;
    hc_pool_trim(pool, 0);
    current[device] = NULL;
}

struct hc_pool *hc_pool_of_graphs(int device)
{
    graph_pools[device].device = device;
    graph_pools[device].threshold = UINT64_MAX;
    return &graph_pools[device];
}

cudaError_t hc_pool_from_handle(cudaMemPool_t handle, struct hc_pool **pool)
{
    struct hc_pool *found = (struct hc_pool *)(void *)handle;
    bool is_pool = hc_handle_is(HC_POOL, found);
    for (int device = 0; !is_pool && device < hc_device_count(); device++)
        is_pool = found == hc_pool_default(device);
    *pool = is_pool ? found : NULL;
    return is_pool ? cudaSuccess : cudaErrorInvalidValue;
}

/* ---- accounting -------------------------------------------------------------------------------------------------- */

static size_t allocated_bytes(const struct hc_pool *pool)
{
    return pool->used + pool->freeing_bytes;
}

bool hc_pool_has_room(const struct hc_pool *pool, size_t bytes)
{
    return !pool->max_bytes ||
           (allocated_bytes(pool) <= pool->max_bytes && bytes <= pool->max_bytes - allocated_bytes(pool));
}

uint64_t hc_pool_round_up(uint64_t bytes)
{
    return (bytes / CHUNK_BYTES + (bytes % CHUNK_BYTES != 0)) * CHUNK_BYTES;
}

static size_t reserved_minimum(const struct hc_pool *pool)
{
    return hc_pool_round_up(allocated_bytes(pool));
}

void hc_pool_add_used(struct hc_pool *pool, size_t bytes)
{
    pool->used += bytes;
    if (pool->reserved < reserved_minimum(pool))
        pool->reserved = reserved_minimum(pool);
    if (pool->used_high < pool->used)
        pool->used_high = pool->used;
    if (pool->reserved_high < pool->reserved)
        pool->reserved_high = pool->reserved;
}

void hc_pool_trim(struct hc_pool *pool, uint64_t keep)
{
    if (keep < reserved_minimum(pool))
        keep = reserved_minimum(pool);
    if (pool->reserved > keep)
        pool->reserved = keep;
}

void hc_pool_finish_free(struct hc_pool *pool, size_t bytes)
{
    pool->freeing_bytes -= bytes;
    hc_pool_trim(pool, pool->threshold);
    free_pool(pool);
}

void hc_pool_begin_free(struct hc_pool *pool, size_t bytes)
{
    pool->used -= bytes;
    pool->freeing_bytes += bytes;
}
