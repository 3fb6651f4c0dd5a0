#include "memory_ids.h"

#include <breakgraph/attach.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "debug/memory/hash_table.h"

#include "debug/attach/memory/blocks.h"
#include "debug/attach/memory/memory_owners.h"
#include "debug/attach/report/memory_names.h"
#include "debug/attach/stacks/symbols.h"
#include "debug/check/node_pointers.h"

/* A number that was given out; it lives as long as the process. */
typedef struct known_id {
    size_t owner;
    UT_hash_handle hh;
    char key[]; /* id and thread */
} known_id;
static known_id *known_ids;

/* ---- the process's own memory ----------------------------------------------------------------------------------- */

/* Reads the ranges of host addresses, since these differ from run to run. Low addresses are left out: they count as
 * numbers, though a program that is not position-independent lies there. */
static bg_status read_host_mappings(bg__spans *host)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t room = 0;
    bg_status status = BG_OK;

    while (maps != NULL && getline(&line, &room, maps) > 0) {
        char *dash;
        uintptr_t begin = strtoull(line, &dash, 16);
        uintptr_t end = *dash == '-' ? strtoull(dash + 1, NULL, 16) : 0;
        if (begin > UINT32_MAX && begin < end)
            BG__TRY(bg__spans_add(host, begin, end));
    }
done:
    free(line);
    if (maps != NULL)
        (void)fclose(maps);
    return status;
}

bg_status bg__memory_ids_begin(bg__memory_ids *ids, bg_graph *graph, const bg__nodes *nodes,
                               bg__memory_id_callback *tell)
{
    bg_status status;

    *ids = (bg__memory_ids){.tell = tell};
    BG__TRY(bg__recorded_allocations_get(graph, &ids->notes));
    BG__TRY(bg__nodes_list_allocations(nodes, &ids->own));
    BG__TRY(read_host_mappings(&ids->host));
done:
    return status;
}

void bg__memory_ids_end(bg__memory_ids *ids)
{
    bg__allocations_free(&ids->own);
    bg__spans_free(&ids->host);
}

/* The caller frees the name. NULL: no symbol begins at this address. */
static char *find_symbol_at(const Dl_info *about, const void *at)
{
    size_t offset = 0;
    char *found, *name;

    if (about->dli_sname != NULL && about->dli_saddr == at)
        found = strdup(about->dli_sname);
    else
        found = bg__find_symbol(about, at, &offset);
    name = found != NULL && offset == 0 ? bg__demangle(found) : NULL;
    if (name == NULL && offset == 0)
        return found;
    free(found);
    return name;
}

bool bg__code_address_text(uintptr_t address, char *text, size_t bytes)
{
    const void *at = (const void *)address; /* NOLINT(performance-no-int-to-ptr) */
    const char *file;
    char *symbol;
    Dl_info about;

    if (dladdr(at, &about) == 0 || about.dli_fname == NULL)
        return false;
    file = strrchr(about.dli_fname, '/');
    file = file != NULL ? file + 1 : about.dli_fname;
    symbol = find_symbol_at(&about, at);
    if (symbol != NULL)
        snprintf(text, bytes, "%.200s in %.100s", symbol, file);
    else
        snprintf(text, bytes, "%.100s+0x%zx", file, (size_t)(address - (uintptr_t)about.dli_fbase));
    free(symbol);
    return true;
}

/* ---- what an address is in -------------------------------------------------------------------------------------- */

typedef struct described_memory {
    size_t offset;
    char id[96], text[400];
    const char *stack; /* of the allocating call; NULL: unknown */
    long thread;       /* that made that call; -1: unknown */
    uintptr_t base;    /* of the driver's allocation */
    size_t bytes;      /* 0: not an allocation of the driver */
} described_memory;

static bool describe_named_memory(uintptr_t address, described_memory *p)
{
    char name[BG_ATTACH_NAME_BYTES];

    if (!bg__memory_name_find(address, name, &p->offset))
        return false;
    snprintf(p->id, sizeof p->id, "name %s", name);
    snprintf(p->text, sizeof p->text, "%s", name);
    return true;
}

static bool describe_graph_allocation(const bg__allocations *own, uintptr_t address, described_memory *p)
{
    const bg__allocation *found = bg__allocations_find(own, address);

    if (found == NULL)
        return false;
    snprintf(p->id, sizeof p->id, "node %llu", found->id);
    snprintf(p->text, sizeof p->text, "memory of the graph's allocation node %llu", found->id);
    p->offset = address - found->base;
    return true;
}

/* Identifies memory by its size if nobody has seen the call that allocated it, as for a module's variable: only the
 * size is the same in another run. */
static void describe_by_size(uintptr_t address, uintptr_t base, size_t bytes, described_memory *p)
{
    snprintf(p->id, sizeof p->id, "bytes %zu", bytes);
    snprintf(p->text, sizeof p->text, "memory of %zu bytes", bytes);
    p->offset = address - base;
}

/* "allocation #2 (4096 bytes) at make_buffers+0x14 in program", "event #0 at main+0x14 in program" */
static bool describe_program_allocation(uintptr_t address, described_memory *p)
{
    bg__memory_owner owner;
    bg_site site;
    char line[24] = "", size[40] = "";

    if (!bg__owners_find(address, &owner))
        return false;
    p->base = owner.base;
    p->bytes = owner.bytes;
    if (owner.made == NULL && owner.event) {
        snprintf(p->id, sizeof p->id, "event");
        snprintf(p->text, sizeof p->text, "an event");
        return true;
    }
    if (owner.made == NULL) {
        describe_by_size(address, owner.base, owner.bytes, p);
        return true;
    }
    site = bg__stack_site(owner.made);
    if (site.line > 0)
        snprintf(line, sizeof line, ":%d", site.line);
    p->stack = bg__stack_text(owner.made);
    p->thread = (long)owner.thread;
    snprintf(p->id, sizeof p->id, "%s %016" PRIx64 " %lu", owner.event ? "event" : "made", bg__text_hash(p->stack),
             owner.ordinal);
    if (!owner.event)
        snprintf(size, sizeof size, " (%zu bytes)", owner.bytes);
    snprintf(p->text, sizeof p->text, "%s #%lu%s at %.300s%s", owner.event ? "event" : "allocation", owner.ordinal,
             size, site.file != NULL ? site.file : "an unknown place", line);
    p->offset = address - owner.base;
    return true;
}

/* A variable of the host device is a symbol of a loaded file. */
static bool describe_variable(uintptr_t address, uintptr_t base, described_memory *p)
{
    char name[BG__CODE_ADDRESS_TEXT];

    if (!bg__code_address_text(base, name, sizeof name))
        return false;
    snprintf(p->id, sizeof p->id, "variable %016" PRIx64, bg__text_hash(name));
    snprintf(p->text, sizeof p->text, "%s", name);
    p->offset = address - base;
    return true;
}

static bool describe_cuda_allocation(const bg__allocations *notes, uintptr_t address, described_memory *p)
{
    const bg__allocation *found = bg__allocations_find(notes, address);

    if (found != NULL && !describe_variable(address, found->base, p))
        describe_by_size(address, found->base, found->bytes, p);
    return found != NULL;
}

static bool describe_host_memory(const bg__spans *host, uintptr_t address, described_memory *p)
{
    snprintf(p->id, sizeof p->id, "host");
    snprintf(p->text, sizeof p->text, "host memory");
    return bg__spans_overlap(host, address, address + 1);
}

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

static const known_id *find_known_id(const char *key)
{
    size_t length = strlen(key);
    known_id *t;
    HASH_FIND(hh, known_ids, key, length, t);
    return t;
}

/* NULL: no host memory. */
static const known_id *add_known_id(const char *key)
{
    size_t length = strlen(key);
    known_id *t = calloc(1, sizeof *t + length + 1);
    if (t == NULL)
        return NULL;
    memcpy(t->key, key, length);
    t->owner = HASH_COUNT(known_ids);
    HASH_ADD_KEYPTR(hh, known_ids, t->key, length, t);
    return t;
}

static const known_id *tell(const bg__memory_ids *ids, const described_memory *p)
{
    const bg__memory_id id = {p->id, p->thread, p->text, p->stack != NULL ? p->stack : "",
                              p->bytes > 0 && bg__blocks_any_begins_in(p->base, p->bytes)};
    char key[sizeof p->id + 24];
    const known_id *t;

    snprintf(key, sizeof key, "%s %ld", p->id, p->thread);
    t = find_known_id(key);
    if (t != NULL)
        return t;
    t = add_known_id(key);
    if (t != NULL)
        ids->tell(t->owner, &id);
    return t;
}

bool bg__memory_ids_find(bg__memory_ids *ids, uint64_t word, size_t *owner, size_t *offset)
{
    const uintptr_t address = (uintptr_t)word;
    described_memory p = {.thread = -1};
    const known_id *t;

    if (!bg__pointer_may_be(word) ||
        (!describe_named_memory(address, &p) && !describe_graph_allocation(&ids->own, address, &p) &&
         !describe_program_allocation(address, &p) && !describe_cuda_allocation(ids->notes, address, &p) &&
         !describe_host_memory(&ids->host, address, &p)))
        return false;
    t = tell(ids, &p);
    if (t == NULL)
        return false;
    *owner = t->owner;
    *offset = p.offset;
    return true;
}
