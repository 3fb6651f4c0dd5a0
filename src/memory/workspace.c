/* Device memory that belongs to an owner known by its address: a library handle's workspace. */
#include "memory/memory.h"

#include <breakgraph/workspace.h>
#include <pthread.h>
#include <stdlib.h>

typedef struct workspace {
    struct workspace *next;
    const void *owner;
    int device;
    bg_pool *pool; /* NULL: the memory is cudaMalloc's */
    void *ptr;
    size_t bytes;
} workspace;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static workspace *first;

static workspace *find(const void *owner, int device, const bg_pool *pool)
{
    workspace *w = first;
    while (w != NULL && (w->owner != owner || w->device != device || w->pool != pool))
        w = w->next;
    return w;
}

static bg_status add(const void *owner, int device, bg_pool *pool, size_t bytes, void **ptr)
{
    bg_status status;
    workspace *w = malloc(sizeof *w);
    if (w == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_workspace: no memory for %zu bytes", sizeof *w);
    BG__TRY(pool ? bg__pool_keep(pool, bytes, &w->ptr) : bg__device_alloc(bytes, &w->ptr));
    w->owner = owner;
    w->device = device;
    w->pool = pool;
    w->bytes = bytes;
    w->next = first;
    first = w;
    *ptr = w->ptr;
    w = NULL;
done:
    free(w);
    return status;
}

bg_status bg_workspace_in(const void *owner, bg_pool *pool, size_t bytes, void **ptr)
{
    bg_status status = BG_OK;
    workspace *w;
    int device;

    BG__NEED(owner);
    BG__NEED(ptr);
    bg__pending_note();
    *ptr = NULL;
    if (bytes == 0)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_workspace: bytes is 0");
    pthread_mutex_lock(&mutex);
    BG__TRY_CUDA(cudaGetDevice(&device));
    w = find(owner, device, pool);
    if (w == NULL)
        BG__TRY(add(owner, device, pool, bytes, ptr));
    else if (w->bytes >= bytes)
        *ptr = w->ptr;
    else
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT,
                          "bg_workspace: the owner has %zu bytes already, and captured graphs may hold them; release "
                          "them before asking for %zu",
                          w->bytes, bytes);
done:
    pthread_mutex_unlock(&mutex);
    return status;
}

bg_status bg_workspace(const void *owner, size_t bytes, void **ptr)
{
    return bg_workspace_in(owner, NULL, bytes, ptr);
}

/* owner NULL: any; all_pools: of any pool, or none. */
static void release(const void *owner, const bg_pool *pool, bool all_pools)
{
    pthread_mutex_lock(&mutex);
    for (workspace **link = &first; *link != NULL;) {
        workspace *w = *link;
        if ((owner != NULL && w->owner != owner) || (!all_pools && w->pool != pool)) {
            link = &w->next;
            continue;
        }
        *link = w->next;
        if (w->pool != NULL)
            bg_pool_release(w->pool, w->ptr);
        else
            bg__device_free(w->ptr);
        free(w);
    }
    pthread_mutex_unlock(&mutex);
}

void bg_workspace_release(const void *owner)
{
    bg__pending_note();
    if (owner != NULL)
        release(owner, NULL, true);
}

void bg__workspace_forget(const bg_pool *pool)
{
    release(NULL, pool, false);
}
