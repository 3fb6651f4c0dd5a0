#include "memory_owners.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "debug/memory/hash_table.h"

#include "base/base.h"
#include "debug/attach/events/subscribers.h"
#include "base/grow.h"

/* The number of allocations from one stack in one thread. Each thread has its own number, since the order of threads
 * differs from run to run. */
typedef struct allocation_count {
    struct allocation_key {
        const bg__stack *stack;
        unsigned long thread;
    } key;
    unsigned long count;
    UT_hash_handle hh;
} allocation_count;

static struct {
    pthread_mutex_t lock;
    _Atomic bool on;
    bg__memory_owner *list; /* by address; none overlaps another */
    size_t count, capacity;
    allocation_count *allocation_counts;
} owners = {.lock = PTHREAD_MUTEX_INITIALIZER};

void bg__owners_enable(void)
{
    owners.on = true;
}

unsigned long bg__owners_thread_number(void)
{
    static _Atomic unsigned long threads;
    static _Thread_local unsigned long number; /* 0: none yet */

    if (number == 0)
        number = ++threads;
    return number - 1;
}

static allocation_count *find_count(const struct allocation_key *key)
{
    allocation_count *m;
    HASH_FIND(hh, owners.allocation_counts, key, sizeof *key, m);
    return m;
}

/* NULL: no host memory. */
static allocation_count *add_count(const struct allocation_key *key)
{
    allocation_count *m = calloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    m->key = *key;
    HASH_ADD(hh, owners.allocation_counts, key, sizeof m->key, m);
    return m;
}

/* Returns the index of the first one that ends above address. */
static size_t find_index(uintptr_t address)
{
    size_t low = 0, high = owners.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (owners.list[middle].base + owners.list[middle].bytes <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void remove_owners(size_t first, size_t behind)
{
    memmove(&owners.list[first], &owners.list[behind], (owners.count - behind) * sizeof *owners.list);
    owners.count -= behind - first;
}

static bg_status add_owner_locked(bg__memory_owner added)
{
    const struct allocation_key key = {added.made, added.thread};
    allocation_count *m = added.made != NULL ? find_count(&key) : NULL;
    size_t first, behind;
    bg_status status;

    if (m == NULL && added.made != NULL)
        m = add_count(&key);
    if (m == NULL)
        added.made = NULL;
    else
        added.ordinal = m->count++;
    BG__TRY(BG__ARRAY_GROW(owners.list, owners.count, owners.capacity, "allocations"));
    first = behind = find_index(added.base);
    while (behind < owners.count && owners.list[behind].base < added.base + added.bytes)
        behind++;
    remove_owners(first, behind);
    memmove(&owners.list[first + 1], &owners.list[first], (owners.count - first) * sizeof *owners.list);
    owners.list[first] = added;
    owners.count++;
done:
    return status;
}

static void record_owner(bg__memory_owner added)
{
    if (!owners.on || added.bytes == 0)
        return;
    added.made = bg__stack_here();
    added.thread = bg__owners_thread_number();
    pthread_mutex_lock(&owners.lock);
    if (add_owner_locked(added) != BG_OK)
        bg__warn("--attach: the allocations behind some addresses are unknown: %s", bg_last_error());
    pthread_mutex_unlock(&owners.lock);
}

static void add_memory(const bg__event *event)
{
    record_owner((bg__memory_owner){.base = event->base, .bytes = event->bytes});
}

static void add_event(const bg__event *event)
{
    record_owner((bg__memory_owner){.base = (uintptr_t)event->event, .bytes = 1, .event = true});
}

static void remove_owner(uintptr_t base)
{
    size_t at;

    if (!owners.on)
        return;
    pthread_mutex_lock(&owners.lock);
    at = find_index(base);
    if (at < owners.count && owners.list[at].base == base)
        remove_owners(at, at + 1);
    pthread_mutex_unlock(&owners.lock);
}

/* Before the call, since another thread may get the memory before the call returns. */
static void remove_memory(const bg__event *event)
{
    remove_owner(event->base);
}

static void remove_event(const bg__event *event)
{
    remove_owner((uintptr_t)event->event);
}

const bg__subscriber bg__fact_owners = {
    .name = "owners",
    .on = {[BG__MEMORY_MADE] = add_memory,
           [BG__MEMORY_FREEING] = remove_memory,
           [BG__EVENT_MADE] = add_event,
           [BG__EVENT_GOING] = remove_event},
};

bool bg__owners_find(uintptr_t address, bg__memory_owner *owner)
{
    bool found;
    size_t at;

    pthread_mutex_lock(&owners.lock);
    at = find_index(address);
    found = at < owners.count && owners.list[at].base <= address;
    if (found)
        *owner = owners.list[at];
    pthread_mutex_unlock(&owners.lock);
    return found;
}
