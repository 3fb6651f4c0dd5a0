/* The addresses of all tensors at capture: which field of which call had each one, and which allocation it was in. */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

void bg__noted_clear(bg__noted *noted)
{
    for (int level = 0; level < BG__LEVELS; level++)
        free(noted->order[level].list);
    for (int i = 0; i < noted->chunk_count; i++)
        free(noted->chunks[i]);
    free(noted->chunks);
    free(noted->owners);
    *noted = (bg__noted){0};
}

/* ---- owners, each looked up once ---- */

/* The number of owners of the level that begin at or before the address. */
static int count_until(const bg__noted *noted, bg__level level, uintptr_t address)
{
    const bg__noted_order *order = &noted->order[level];
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
static bg_status put_in_order(bg__noted *noted, bg__level level, int index)
{
    bg__noted_order *order = &noted->order[level];
    const bg__owner *owner = &noted->owners[index].owner;
    int at = count_until(noted, level, owner->base), end = at;
    bg_status status;

    while (end < order->count && noted->owners[order->list[end]].owner.base - owner->base < owner->bytes)
        end++;
    if (at > 0 && bg__owner_has(&noted->owners[order->list[at - 1]].owner, owner->base))
        at--;
    noted->replaced |= level == BG__DRIVER && end > at;
    BG__TRY(BG__GROW(order->list, order->count, order->capacity, "addresses"));
    memmove(&order->list[at + 1], &order->list[end], (size_t)(order->count - end) * sizeof *order->list);
    order->list[at] = index;
    order->count += 1 - (end - at);
    if (end > at)
        memset(order->recent, 0, sizeof order->recent);
done:
    return status;
}

static bg_status add_owner(bg__noted *noted, bg__level level, const bg__owner *owner, uint64_t version, int *index)
{
    bg_status status;
    BG__TRY(BG__GROW(noted->owners, noted->owner_count, noted->owner_capacity, "owners of addresses"));
    *index = noted->owner_count;
    noted->owners[noted->owner_count++] = (bg__noted_owner){.owner = *owner, .level = level, .version = version};
    BG__TRY(put_in_order(noted, level, *index));
done:
    return status;
}

/* Returns the cache entry for an address: a pass uses the same few tensors again and again. */
static inline bg__noted_recent *recent_slot(bg__noted_order *order, uintptr_t address)
{
    return &order->recent[(address >> 8) % BG__RECENT];
}

/* An address that was recorded earlier in this capture is not looked up again: if its allocation has been freed since,
 * the graph is stale already. The two inner levels may change during a capture; the version shows when. */
static bool is_known(bg__noted *noted, bg__level level, uintptr_t address, uint64_t version, int *index)
{
    bg__noted_order *order = &noted->order[level];
    const bg__noted_owner *known;
    bg__noted_recent *recent;
    if (order->count == 0)
        return false;
    recent = recent_slot(order, address);
    *index = recent->owner;
    known = &noted->owners[*index];
    if (address - recent->base >= recent->bytes) {
        int count = count_until(noted, level, address);
        if (count == 0)
            return false;
        *index = order->list[count - 1];
        known = &noted->owners[*index];
        *recent = (bg__noted_recent){known->owner.base, known->owner.bytes, *index};
    }
    return bg__owner_has(&known->owner, address) && (level == BG__DRIVER || known->version == version);
}

/* *index becomes -1 if the address has no owner on that level. */
static bg_status find_owner(bg__noted *noted, bg__level level, uintptr_t address, int *index)
{
    uint64_t version = level == BG__DRIVER ? 0 : bg__ledger_version();
    bg__owner owner;
    bg_status status = BG_OK;
    int last;

    if (is_known(noted, level, address, version, index))
        return BG_OK;
    *index = -1;
    if (!bg__ledger_has(level))
        return BG_OK;
    BG__TRY(bg__owner_find(level, (const void *)address, &owner));
    if (owner.kind == BG__OWNER_NONE)
        goto done;
    last = count_until(noted, level, address) - 1;
    if (last >= 0) {
        bg__noted_owner *known = &noted->owners[noted->order[level].list[last]];
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

static size_t room_in(const bg__noted *noted, int index, uintptr_t address)
{
    const bg__owner *owner = &noted->owners[index].owner;
    return owner->base + owner->bytes - address;
}

static bg_status add_chunk(bg__noted *noted)
{
    bg__note *chunk = NULL;
    bg_status status;

    BG__TRY(BG__GROW(noted->chunks, noted->chunk_count, noted->chunk_capacity, "addresses"));
    chunk = malloc(BG__NOTE_CHUNK * sizeof *chunk);
    if (chunk == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %d addresses", BG__NOTE_CHUNK);
    noted->chunks[noted->chunk_count++] = chunk;
done:
    return status;
}

/* Appends a copy of as. The caller fills it in, and then counts it. */
static bg_status begin_note(bg__noted *noted, const bg__note *as, bg__note **note)
{
    bg_status status = BG_OK;
    if (noted->count == noted->chunk_count * BG__NOTE_CHUNK)
        BG__TRY(add_chunk(noted));
    *note = bg__noted_at(noted, noted->count);
    **note = *as;
done:
    return status;
}

/* Whether mapped memory continues in the next mapping of the same address range. */
static bool goes_on(const bg__noted *noted, int from, int to)
{
    return to >= 0 && to != from && noted->owners[from].owner.range == noted->owners[to].owner.range;
}

/* Adds an entry for each mapping of the driver that the tensor is in; most are in one. as describes the whole
 * tensor. */
static bg_status note_pieces(bg__noted *noted, const bg__note *as)
{
    uintptr_t address = as->address;
    size_t rest = as->bytes;
    bg_status status;
    int next = -1;

    BG__TRY(find_owner(noted, BG__DRIVER, address, &next));
    for (;;) {
        size_t room = next < 0 ? rest : room_in(noted, next, address);
        bool ends = rest <= room;
        bg__note *note;
        BG__TRY(begin_note(noted, as, &note));
        note->address = address;
        note->before = as->before + (address - as->address);
        note->bytes = ends ? rest : room;
        note->owners[BG__DRIVER] = next;
        if (!ends) {
            BG__TRY(find_owner(noted, BG__DRIVER, address + room, &next));
            ends = !goes_on(noted, note->owners[BG__DRIVER], next);
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

bg_status bg__noted_tensor(bg__noted *noted, const bg__note *as, const bg_tensor *tensor)
{
    bg__note note;
    size_t bytes = bg_tensor_bytes(tensor);
    bg__note *pooled;
    bg_status status = BG_OK;

    if (tensor->data == NULL || bytes == 0)
        return BG_OK;
    note = *as;
    note.address = (uintptr_t)tensor->data;
    note.owners[BG__DRIVER] = -1;
    for (int level = BG__REGISTERED; level <= BG__POOLED; level++) {
        size_t room;
        note.owners[level] = -1;
        if (noted->order[level].count == 0 && !bg__ledger_has((bg__level)level))
            continue;
        BG__TRY(find_owner(noted, (bg__level)level, note.address, &note.owners[level]));
        if (note.owners[level] < 0)
            continue;
        room = room_in(noted, note.owners[level], note.address);
        note.beyond += bytes > room ? bytes - room : 0;
        bytes = bytes > room ? room : bytes;
    }
    note.bytes = bytes;
    if (note.owners[BG__POOLED] < 0) {
        status = note_pieces(noted, &note);
    } else { /* a pool keeps its mappings as long as it lives */
        BG__TRY(begin_note(noted, &note, &pooled));
        noted->count++;
    }
done:
    return status;
}

/* ---- calls ---- */

/* Whether an owner on one of the two inner levels is known, or may be found. */
static bool has_inner_owners(const bg__noted *noted)
{
    return noted->order[BG__REGISTERED].count + noted->order[BG__POOLED].count > 0 || bg__ledger_has_inner();
}

/* A tensor of a call. */
typedef struct place {
    const bg__call *call;
    const bg__eager *eager;
    const bg_field *field;
    int element;
} place;

static inline uint32_t offset_of(place at)
{
    return at.field->offset + (uint32_t)at.element * (uint32_t)sizeof(bg_tensor);
}

/* As bg__noted_tensor, but faster, for most tensors: they are in an allocation that was found before, and in no inner
 * owner. Returns false for any other tensor, which bg__noted_tensor must record. */
static inline bool note_known_tensor(bg__noted *noted, place at, const bg_tensor *tensor)
{
    uintptr_t address = (uintptr_t)tensor->data;
    const bg__noted_recent *recent = recent_slot(&noted->order[BG__DRIVER], address);
    uintptr_t inside = address - recent->base;
    size_t bytes;

    if (address == 0 || !bg__tensor_measure(tensor, &bytes) || bytes == 0)
        return true; /* no memory */
    if (inside >= recent->bytes || bytes > recent->bytes - inside || (unsigned)noted->count % BG__NOTE_CHUNK == 0)
        return false;
    *bg__noted_at(noted, noted->count++) = (bg__note){
        at.call, at.eager, at.field, NULL, at.element, offset_of(at), address, bytes, 0, 0, {-1, -1, recent->owner}};
    return true;
}

static __attribute__((noinline)) bg_status note_tensor(bg__noted *noted, place at, const bg_tensor *tensor)
{
    const bg__note as = {
        .call = at.call, .eager = at.eager, .field = at.field, .element = at.element, .offset = offset_of(at)};
    return bg__noted_tensor(noted, &as, tensor);
}

bg_status bg__noted_call(bg_graph *graph, const bg__call *call, const bg__eager *eager, const void *args)
{
    bool plain = !has_inner_owners(&graph->noted);
    const bg_field *end = call->op->fields + call->op->field_count;
    bg_status status = BG_OK;

    for (const bg_field *field = call->op->fields; field < end; field++) {
        const bg_tensor *tensors = bg__tensors_of(field, args);
        int count = bg__tensors_in(field);
        for (int i = 0; i < count; i++) {
            place at = {call, eager, field, i};
            if (!plain || !note_known_tensor(&graph->noted, at, &tensors[i]))
                BG__TRY(note_tensor(&graph->noted, at, &tensors[i]));
        }
    }
done:
    return status;
}
