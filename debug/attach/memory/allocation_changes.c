#include "allocation_changes.h"

#include <pthread.h>

enum { CHANGES_KEPT = 256 }; /* number of changes that are kept; after more, every allocation may have changed */

static struct {
    pthread_mutex_t lock;
    _Atomic uint64_t count;
    struct {
        uintptr_t base;
        size_t bytes;
    } last[CHANGES_KEPT];
} changes = {.lock = PTHREAD_MUTEX_INITIALIZER};

void bg__changes_record(uintptr_t base, size_t bytes)
{
    pthread_mutex_lock(&changes.lock);
    changes.last[changes.count % CHANGES_KEPT].base = base;
    changes.last[changes.count % CHANGES_KEPT].bytes = bytes;
    changes.count++;
    pthread_mutex_unlock(&changes.lock);
}

uint64_t bg__changes_count(void)
{
    return changes.count;
}

bool bg__changes_overlap(uint64_t since, const bg__allocations *set)
{
    bool met;
    pthread_mutex_lock(&changes.lock);
    met = changes.count - since > CHANGES_KEPT;
    for (uint64_t i = since; i < changes.count && !met; i++)
        met = changes.last[i % CHANGES_KEPT].bytes == 0 ||
              bg__allocations_overlap(set, changes.last[i % CHANGES_KEPT].base, changes.last[i % CHANGES_KEPT].bytes);
    pthread_mutex_unlock(&changes.lock);
    return met;
}
