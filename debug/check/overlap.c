/* Finds tensors of one call that overlap if the call writes at least one of them. Also finds bridge buffers that
 * overlap any other memory of calls. */
#include "races.h"

#include "accesses.h"
#include "addresses.h"
#include "debug/memory/allocate.h"

static bool tensors_overlap(const bg__recorded_tensor *a, const bg__recorded_tensor *b)
{
    return a->address < b->address + b->bytes && b->address < a->address + a->bytes;
}

static bool is_output_tensor(const bg__recorded_tensor *note)
{
    return note->field->role != BG_ROLE_IN;
}

/* An op may work in place: its output is then exactly its input. */
static bool is_in_place(const bg__recorded_tensor *a, const bg__recorded_tensor *b)
{
    return a->address == b->address && a->bytes == b->bytes && !(is_output_tensor(a) && is_output_tensor(b));
}

static void check_tensor_pair(const bg_graph *graph, bg_report *report, const bg__recorded_tensor *a,
                              const bg__recorded_tensor *b)
{
    char one[160], other[160];
    bool both = is_output_tensor(a) && is_output_tensor(b);
    uintptr_t begin = a->address > b->address ? a->address : b->address;
    uintptr_t a_end = a->address + a->bytes, b_end = b->address + b->bytes;

    if ((!is_output_tensor(a) && !is_output_tensor(b)) || !tensors_overlap(a, b) || is_in_place(a, b))
        return;
    bg__report_add(report, "overlap", both ? BG_FAULT : BG_WARNING, a->call, (const void *)begin,
                   both ? "give each output memory of its own"
                        : "make the output exactly the input, or give it memory of its own",
                   "%s and %s share %zu bytes at %p, and the op writes %s (replays since the capture: %llu)",
                   bg__recorded_tensor_text(a, one, sizeof one), bg__recorded_tensor_text(b, other, sizeof other),
                   (a_end < b_end ? a_end : b_end) - begin, (void *)begin, both ? "both tensors" : "one of the tensors",
                   (unsigned long long)bg__graph_replays(graph));
}

/* The recorded tensors of a call are adjacent in the list. */
static void check_calls(const bg_graph *graph, bg_report *report)
{
    const bg__recorded_addresses *noted = bg__graph_recorded_addresses(graph);
    for (int i = 0; i < noted->count; i++)
        for (int k = i + 1; k < noted->count && bg__recorded_addresses_get(noted, i)->call != NULL; k++) {
            const bg__recorded_tensor *a = bg__recorded_addresses_get(noted, i),
                                      *b = bg__recorded_addresses_get(noted, k);
            if (a->call != b->call)
                break;
            if (a->offset != b->offset) /* otherwise they are parts of one tensor */
                check_tensor_pair(graph, report, a, b);
        }
}

/* ---- bridge buffers and scratch ---- */

typedef struct call_block {
    const bg__call *call;
    const bg__block *block;
    size_t next_bridge; /* the index of the next bridge buffer in the list; count: there is none */
} call_block;

static int compare_block_addresses(const void *a, const void *b)
{
    uintptr_t one = (uintptr_t)((const call_block *)a)->block->ptr,
              other = (uintptr_t)((const call_block *)b)->block->ptr;
    return (one > other) - (one < other);
}

static const char *block_name(const call_block *h)
{
    return h->block->kind == BG__BRIDGE ? "bridge buffer" : "scratch";
}

static bool is_bridge(const call_block *h)
{
    return h->block->kind == BG__BRIDGE;
}

/* Checks only pairs with at least one bridge buffer. Two scratch blocks are not compared, since scratch blocks may
 * share memory. */
static void check_blocks(const bg_graph *graph, bg_report *report, const call_block *list, size_t count)
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
typedef struct tensor_index {
    const bg_graph *graph;
    bg__accesses notes; /* in the order of the graph's recorded tensors */
    size_t *found;
} tensor_index;

static bg_status list_tensors(tensor_index *t)
{
    const bg__recorded_addresses *noted = bg__graph_recorded_addresses(t->graph);
    bg_status status = BG_OK;

    for (int i = 0; i < noted->count; i++) {
        const bg__recorded_tensor *note = bg__recorded_addresses_get(noted, i);
        BG__TRY(bg__accesses_add(&t->notes,
                                 &(const bg__access){.begin = note->address, .end = note->address + note->bytes}));
    }
    BG__TRY(bg__accesses_sort(&t->notes));
    for (size_t i = 0; i < t->notes.count; i++)
        bg__accesses_insert(&t->notes, i);
    BG__TRY(BG__ALLOCATE(t->found, t->notes.count, "tensors"));
done:
    return status;
}

static void free_tensor_index(tensor_index *t)
{
    bg__accesses_free(&t->notes);
    free(t->found);
}

static const bg__recorded_tensor *found_tensor(const tensor_index *t, size_t number)
{
    return bg__recorded_addresses_get(bg__graph_recorded_addresses(t->graph), (int)t->found[number]);
}

/* Finds the pool block of the bridge buffer, by a tensor of the call in the bridge buffer. */
static const bg__owner *find_pool_block(const tensor_index *t, size_t count, const call_block *h)
{
    for (size_t i = 0; i < count; i++)
        if (found_tensor(t, i)->call == h->call && found_tensor(t, i)->address == (uintptr_t)h->block->ptr)
            return bg__recorded_tensor_owner(bg__graph_recorded_addresses(t->graph), found_tensor(t, i), BG__POOLED);
    return NULL;
}

/* Reports tensors of other calls in the memory of a bridge buffer if their block is newer than the bridge buffer. Then
 * the pool has given out the memory twice. An older block was released before the bridge buffer got the memory. */
static void check_bridge_tensors(const tensor_index *t, bg_report *report, const call_block *bridge)
{
    uintptr_t begin = (uintptr_t)bridge->block->ptr, end = begin + bridge->block->bytes;
    size_t count = bg__accesses_find(&t->notes, begin, end, t->found);
    const bg__owner *mine = find_pool_block(t, count, bridge);
    char where[160], is[200], was[200];

    for (size_t i = 0; mine != NULL && i < count; i++) {
        const bg__recorded_tensor *note = found_tensor(t, i);
        const bg__owner *other = bg__recorded_tensor_owner(bg__graph_recorded_addresses(t->graph), note, BG__POOLED);
        if (other == NULL || other->generation <= mine->generation)
            continue;
        bg__report_add(report, "reused", BG_FAULT, note->call, (const void *)note->address,
                       "the pool gave the same memory out twice, a bug in breakgraph: please report it",
                       "%s lies in the live bridge buffer of call %s: its %zu bytes at %p are in %s, the bridge "
                       "buffer is in %s (replays since the capture: %llu)",
                       bg__recorded_tensor_text(note, where, sizeof where), bridge->call->name, note->bytes,
                       (void *)note->address, bg__owner_describe(other, is, sizeof is),
                       bg__owner_describe(mine, was, sizeof was), (unsigned long long)bg__graph_replays(t->graph));
    }
}

static bg_status list_call_blocks(const bg__call *call, call_block **list, size_t *count, size_t *capacity)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < call->own.count; i++) {
        BG__TRY(BG__ARRAY_GROW(*list, *count, *capacity, "buffers"));
        (*list)[(*count)++] = (call_block){call, &call->own.blocks[i], 0};
    }
done:
    return status;
}

static bg_status list_blocks(const bg_graph *graph, call_block **list, size_t *count)
{
    size_t capacity = 0, next;
    bg_status status = BG_OK;

    for (const bg__call *call = bg__graph_root(graph); call != NULL; call = bg__call_next(call))
        BG__TRY(list_call_blocks(call, list, count, &capacity));
    for (const bg__call *run = bg__graph_root(graph)->runs; run != NULL; run = run->last_run)
        BG__TRY(list_call_blocks(run, list, count, &capacity));
    if (*count > 0)
        qsort(*list, *count, sizeof **list, compare_block_addresses);
    next = *count;
    for (size_t i = *count; i-- > 0; next = is_bridge(&(*list)[i]) ? i : next)
        (*list)[i].next_bridge = next;
done:
    return status;
}

bg_status bg__check_overlap(bg_graph *graph, bg_report *report)
{
    tensor_index t = {.graph = graph};
    size_t count = 0;
    call_block *list = NULL;
    bg_status status;

    check_calls(graph, report);
    BG__TRY(list_blocks(graph, &list, &count));
    check_blocks(graph, report, list, count);
    for (size_t i = 0; i < count; i++) {
        if (!is_bridge(&list[i]) || !list[i].block->borrowed)
            continue;
        if (t.found == NULL)
            BG__TRY(list_tensors(&t));
        check_bridge_tensors(&t, report, &list[i]);
    }
done:
    free_tensor_index(&t);
    free(list);
    return status;
}
