/* The addresses of all tensors at capture: which field of which call had each one, and which allocation it was in. */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

void bg__recorded_addresses_clear(bg__recorded_addresses *noted)
{
    for (int level = 0; level < BG__LEVELS; level++)
        free(noted->order[level].list);
    for (int i = 0; i < noted->chunk_count; i++)
        free(noted->chunks[i]);
    free(noted->chunks);
    free(noted->owners);
    *noted = (bg__recorded_addresses){0};
}

/* ---- owners, each looked up once ---- */

/* The number of owners of the level that begin at or before the address. */
static int count_owners_until(const bg__recorded_addresses *noted, bg__owner_level level, uintptr_t address)
{
    const bg__owner_index *order = &noted->order[level];
    int low = 0, high = order->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (noted->owners[order->list[middle]].owner.base <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Inserts an owner into the list by address. It replaces earlier owners that it overlaps. */
static bg_status insert_owner_sorted(bg__recorded_addresses *noted, bg__owner_level level, int index)
{
    bg__owner_index *order = &noted->order[level];
    const bg__owner *owner = &noted->owners[index].owner;
    int at = count_owners_until(noted, level, owner->base), end = at;
    bg_status status;

    while (end < order->count && noted->owners[order->list[end]].owner.base - owner->base < owner->bytes)
        end++;
    if (at > 0 && bg__owner_contains(&noted->owners[order->list[at - 1]].owner, owner->base))
        at--;
    noted->replaced |= level == BG__DRIVER && end > at;
    BG__TRY(BG__ARRAY_GROW(order->list, order->count, order->capacity, "addresses"));
    memmove(&order->list[at + 1], &order->list[end], (size_t)(order->count - end) * sizeof *order->list);
    order->list[at] = index;
    order->count += 1 - (end - at);
    if (end > at)
        memset(order->recent, 0, sizeof order->recent);
done:
    return status;
}

static bg_status add_owner(bg__recorded_addresses *noted, bg__owner_level level, const bg__owner *owner,
                           uint64_t version, int *index)
{
    bg_status status;
    BG__TRY(BG__ARRAY_GROW(noted->owners, noted->owner_count, noted->owner_capacity, "owners of addresses"));
    *index = noted->owner_count;
    noted->owners[noted->owner_count++] = (bg__recorded_owner){.owner = *owner, .level = level, .version = version};
    BG__TRY(insert_owner_sorted(noted, level, *index));
done:
    return status;
}

/* Returns the cache entry for an address: a pass uses the same few tensors again and again. */
static inline bg__recent_owner *recent_slot(bg__owner_index *order, uintptr_t address)
{
    return &order->recent[(address >> 8) % BG__RECENT];
}

/* An address that was recorded earlier in this capture is not looked up again: if its allocation has been freed since,
 * the graph is stale already. Registered blocks and pools may change during a capture; an owner found under another
 * version is not used. */
static bool find_known_owner(bg__recorded_addresses *noted, bg__owner_level level, uintptr_t address, uint64_t version,
                             int *index)
{
    bg__owner_index *order = &noted->order[level];
    const bg__recorded_owner *known;
    bg__recent_owner *recent;
    if (order->count == 0)
        return false;
    recent = recent_slot(order, address);
    *index = recent->owner;
    known = &noted->owners[*index];
    if (address - recent->base >= recent->bytes) {
        int count = count_owners_until(noted, level, address);
        if (count == 0)
            return false;
        *index = order->list[count - 1];
        known = &noted->owners[*index];
        *recent = (bg__recent_owner){known->owner.base, known->owner.bytes, *index};
    }
    return bg__owner_contains(&known->owner, address) && (level == BG__DRIVER || known->version == version);
}

/* *index becomes -1 if the address has no owner on that level. */
static bg_status find_or_add_owner(bg__recorded_addresses *noted, bg__owner_level level, uintptr_t address, int *index)
{
    uint64_t version = level == BG__DRIVER ? 0 : bg__ledger_version();
    bg__owner owner;
    bg_status status = BG_OK;
    int last;

    if (find_known_owner(noted, level, address, version, index))
        return BG_OK;
    *index = -1;
    if (!bg__ledger_has_owners(level))
        return BG_OK;
    BG__TRY(bg__owner_find(level, (const void *)address, &owner));
    if (owner.kind == BG__OWNER_NONE)
        goto done;
    last = count_owners_until(noted, level, address) - 1;
    if (last >= 0) {
        bg__recorded_owner *known = &noted->owners[noted->order[level].list[last]];
        if (known->owner.generation == owner.generation && known->owner.freed == owner.freed &&
            known->owner.base == owner.base && known->owner.bytes == owner.bytes) {
            known->version = version;
            *index = noted->order[level].list[last];
            goto done;
        }
    }
    BG__TRY(add_owner(noted, level, &owner, version, index));
done:
    return status;
}

/* ---- tensors ---- */

static size_t bytes_to_owner_end(const bg__recorded_addresses *noted, int index, uintptr_t address)
{
    const bg__owner *owner = &noted->owners[index].owner;
    return owner->base + owner->bytes - address;
}

static bg_status add_chunk(bg__recorded_addresses *noted)
{
    bg__recorded_tensor *chunk = NULL;
    bg_status status;

    BG__TRY(BG__ARRAY_GROW(noted->chunks, noted->chunk_count, noted->chunk_capacity, "addresses"));
    chunk = malloc(BG__RECORDED_CHUNK * sizeof *chunk);
    if (chunk == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %d addresses", BG__RECORDED_CHUNK);
    noted->chunks[noted->chunk_count++] = chunk;
done:
    return status;
}

/* Appends a copy of `as`. The caller fills it in, and then counts it. */
static bg_status begin_record(bg__recorded_addresses *noted, const bg__recorded_tensor *as, bg__recorded_tensor **note)
{
    bg_status status = BG_OK;
    if (noted->count == noted->chunk_count * BG__RECORDED_CHUNK)
        BG__TRY(add_chunk(noted));
    *note = bg__recorded_addresses_get(noted, noted->count);
    **note = *as;
done:
    return status;
}

/* Whether mapped memory continues in the next mapping of the same address range. */
static bool continues_in_mapping(const bg__recorded_addresses *noted, int from, int to)
{
    return to >= 0 && to != from && noted->owners[from].owner.range == noted->owners[to].owner.range;
}

/* Adds an entry for each mapping of the driver that the tensor is in; most are in one. `as` describes the whole
 * tensor. */
static bg_status record_pieces(bg__recorded_addresses *noted, const bg__recorded_tensor *as)
{
    uintptr_t address = as->address;
    size_t rest = as->bytes;
    bg_status status;
    int next = -1;

    BG__TRY(find_or_add_owner(noted, BG__DRIVER, address, &next));
    for (;;) {
        size_t room = next < 0 ? rest : bytes_to_owner_end(noted, next, address);
        bool ends = rest <= room;
        bg__recorded_tensor *note;
        BG__TRY(begin_record(noted, as, &note));
        note->address = address;
        note->before = as->before + (address - as->address);
        note->bytes = ends ? rest : room;
        note->owners[BG__DRIVER] = next;
        if (!ends) {
            BG__TRY(find_or_add_owner(noted, BG__DRIVER, address + room, &next));
            ends = !continues_in_mapping(noted, note->owners[BG__DRIVER], next);
            note->beyond = ends ? rest - room + as->beyond : 0;
        }
        noted->count++;
        if (ends)
            break;
        address += room;
        rest -= room;
    }
done:
    return status;
}

bg_status bg__recorded_addresses_add(bg__recorded_addresses *noted, const bg__recorded_tensor *as,
                                     const bg_tensor *tensor)
{
    bg__recorded_tensor note;
    size_t bytes = bg_tensor_bytes(tensor);
    bg__recorded_tensor *pooled;
    bg_status status = BG_OK;

    if (tensor->data == NULL || bytes == 0)
        return BG_OK;
    note = *as;
    note.address = (uintptr_t)tensor->data;
    note.owners[BG__DRIVER] = -1;
    for (int level = BG__REGISTERED; level <= BG__POOLED; level++) {
        size_t room;
        note.owners[level] = -1;
        if (noted->order[level].count == 0 && !bg__ledger_has_owners((bg__owner_level)level))
            continue;
        BG__TRY(find_or_add_owner(noted, (bg__owner_level)level, note.address, &note.owners[level]));
        if (note.owners[level] < 0)
            continue;
        room = bytes_to_owner_end(noted, note.owners[level], note.address);
        note.beyond += bytes > room ? bytes - room : 0;
        bytes = bytes > room ? room : bytes;
    }
    note.bytes = bytes;
    if (note.owners[BG__POOLED] < 0) {
        status = record_pieces(noted, &note);
    } else { /* a pool keeps its mappings as long as it lives */
        BG__TRY(begin_record(noted, &note, &pooled));
        noted->count++;
    }
done:
    return status;
}

/* ---- calls ---- */

/* Whether an owner on one of the two inner levels is known, or may be found. */
static bool has_inner_owners(const bg__recorded_addresses *noted)
{
    return noted->order[BG__REGISTERED].count + noted->order[BG__POOLED].count > 0 || bg__ledger_has_inner_owners();
}

/* A tensor of a call. */
typedef struct tensor_place {
    const bg__call *call;
    const bg__eager_call *eager;
    const bg_field *field;
    int element;
} tensor_place;

static inline uint32_t tensor_offset(tensor_place at)
{
    return at.field->offset + (uint32_t)at.element * (uint32_t)sizeof(bg_tensor);
}

/* As bg__recorded_addresses_add, but faster, for most tensors: they are in an allocation that was found before, and in
 * no inner owner. Returns false for any other tensor, which bg__recorded_addresses_add must record. */
static inline bool record_known_tensor(bg__recorded_addresses *noted, tensor_place at, const bg_tensor *tensor)
{
    uintptr_t address = (uintptr_t)tensor->data;
    const bg__recent_owner *recent = recent_slot(&noted->order[BG__DRIVER], address);
    uintptr_t inside = address - recent->base;
    size_t bytes;

    if (address == 0 || !bg__tensor_get_bytes(tensor, &bytes) || bytes == 0)
        return true; /* no memory */
    if (inside >= recent->bytes || bytes > recent->bytes - inside || (unsigned)noted->count % BG__RECORDED_CHUNK == 0)
        return false;
    *bg__recorded_addresses_get(noted, noted->count++) = (bg__recorded_tensor){at.call,
                                                                               at.eager,
                                                                               at.field,
                                                                               NULL,
                                                                               at.element,
                                                                               tensor_offset(at),
                                                                               address,
                                                                               bytes,
                                                                               0,
                                                                               0,
                                                                               {-1, -1, recent->owner}};
    return true;
}

static __attribute__((noinline)) bg_status record_tensor(bg__recorded_addresses *noted, tensor_place at,
                                                         const bg_tensor *tensor)
{
    const bg__recorded_tensor as = {
        .call = at.call, .eager = at.eager, .field = at.field, .element = at.element, .offset = tensor_offset(at)};
    return bg__recorded_addresses_add(noted, &as, tensor);
}

bg_status bg__graph_record_call_tensors(bg_graph *graph, const bg__call *call, const bg__eager_call *eager,
                                        const void *args)
{
    bool plain = !has_inner_owners(&graph->noted);
    const bg_field *end = call->op->fields + call->op->field_count;
    bg_status status = BG_OK;

    for (const bg_field *field = call->op->fields; field < end; field++) {
        const bg_tensor *tensors = bg__field_tensors(field, args);
        int count = bg__field_count_tensors(field);
        for (int i = 0; i < count; i++) {
            tensor_place at = {call, eager, field, i};
            if (!plain || !record_known_tensor(&graph->noted, at, &tensors[i]))
                BG__TRY(record_tensor(&graph->noted, at, &tensors[i]));
        }
    }
done:
    return status;
}
