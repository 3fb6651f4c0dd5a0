/* The addresses of all tensors at capture: which field of which call had each one, and which allocation it was in. */
#include "capture/capture.h"

#include <stdlib.h>
#include <string.h>

void bg__noted_clear(bg__noted *noted)
{
    for (int level = 0; level < BG__LEVELS; level++)
        free(noted->order[level].list);
    free(noted->owners);
    free(noted->list);
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

/* A note as that says, at the end of the list; to be counted once it is filled in. */
static bg_status begin_note(bg__noted *noted, const bg__note *as, bg__note **note)
{
    bg_status status = BG__GROW(noted->list, noted->count, noted->capacity, "addresses");
    if (status != BG_OK)
        return status;
    *note = &noted->list[noted->count];
    **note = *as;
    return BG_OK;
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

/* Whether an owner on one of the two inner levels is known, or may be found. */
static inline bool has_inner_owners(const bg__noted *noted)
{
    return noted->order[BG__REGISTERED].count + noted->order[BG__POOLED].count > 0 || bg__ledger_has(BG__REGISTERED) ||
           bg__ledger_has(BG__POOLED);
}

/* Notes a tensor in an allocation of the driver that was found before, as most are. */
static bool note_again(bg__noted *noted, const bg__note *as, uintptr_t address, size_t bytes)
{
    int known = *recent_slot(&noted->order[BG__DRIVER], address) - 1;
    const bg__owner *owner;
    bg__note *note;

    if (known < 0 || (size_t)noted->count >= noted->capacity || has_inner_owners(noted))
        return false;
    owner = &noted->owners[known].owner;
    if (!bg__owner_has(owner, address) || bytes > owner->bytes - (address - owner->base))
        return false;
    note = &noted->list[noted->count++];
    *note = *as;
    note->address = address;
    note->bytes = bytes;
    note->owners[BG__REGISTERED] = note->owners[BG__POOLED] = -1;
    note->owners[BG__DRIVER] = known;
    return true;
}

bg_status bg__noted_tensor(bg__noted *noted, const bg__note *as, const bg_tensor *tensor)
{
    bg__note note;
    size_t bytes = tensor->data != NULL ? bg_tensor_bytes(tensor) : 0;
    bg__note *pooled;
    bg_status status = BG_OK;

    if (bytes == 0 || note_again(noted, as, (uintptr_t)tensor->data, bytes))
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

bg_status bg__noted_call(bg_graph *graph, const bg__call *call, const bg__eager *eager, const void *args)
{
    bg__note note = {.call = call, .eager = eager};
    bg_status status = BG_OK;
    for (uint32_t f = 0; f < call->op->field_count; f++) {
        uint32_t count;
        note.field = &call->op->fields[f];
        note.offset = note.field->offset;
        count = note.field->role == BG_ROLE_VALUE ? 0 : note.field->size / (uint32_t)sizeof(bg_tensor);
        for (note.element = 0; note.element < (int)count; note.element++, note.offset += (uint32_t)sizeof(bg_tensor))
            BG__TRY(bg__noted_tensor(&graph->noted, &note, (const void *)((const char *)args + note.offset)));
    }
done:
    return status;
}
