/* The addresses of all tensors at capture: which field of which call had each one, and which allocation it was in. */
#include "capture/capture.h"

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

/* Inserts an owner into the order by address; it replaces those that it overlaps, which were noted earlier. */
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

/* Where the number of the owner is kept that such an address was last found in, counted from 1; 0: none. A pass names
 * the same few tensors again and again. */
static int *recent_slot(bg__noted_order *order, uintptr_t address)
{
    return &order->recent[(address >> 8) % BG__RECENT];
}

/* An address that was noted earlier in this capture is not looked up again: if its allocation has been freed since, the
 * graph is stale already. The two inner levels may change during a capture; the version shows when. */
static bool is_known(bg__noted *noted, bg__level level, uintptr_t address, uint64_t version, int *index)
{
    bg__noted_order *order = &noted->order[level];
    const bg__noted_owner *known;
    int *recent;
    if (order->count == 0)
        return false;
    recent = recent_slot(order, address);
    *index = *recent - 1;
    if (*index < 0 || !bg__owner_has(&noted->owners[*index].owner, address)) {
        int count = count_until(noted, level, address);
        if (count == 0)
            return false;
        *index = order->list[count - 1];
        *recent = *index + 1;
    }
    known = &noted->owners[*index];
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

/* A note as that says, at the end of the list; to be counted once it is filled in. */
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

/* Adds a note for each mapping of the driver that the tensor is in; most are in one. as: for the whole tensor. */
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
    return noted->order[BG__REGISTERED].count + noted->order[BG__POOLED].count > 0 || bg__ledger_has(BG__REGISTERED) ||
           bg__ledger_has(BG__POOLED);
}

/* The index of an allocation of the driver that was found before, if all the bytes lie in it; else -1. */
static inline int known_allocation(bg__noted *noted, uintptr_t address, size_t bytes)
{
    int index = *recent_slot(&noted->order[BG__DRIVER], address) - 1;
    const bg__owner *owner;
    if (index < 0)
        return -1;
    owner = &noted->owners[index].owner;
    return bg__owner_has(owner, address) && bytes <= owner->bytes - (address - owner->base) ? index : -1;
}

/* One tensor of a call: which, and where it is. */
typedef struct place {
    const bg_field *field;
    int element;
    uint32_t offset;
} place;

/* Most tensors are in an allocation that was found before, and in nothing inside it: what bg__noted_tensor would note,
 * at less cost. False: it is to do it. */
static inline bool note_known_tensor(bg__noted *noted, const bg__call *call, const bg__eager *eager, place at,
                                     const bg_tensor *tensor)
{
    uintptr_t address = (uintptr_t)tensor->data;
    size_t bytes = address != 0 ? bg_tensor_bytes(tensor) : 0;
    int index = bytes > 0 ? known_allocation(noted, address, bytes) : -1;

    if (index < 0 || noted->count == noted->chunk_count * BG__NOTE_CHUNK)
        return false;
    *bg__noted_at(noted, noted->count++) =
        (bg__note){call, eager, at.field, NULL, at.element, at.offset, address, bytes, 0, 0, {-1, -1, index}};
    return true;
}

bg_status bg__noted_call(bg_graph *graph, const bg__call *call, const bg__eager *eager, const void *args)
{
    bool plain = !has_inner_owners(&graph->noted);
    bg_status status = BG_OK;
    place at;

    for (uint32_t f = 0; f < call->op->field_count; f++) {
        uint32_t count;
        at.field = &call->op->fields[f];
        at.offset = at.field->offset;
        count = at.field->role == BG_ROLE_VALUE ? 0 : at.field->size / (uint32_t)sizeof(bg_tensor);
        for (at.element = 0; at.element < (int)count; at.element++, at.offset += (uint32_t)sizeof(bg_tensor)) {
            const bg_tensor *tensor = (const void *)((const char *)args + at.offset);
            if (plain && note_known_tensor(&graph->noted, call, eager, at, tensor))
                continue;
            BG__TRY(bg__noted_tensor(
                &graph->noted,
                &(bg__note){
                    .call = call, .eager = eager, .field = at.field, .element = at.element, .offset = at.offset},
                tensor));
        }
    }
done:
    return status;
}
