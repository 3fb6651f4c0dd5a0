#include "call_index.h"

#include <stdlib.h>
#include <string.h>

#include "debug/memory/allocate.h"

/* FNV-1a (Fowler, Noll, Vo). */
static size_t hash_name(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325U;
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3U;
    return (size_t)(hash ^ (hash >> 32));
}

/* The golden ratio spreads addresses, whose lowest bits are alike. */
static size_t hash_call(const bg__call *call)
{
    uint64_t hash = (uint64_t)(uintptr_t)call * 0x9e3779b97f4a7c15U;
    return (size_t)(hash >> 32);
}

/* Among keys with the same hash, the first one that was added comes first. */
static void insert_place(size_t *table, size_t slots, size_t hash, size_t place)
{
    size_t at = hash & (slots - 1);
    while (table[at] != 0)
        at = (at + 1) & (slots - 1);
    table[at] = place + 1;
}

static void insert_key(bg__call_index *index, size_t place)
{
    if (index->keys[place].name[0] != '\0')
        insert_place(index->by_name, index->slots, hash_name(index->keys[place].name), place);
    insert_place(index->by_call, index->slots, hash_call(index->keys[place].call), place);
}

static void insert_all_keys(bg__call_index *index)
{
    for (size_t i = 0; i < index->count; i++)
        insert_key(index, i);
}

/* Half of the slots stay free, so that searches are short. */
static bg_status enlarge_tables(bg__call_index *index)
{
    size_t slots = index->slots > 0 ? 2 * index->slots : 64, *by_name = NULL, *by_call = NULL;
    bg_status status;

    BG__TRY(BG__ALLOCATE(by_name, slots, "calls"));
    BG__TRY(BG__ALLOCATE(by_call, slots, "calls"));
    free(index->by_name);
    free(index->by_call);
    index->by_name = by_name;
    index->by_call = by_call;
    index->slots = slots;
    by_name = NULL;
    insert_all_keys(index);
done:
    free(by_name);
    return status;
}

bg_status bg__call_index_add(bg__call_index *index, const char *name, const bg__call *call)
{
    bg_status status;

    BG__TRY(BG__ARRAY_GROW(index->keys, index->count, index->capacity, "calls"));
    if (2 * (index->count + 1) > index->slots)
        BG__TRY(enlarge_tables(index));
    index->keys[index->count] = (bg__call_key){name, call};
    insert_key(index, index->count++);
done:
    return status;
}

const bg__call_key *bg__call_index_find_name(const bg__call_index *index, const char *name)
{
    for (size_t at = hash_name(name); index->count > 0; at++) {
        size_t place = index->by_name[at & (index->slots - 1)];
        if (place == 0)
            break;
        if (strcmp(index->keys[place - 1].name, name) == 0)
            return &index->keys[place - 1];
    }
    return NULL;
}

const bg__call_key *bg__call_index_find_call(const bg__call_index *index, const bg__call *call)
{
    for (size_t at = hash_call(call); index->count > 0; at++) {
        size_t place = index->by_call[at & (index->slots - 1)];
        if (place == 0)
            break;
        if (index->keys[place - 1].call == call)
            return &index->keys[place - 1];
    }
    return NULL;
}

static void clear_tables(bg__call_index *index)
{
    if (index->slots == 0)
        return;
    memset(index->by_name, 0, index->slots * sizeof *index->by_name);
    memset(index->by_call, 0, index->slots * sizeof *index->by_call);
}

void bg__call_index_rename(bg__call_index *index, const char *(*name)(void *user, size_t place), void *user)
{
    clear_tables(index);
    for (size_t i = 0; i < index->count; i++)
        index->keys[i].name = name(user, i);
    insert_all_keys(index);
}

void bg__call_index_clear(bg__call_index *index)
{
    clear_tables(index);
    index->count = 0;
}

void bg__call_index_free(bg__call_index *index)
{
    free(index->keys);
    free(index->by_name);
    free(index->by_call);
    *index = (bg__call_index){0};
}
