/* A set of the handles that the program holds. Open addressing; removed entries leave a mark. */
#include "hostcuda/core/state.h"

#include <stdlib.h>

struct entry {
    const void *handle;
    enum hc_handle kind;
};

static char removed_mark;
static struct entry *entries;
static size_t capacity, used; /* used counts marks too */

static size_t slot_of(const void *handle)
{
    uint64_t hash = (uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15u;
    return (size_t)(hash >> 20) & (capacity - 1);
}

static struct entry *find(const void *handle)
{
    if (!capacity)
        return NULL;
    for (size_t i = slot_of(handle); entries[i].handle; i = (i + 1) & (capacity - 1))
        if (entries[i].handle == handle)
            return &entries[i];
    return NULL;
}

static void place(struct entry entry)
{
    size_t i = slot_of(entry.handle);
    while (entries[i].handle)
        i = (i + 1) & (capacity - 1);
    entries[i] = entry;
    used++;
}

static bool grow(void)
{
    size_t live = 0, old_capacity = capacity;
    struct entry *old = entries;
    for (size_t i = 0; i < old_capacity; i++)
        live += old[i].handle && old[i].handle != &removed_mark;
    size_t wanted = 256;
    while (wanted < live * 4)
        wanted *= 2;
    struct entry *fresh = calloc(wanted, sizeof *fresh);
    if (!fresh)
        return false;
    entries = fresh;
    capacity = wanted;
    used = 0;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].handle && old[i].handle != &removed_mark)
            place(old[i]);
    free(old);
    return true;
}

bool hc_handle_add(enum hc_handle kind, const void *handle)
{
    if ((used + 1) * 2 > capacity && !grow())
        return false;
    place((struct entry){handle, kind});
    return true;
}

void hc_handle_remove(const void *handle)
{
    struct entry *entry = find(handle);
    if (entry)
        entry->handle = &removed_mark;
}

bool hc_handle_is(enum hc_handle kind, const void *handle)
{
    struct entry *entry = handle ? find(handle) : NULL;
    return entry && entry->kind == kind;
}

size_t hc_handle_count(enum hc_handle kind)
{
    size_t count = 0;
    for (size_t i = 0; i < capacity; i++)
        count += entries[i].handle && entries[i].handle != &removed_mark && entries[i].kind == kind;
    return count;
}
