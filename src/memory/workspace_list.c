#include "memory/workspace_list.h"

#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bg__workspace *first;

bg__workspace **bg__workspaces_lock(void)
{
    pthread_mutex_lock(&mutex);
    return &first;
}

void bg__workspaces_unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

void bg__workspaces_forget_pool(const bg_pool *pool)
{
    bg__workspace **link = bg__workspaces_lock();
    while (*link != NULL) {
        bg__workspace *w = *link;
        if (w->pool != pool) {
            link = &w->next;
            continue;
        }
        *link = w->next;
        free(w);
    }
    bg__workspaces_unlock();
}
