#include "changes.h"

#include <pthread.h>

enum { KEPT = 256 }; /* number of changes that are kept; after more, every allocation may have changed */

static struct {
    pthread_mutex_t lock;
    _Atomic uint64_t count;
    struct {
        uintptr_t base;
        size_t bytes;
    } last[KEPT];
} changes = {.lock = PTHREAD_MUTEX_INITIALIZER};

void bg__change_note(uintptr_t base, size_t bytes)
{
    pthread_mutex_lock(&changes.lock);
    changes.last[changes.count % KEPT].base = base;
    changes.last[changes.count % KEPT].bytes = bytes;
    changes.count++;
    pthread_mutex_unlock(&changes.lock);
}

uint64_t bg__changes(void)
{
    return changes.count;
}

bool bg__changes_meet(uint64_t since, const bg__allocations *set)
{
    bool met;
    pthread_mutex_lock(&changes.lock);
    met = changes.count - since > KEPT;
    for (uint64_t i = since; i < changes.count && !met; i++)
        met = changes.last[i % KEPT].bytes == 0 ||
              bg__allocations_meet(set, changes.last[i % KEPT].base, changes.last[i % KEPT].bytes);
    pthread_mutex_unlock(&changes.lock);
    return met;
}
