/* The places of calls in a list, found by name or by call. */
#ifndef BG_DEBUG_CALL_INDEX_H
#define BG_DEBUG_CALL_INDEX_H

#include "op/op.h"

typedef struct bg__call_key {
    const char *name; /* "": none */
    const bg__call *call;
} bg__call_key;

/* Starts zeroed. */
typedef struct bg__call_index {
    bg__call_key *keys; /* in order of the list */
    size_t count, capacity;
    size_t *by_name, *by_call; /* hash tables of indexes into keys, plus 1; 0: free slot */
    size_t slots;              /* slots of each table, a power of two */
} bg__call_index;

/* Adds the next call of the list. The name is not copied. Errors: OUT_OF_MEMORY. */
bg_status bg__call_index_add(bg__call_index *index, const char *name, const bg__call *call);
/* Find the first key with that name, or the key of that call; NULL: there is none. key - index->keys is its place in
 * the list. */
const bg__call_key *bg__call_index_find_name(const bg__call_index *index, const char *name);
const bg__call_key *bg__call_index_find_call(const bg__call_index *index, const bg__call *call);
/* Gives each call the name that `name` returns; "": the call has no name, and is found only by the call. */
void bg__call_index_rename(bg__call_index *index, const char *(*name)(void *user, size_t place), void *user);
void bg__call_index_clear(bg__call_index *index);
void bg__call_index_free(bg__call_index *index);

#endif
