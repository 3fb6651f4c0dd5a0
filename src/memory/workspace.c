/* Device memory that belongs to an owner known by its address: a library handle's workspace. */
#include "base/base.h"

#include <breakgraph/workspace.h>
#include <pthread.h>
#include <stdlib.h>

typedef struct workspace {
    struct workspace *next;
    const void *owner;
    int device;
    void *ptr;
    size_t bytes;
} workspace;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static workspace *first;

static workspace *find(const void *owner, int device)
{
    workspace *w = first;
    while (w != NULL && (w->owner != owner || w->device != device))
        w = w->next;
    return w;
}

static bg_status add(const void *owner, int device, size_t bytes, void **ptr)
{
    bg_status status;
    workspace *w = malloc(sizeof *w);
    if (w == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "bg_workspace: no memory for %zu bytes", sizeof *w);
    BG__TRY(bg__device_alloc(bytes, &w->ptr));
    w->owner = owner;
    w->device = device;
    w->bytes = bytes;
    w->next = first;
    first = w;
    *ptr = w->ptr;
    w = NULL;
done:
    free(w);
    return status;
}

bg_status bg_workspace(const void *owner, size_t bytes, void **ptr)
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
    w = find(owner, device);
    if (w == NULL)
        BG__TRY(add(owner, device, bytes, ptr));
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

void bg_workspace_release(const void *owner)
{
    bg__pending_note();
    pthread_mutex_lock(&mutex);
    for (workspace **link = &first; *link != NULL;) {
        workspace *w = *link;
        if (w->owner != owner) {
            link = &w->next;
            continue;
        }
        *link = w->next;
        bg__device_free(w->ptr);
        free(w);
    }
    pthread_mutex_unlock(&mutex);
}

bg_status bg_report_failure(bg_status status, const char *call, const char *error, const char *advice)
{
    return bg__fail(status, "%s failed: %s; %s", call, error, advice);
}
