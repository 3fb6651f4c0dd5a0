/* Finds tensors of one call that overlap and that the call writes, and bridge buffers that overlap anything. */
#include "races.h"

#include "accesses.h"
#include "addresses.h"
#include "debug/memory/allocate.h"

static bool overlaps(const bg__note *a, const bg__note *b)
{
    return a->address < b->address + b->bytes && b->address < a->address + a->bytes;
}

static bool is_output(const bg__note *note)
{
    return note->field->role != BG_ROLE_IN;
}

/* An op may work in place: its output is exactly its input. */
static bool is_in_place(const bg__note *a, const bg__note *b)
{
    return a->address == b->address && a->bytes == b->bytes && !(is_output(a) && is_output(b));
}

static void check_pair(const bg_graph *graph, bg_report *report, const bg__note *a, const bg__note *b)
{
    char one[160], other[160];
    bool both = is_output(a) && is_output(b);
    uintptr_t begin = a->address > b->address ? a->address : b->address;
    uintptr_t a_end = a->address + a->bytes, b_end = b->address + b->bytes;

    if ((!is_output(a) && !is_output(b)) || !overlaps(a, b) || is_in_place(a, b))
        return;
    bg__report_add(report, "overlap", both ? BG_FAULT : BG_WARNING, a->call, (const void *)begin,
                   both ? "give each output memory of its own"
                        : "make the output exactly the input, or give it memory of its own",
                   "%s and %s share %zu bytes at %p, and the op writes %s (replays since the capture: %llu)",
                   bg__note_text(a, one, sizeof one), bg__note_text(b, other, sizeof other),
                   (a_end < b_end ? a_end : b_end) - begin, (void *)begin, both ? "both tensors" : "one of the tensors",
                   (unsigned long long)bg__graph_replays(graph));
}

/* The recorded tensors of a call are adjacent in the list. */
static void check_calls(const bg_graph *graph, bg_report *report)
{
    const bg__noted *noted = bg__graph_noted(graph);
    for (int i = 0; i < noted->count; i++)
        for (int k = i + 1; k < noted->count && bg__noted_at(noted, i)->call != NULL; k++) {
            const bg__note *a = bg__noted_at(noted, i), *b = bg__noted_at(noted, k);
            if (a->call != b->call)
                break;
            if (a->offset != b->offset) /* otherwise they are parts of one tensor */
                check_pair(graph, report, a, b);
        }
}

/* ---- bridge buffers and scratch ---- */

typedef struct held {
    const bg__call *call;
    const bg__block *block;
    size_t next_bridge; /* the index of the next bridge buffer in the list; count: there is none */
} held;

static int compare_held_blocks(const void *a, const void *b)
{
    uintptr_t one = (uintptr_t)((const held *)a)->block->ptr, other = (uintptr_t)((const held *)b)->block->ptr;
    return (one > other) - (one < other);
}

static const char *block_name(const held *h)
{
    return h->block->kind == BG__BRIDGE ? "bridge buffer" : "scratch";
}

static bool is_bridge(const held *h)
{
    return h->block->kind == BG__BRIDGE;
}

/* Scratch blocks share their memory with each other: only pairs with a bridge buffer are checked. */
static void check_blocks(const bg_graph *graph, bg_report *report, const held *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uintptr_t end = (uintptr_t)list[i].block->ptr + list[i].block->bytes;
        for (size_t k = is_bridge(&list[i]) ? i + 1 : list[i].next_bridge;
             k < count && (uintptr_t)list[k].block->ptr < end; k = is_bridge(&list[i]) ? k + 1 : list[k].next_bridge)
            bg__report_add(report, "overlap", BG_FAULT, list[i].call, list[k].block->ptr,
                           "the pool gave the same memory out twice, a bug in breakgraph: please report it",
                           "the %s of op %s, %zu bytes at %p, overlaps the %s of call %s, %zu bytes at %p (replays "
                           "since the capture: %llu)",
                           block_name(&list[i]), list[i].call->op->name, list[i].block->bytes, list[i].block->ptr,
                           block_name(&list[k]), list[k].call->name, list[k].block->bytes, list[k].block->ptr,
                           (unsigned long long)bg__graph_replays(graph));
    }
}

/* The tensors of all calls, by address. */
typedef struct tensors {
    const bg_graph *graph;
    bg__accesses notes; /* in the order of the graph's recorded tensors */
    size_t *found;
} tensors;

static bg_status list_tensors(tensors *t)
{
    const bg__noted *noted = bg__graph_noted(t->graph);
    bg_status status = BG_OK;

    for (int i = 0; i < noted->count; i++) {
        const bg__note *note = bg__noted_at(noted, i);
        BG__TRY(bg__accesses_add(&t->notes,
                                 &(const bg__access){.begin = note->address, .end = note->address + note->bytes}));
    }
    BG__TRY(bg__accesses_sort(&t->notes));
    for (size_t i = 0; i < t->notes.count; i++)
        bg__accesses_put(&t->notes, i);
    BG__TRY(BG__ALLOCATE(t->found, t->notes.count, "tensors"));
done:
    return status;
}

static void free_tensors(tensors *t)
{
    bg__accesses_clear(&t->notes);
    free(t->found);
}

static const bg__note *found_note(const tensors *t, size_t number)
{
    return bg__noted_at(bg__graph_noted(t->graph), (int)t->found[number]);
}

/* The pool block of the bridge buffer, found by the tensor of the call that lies in it. */
static const bg__owner *block_of(const tensors *t, size_t count, const held *h)
{
    for (size_t i = 0; i < count; i++)
        if (found_note(t, i)->call == h->call && found_note(t, i)->address == (uintptr_t)h->block->ptr)
            return bg__note_owner(bg__graph_noted(t->graph), found_note(t, i), BG__POOLED);
    return NULL;
}

/* Reports tensors of other calls in the memory of a bridge buffer if their block is newer: then the pool has given out
 * the memory twice. An older block was released before the bridge buffer got the memory. */
static void check_tensors(const tensors *t, bg_report *report, const held *bridge)
{
    uintptr_t begin = (uintptr_t)bridge->block->ptr, end = begin + bridge->block->bytes;
    size_t count = bg__accesses_find(&t->notes, begin, end, t->found);
    const bg__owner *mine = block_of(t, count, bridge);
    char where[160], is[200], was[200];

    for (size_t i = 0; mine != NULL && i < count; i++) {
        const bg__note *note = found_note(t, i);
        const bg__owner *other = bg__note_owner(bg__graph_noted(t->graph), note, BG__POOLED);
        if (other == NULL || other->generation <= mine->generation)
            continue;
        bg__report_add(report, "reused", BG_FAULT, note->call, (const void *)note->address,
                       "the pool gave the same memory out twice, a bug in breakgraph: please report it",
                       "%s lies in the live bridge buffer of call %s: its %zu bytes at %p are in %s, the bridge buffer "
                       "is in %s (replays since the capture: %llu)",
                       bg__note_text(note, where, sizeof where), bridge->call->name, note->bytes, (void *)note->address,
                       bg__owner_text(other, is, sizeof is), bg__owner_text(mine, was, sizeof was),
                       (unsigned long long)bg__graph_replays(t->graph));
    }
}

static bg_status list_blocks_of(const bg__call *call, held **list, size_t *count, size_t *capacity)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < call->own.count; i++) {
        BG__TRY(BG__GROW(*list, *count, *capacity, "buffers"));
        (*list)[(*count)++] = (held){call, &call->own.blocks[i], 0};
    }
done:
    return status;
}

static bg_status list_blocks(const bg_graph *graph, held **list, size_t *count)
{
    size_t capacity = 0, next;
    bg_status status = BG_OK;

    for (const bg__call *call = bg__graph_root(graph); call != NULL; call = bg__call_next(call))
        BG__TRY(list_blocks_of(call, list, count, &capacity));
    for (const bg__call *run = bg__graph_root(graph)->runs; run != NULL; run = run->last_run)
        BG__TRY(list_blocks_of(run, list, count, &capacity));
    if (*count > 0)
        qsort(*list, *count, sizeof **list, compare_held_blocks);
    next = *count;
    for (size_t i = *count; i-- > 0; next = is_bridge(&(*list)[i]) ? i : next)
        (*list)[i].next_bridge = next;
done:
    return status;
}

bg_status bg__check_overlap(bg_graph *graph, bg_report *report)
{
    tensors t = {.graph = graph};
    size_t count = 0;
    held *list = NULL;
    bg_status status;

    check_calls(graph, report);
    BG__TRY(list_blocks(graph, &list, &count));
    check_blocks(graph, report, list, count);
    for (size_t i = 0; i < count; i++) {
        if (!is_bridge(&list[i]) || !list[i].block->borrowed)
            continue;
        if (t.found == NULL)
            BG__TRY(list_tensors(&t));
        check_tensors(&t, report, &list[i]);
    }
done:
    free_tensors(&t);
    free(list);
    return status;
}
