#include "hostcuda/src/memory/memory_pool.h"

#include <stdlib.h>

/* CUDA reserves memory in steps of this size. */
static const size_t CHUNK_BYTES = (size_t)32 << 20;

static struct hc_pool defaults[HC_DEVICES_MAX], of_graphs[HC_DEVICES_MAX], *current[HC_DEVICES_MAX];

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
    if (pool->leaving && !pool->used && !pool->leaving_bytes)
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
    defaults[device].device = device;
    return &defaults[device];
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
    of_graphs[device].device = device;
    of_graphs[device].threshold = UINT64_MAX;
    return &of_graphs[device];
}

cudaError_t hc_pool_from(cudaMemPool_t handle, struct hc_pool **pool)
{
    struct hc_pool *found = (struct hc_pool *)(void *)handle;
    bool is_pool = hc_handle_is(HC_POOL, found);
    for (int device = 0; !is_pool && device < hc_device_count(); device++)
        is_pool = found == hc_pool_default(device);
    *pool = is_pool ? found : NULL;
    return is_pool ? cudaSuccess : cudaErrorInvalidValue;
}

/* ---- accounting -------------------------------------------------------------------------------------------------- */

static size_t held(const struct hc_pool *pool)
{
    return pool->used + pool->leaving_bytes;
}

bool hc_pool_has_room(const struct hc_pool *pool, size_t bytes)
{
    return !pool->max_bytes || (held(pool) <= pool->max_bytes && bytes <= pool->max_bytes - held(pool));
}

uint64_t hc_pool_round(uint64_t bytes)
{
    return (bytes / CHUNK_BYTES + (bytes % CHUNK_BYTES != 0)) * CHUNK_BYTES;
}

static size_t needed(const struct hc_pool *pool)
{
    return hc_pool_round(held(pool));
}

void hc_pool_take(struct hc_pool *pool, size_t bytes)
{
    pool->used += bytes;
    if (pool->reserved < needed(pool))
        pool->reserved = needed(pool);
    if (pool->used_high < pool->used)
        pool->used_high = pool->used;
    if (pool->reserved_high < pool->reserved)
        pool->reserved_high = pool->reserved;
}

void hc_pool_trim(struct hc_pool *pool, uint64_t keep)
{
    if (keep < needed(pool))
        keep = needed(pool);
    if (pool->reserved > keep)
        pool->reserved = keep;
}

void hc_pool_give(struct hc_pool *pool, size_t bytes)
{
    pool->leaving_bytes -= bytes;
    hc_pool_trim(pool, pool->threshold);
    free_pool(pool);
}

void hc_pool_leave(struct hc_pool *pool, size_t bytes)
{
    pool->used -= bytes;
    pool->leaving_bytes += bytes;
}
