/* Device memory that belongs to an owner known by its address: a library handle's workspace. */
#include "memory/workspace_list.h"

#include <breakgraph/workspace.h>
#include <stdlib.h>

static bg__workspace *find_workspace(bg__workspace *first, const void *owner, int device, const bg_pool *pool)
{
    bg__workspace *w = first;
    while (w != NULL && (w->owner != owner || w->device != device || w->pool != pool))
        w = w->next;
    return w;
}

static bg_status add_workspace(bg__workspace **first, const void *owner, int device, bg_pool *pool, size_t bytes,
                               void **ptr)
{
    bg_status status;
    bg__workspace *w = malloc(sizeof *w);
    if (w == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_workspace: out of host memory for %zu bytes", sizeof *w);
    BG__TRY(pool ? bg__pool_alloc_kept(pool, bytes, &w->ptr) : bg__device_alloc(bytes, &w->ptr));
    w->owner = owner;
    w->device = device;
    w->pool = pool;
    w->bytes = bytes;
    w->next = *first;
    *first = w;
    *ptr = w->ptr;
    w = NULL;
done:
    free(w);
    return status;
}

bg_status bg_workspace_in(const void *owner, bg_pool *pool, size_t bytes, void **ptr)
{
    bg_status status = BG_OK;
    bg__workspace **first, *w;
    int device;

    BG__NEED(owner);
    BG__NEED(ptr);
    bg__foreign_error_note();
    *ptr = NULL;
    if (bytes == 0)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_workspace: bytes is 0; request at least 1 byte");
    first = bg__workspaces_lock();
    BG__TRY_CUDA(cudaGetDevice(&device));
    w = find_workspace(*first, owner, device, pool);
    if (w == NULL)
        BG__TRY(add_workspace(first, owner, device, pool, bytes, ptr));
    else if (w->bytes >= bytes)
        *ptr = w->ptr;
    else
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT,
                          "bg_workspace: the owner already has %zu bytes, which captured graphs may use; release "
                          "them before requesting %zu",
                          w->bytes, bytes);
done:
    bg__workspaces_unlock();
    return status;
}

bg_status bg_workspace(const void *owner, size_t bytes, void **ptr)
{
    return bg_workspace_in(owner, NULL, bytes, ptr);
}

void bg_workspace_release(const void *owner)
{
    bg__workspace **link;

    bg__foreign_error_note();
    if (owner == NULL)
        return;
    link = bg__workspaces_lock();
    while (*link != NULL) {
        bg__workspace *w = *link;
        if (w->owner != owner) {
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
    bg__workspaces_unlock();
}
