#include "allocation_changes.h"

#include <pthread.h>

#include "debug/attach/events/subscribers.h"
#include "debug/memory/free_sites.h"

enum { CHANGES_KEPT = 256 }; /* number of changes that are kept; after more, every allocation may have changed */

static struct {
    pthread_mutex_t lock;
    _Atomic uint64_t count;
    struct {
        uintptr_t base;
        size_t bytes;
    } last[CHANGES_KEPT];
} changes = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Only when a graph may use the memory, so that programs without graphs allocate at full speed. */
static void record_change(const bg__event *event)
{
    if (!bg__events_have_graphs())
        return;
    pthread_mutex_lock(&changes.lock);
    changes.last[changes.count % CHANGES_KEPT].base = event->base;
    changes.last[changes.count % CHANGES_KEPT].bytes = event->bytes;
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

static void record_free(const bg__event *event)
{
    const bg__stack *stack = event->bytes > 0 && bg__events_have_graphs() ? bg__stack_here() : NULL;
    if (stack != NULL)
        bg__frees_record(event->base, event->bytes, bg__stack_site(stack));
}

const bg__subscriber bg__fact_changes = {
    .name = "changes of memory", .on = {[BG__MEMORY_CHANGED] = record_change, [BG__MEMORY_FREED] = record_free}};
