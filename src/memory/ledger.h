/* Owners of addresses, on three levels, each inside the next: a block that an allocator reported (bg_ledger_alloc), a
 * block of a pool, an allocation of the driver. */
#ifndef BG_MEMORY_LEDGER_H
#define BG_MEMORY_LEDGER_H

#include <breakgraph/memory.h>

#include "base/base.h"

typedef enum bg__owner_level { BG__REGISTERED, BG__POOLED, BG__DRIVER, BG__LEVELS } bg__owner_level;

typedef enum bg__owner_kind {
    BG__OWNER_NONE, /* unknown: pageable host memory, or freed memory */
    BG__OWNER_REGISTERED,
    BG__OWNER_POOL,
    BG__OWNER_DEVICE,
    BG__OWNER_PINNED,
    BG__OWNER_MANAGED
} bg__owner_kind;

enum { BG__OWNER_NAME = 64 };

typedef struct bg__owner {
    bg__owner_kind kind;
    bool freed;     /* the other fields describe it as it was */
    bool shared;    /* a block of a pool's bucket, whose addresses other graphs use too */
    uintptr_t base; /* of the block, allocation or mapping */
    size_t bytes;
    uint64_t generation;       /* never the same for two owners of a level */
    uint64_t pool;             /* the generation of the pool */
    uintptr_t range;           /* a mapping: the begin of its reserved address range; else base */
    char name[BG__OWNER_NAME]; /* "": none; truncated if it is too long */
} bg__owner;

static inline bool bg__owner_contains(const bg__owner *owner, uintptr_t address)
{
    return owner->kind != BG__OWNER_NONE && address - owner->base < owner->bytes;
}

/* The owner of the address on that level, live or freed; kind NONE if there is none. */
bg_status bg__owner_find(bg__owner_level level, const void *ptr, bg__owner *owner);
/* Finds the block of that name that was reported after generation; false: there is none, or more than one. */
bool bg__owner_find_by_name(const char *name, uint64_t generation, bg__owner *owner);
/* "block "kv" of 4096 bytes at 0x... (allocation id 7)" */
const char *bg__owner_describe(const bg__owner *owner, char *text, size_t bytes);

/* As bg__owner_find, for level BG__DRIVER. */
bg_status bg__driver_find_owner(const void *ptr, bg__owner *owner);
/* The driver's generation of the allocation at ptr; 0: there is none. Makes one query. */
bg_status bg__driver_get_generation(const void *ptr, uint64_t *generation);

/* Whether there is any owner on that level. */
bool bg__ledger_has_owners(bg__owner_level level);
/* The same for either of the two inner levels. */
bool bg__ledger_has_inner_owners(void);
/* A number that changes with each change of the two inner levels. */
uint64_t bg__ledger_version(void);

/* Changes the size of a registered block in place. Does nothing for any other pointer. */
void bg__ledger_resize(void *ptr, size_t bytes);

/* Lock the ledger while a pool's blocks change, since other threads may look them up. */
void bg__ledger_lock(void);
void bg__ledger_unlock(void);           /* after a change */
void bg__ledger_unlock_unchanged(void); /* after none */
/* Returns the generation for a new owner. The ledger must be locked. */
uint64_t bg__ledger_new_generation_locked(void);
/* Adds change, 1 or -1, to the number of pools. */
void bg__ledger_adjust_pool_count(int change);
/* As bg__owner_find, for level BG__REGISTERED. *owner must have the kind NONE at the call. */
bg_status bg__ledger_find_owner(const void *ptr, bg__owner *owner);

#endif
