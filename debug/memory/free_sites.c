#include "free_sites.h"

#include <pthread.h>

enum { KEPT = 4096 };

static struct {
    pthread_mutex_t lock;
    struct {
        uintptr_t base;
        size_t bytes;
        bg_site site;
    } list[KEPT];
    size_t count; /* number of frees recorded; a new one replaces the oldest */
} frees = {.lock = PTHREAD_MUTEX_INITIALIZER};

void bg__frees_record(uintptr_t base, size_t bytes, bg_site site)
{
    size_t at;
    pthread_mutex_lock(&frees.lock);
    at = frees.count++ % KEPT;
    frees.list[at].base = base;
    frees.list[at].bytes = bytes;
    frees.list[at].site = site;
    pthread_mutex_unlock(&frees.lock);
}

bg_site bg__frees_find(uintptr_t address)
{
    bg_site found = {NULL, 0};
    pthread_mutex_lock(&frees.lock);
    for (size_t back = 1; back <= frees.count && back <= KEPT && found.file == NULL; back++) {
        size_t at = (frees.count - back) % KEPT;
        if (address - frees.list[at].base < frees.list[at].bytes)
            found = frees.list[at].site;
    }
    pthread_mutex_unlock(&frees.lock);
    return found;
}
