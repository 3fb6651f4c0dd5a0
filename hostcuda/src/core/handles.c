/* The set of the program's handles, a hash table with open addressing. A removed entry is replaced by later entries,
 * not by a tombstone: malloc returns the same addresses again and again, so tombstones would accumulate. */
#include "hostcuda/src/core/core_state.h"

#include <stdlib.h>

struct entry {
    const void *handle;
    enum hc_handle kind;
};

static struct entry *entries;
static size_t capacity, used;

static size_t slot_of(const void *handle)
{
    uint64_t hash = (uint64_t)(uintptr_t)handle * 0x9e3779b97f4a7c15u;
    return (size_t)(hash >> 20) & (capacity - 1);
}

static struct entry *find_entry_of_handle(const void *handle)
{
    if (!capacity)
        return NULL;
    for (size_t i = slot_of(handle); entries[i].handle; i = (i + 1) & (capacity - 1))
        if (entries[i].handle == handle)
            return &entries[i];
    return NULL;
}

static void place_entry(struct entry entry)
{
    size_t i = slot_of(entry.handle);
    while (entries[i].handle)
        i = (i + 1) & (capacity - 1);
    entries[i] = entry;
    used++;
}

static bool grow_table(void)
{
    enum { SMALLEST = 256 };
    size_t old_capacity = capacity;
    struct entry *old = entries, *fresh = calloc(capacity ? 2 * capacity : SMALLEST, sizeof *fresh);
    if (!fresh)
        return false;
    entries = fresh;
    capacity = capacity ? 2 * capacity : SMALLEST;
    used = 0;
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].handle)
            place_entry(old[i]);
    free(old);
    return true;
}

bool hc_handle_add(enum hc_handle kind, const void *handle)
{
    if ((used + 1) * 2 > capacity && !grow_table())
        return false;
    place_entry((struct entry){handle, kind});
    return true;
}

/* Removes the entry, which leaves a hole. Moves the next entry whose probe sequence passes through the hole into the
 * hole. That leaves another hole, and so on. */
void hc_handle_remove(const void *handle)
{
    struct entry *entry = find_entry_of_handle(handle);
    if (!entry)
        return;
    size_t mask = capacity - 1, hole = (size_t)(entry - entries);
    for (size_t i = (hole + 1) & mask; entries[i].handle; i = (i + 1) & mask) {
        if (((i - slot_of(entries[i].handle)) & mask) < ((i - hole) & mask))
            continue;
        entries[hole] = entries[i];
        hole = i;
    }
    entries[hole] = (struct entry){0};
    used--;
}

bool hc_handle_is(enum hc_handle kind, const void *handle)
{
    struct entry *entry = handle ? find_entry_of_handle(handle) : NULL;
    return entry && entry->kind == kind;
}

size_t hc_handle_count(enum hc_handle kind)
{
    size_t count = 0;
    for (size_t i = 0; i < capacity; i++)
        count += entries[i].handle && entries[i].kind == kind;
    return count;
}
