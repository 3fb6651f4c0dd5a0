/* Compares the allocations that hold tensors with those at capture. Queries each allocation once. Checks single tensors
 * only in allocations that have changed. */
#include "addresses.h"

#include "node_pointers.h"

#include <stdio.h>

#include "debug/memory/allocate.h"

static const char address_advice[] =
    "keep the memory at the same address while the graph is replayed, or capture again; bg_graph_args changes "
    "tensors of eager calls";

/* ---- allocations ---- */

bg_status bg__addresses_mark_own(bg_graph *graph, const bg__nodes *nodes)
{
    bg__recorded_addresses *noted = bg__graph_recorded_addresses(graph);
    bg__allocations own = {0};
    bg_status status;

    BG__TRY(bg__nodes_list_allocations(nodes, &own));
    for (int i = 0; own.count > 0 && i < noted->owner_count; i++) {
        const bg__owner *owner = &noted->owners[i].owner;
        noted->owners[i].own |=
            noted->owners[i].level == BG__DRIVER && bg__allocations_overlap(&own, owner->base, owner->bytes);
    }
done:
    bg__allocations_free(&own);
    return status;
}

static bg_status mark_own_owners(bg_graph *graph)
{
    bg__nodes nodes = {0};
    bg_status status;

    BG__TRY(bg__nodes_read(graph, &nodes));
    status = bg__addresses_mark_own(graph, &nodes);
done:
    bg__nodes_free(&nodes);
    return status;
}

/* Whether the owner still has all its memory. */
static bool owner_keeps_memory(const bg__owner *old, const bg__owner *now)
{
    if (old->kind == BG__OWNER_POOL && old->shared) /* other graphs use its blocks, too */
        return now->kind == BG__OWNER_POOL && now->pool == old->pool && !old->freed;
    return now->kind != BG__OWNER_NONE && !now->freed && !old->freed && now->generation == old->generation &&
           now->base == old->base && now->bytes >= old->bytes;
}

static bg_status check_owner_unchanged(const bg__recorded_owner *noted, bool *same)
{
    bg__owner now;
    uint64_t generation;
    bg_status status;

    if (noted->level == BG__DRIVER) {
        BG__TRY(bg__driver_get_generation((const void *)noted->owner.base, &generation));
        *same = generation == noted->owner.generation;
        goto done;
    }
    BG__TRY(bg__owner_find(noted->level, (const void *)noted->owner.base, &now));
    *same = owner_keeps_memory(&noted->owner, &now);
done:
    return status;
}

static bool has_replaced_tensor(const bg_graph *graph, const bg__recorded_addresses *noted)
{
    bool exposed = bg__graph_is_exposed(graph);
    for (int i = 0; exposed && i < noted->count; i++)
        if (bg__recorded_tensor_replacement(bg__recorded_addresses_get(noted, i)) != NULL)
            return true;
    return false;
}

/* The ledger's version shows whether the two inner levels of owners have changed. The driver is queried each time. */
bg_status bg__addresses_are_unchanged(bg_graph *graph, bool *same)
{
    bg__recorded_addresses *noted = bg__graph_recorded_addresses(graph);
    const bg__owner_index *drivers = &noted->order[BG__DRIVER];
    uint64_t version = bg__ledger_version();
    bg_status status = BG_OK;

    *same = !noted->replaced && !has_replaced_tensor(graph, noted);
    for (int i = 0; i < drivers->count && *same; i++)
        if (!noted->owners[drivers->list[i]].own)
            BG__TRY(check_owner_unchanged(&noted->owners[drivers->list[i]], same));
    for (int i = 0; i < noted->owner_count && noted->version != version && *same; i++)
        if (noted->owners[i].level != BG__DRIVER)
            BG__TRY(check_owner_unchanged(&noted->owners[i], same));
    if (*same)
        noted->version = version;
done:
    return status;
}

/* ---- findings ---- */

const char *bg__recorded_tensor_text(const bg__recorded_tensor *note, char *text, size_t bytes)
{
    if (note->field == NULL)
        snprintf(text, bytes, "buffer %s of the runner", note->name);
    else if (note->field->role == BG_ROLE_OUTS)
        snprintf(text, bytes, "%s[%d] of %s", note->field->name, note->element, note->call->name);
    else
        snprintf(text, bytes, "%s of %s", note->field->name, note->call->name);
    return text;
}

typedef struct owner_change {
    const char *kind; /* NULL: none */
    const char *what; /* "was freed after the capture" */
    bg__owner now;    /* NONE: no current owner is known */
} owner_change;

static void report_address_change(const bg_graph *graph, bg_report *report, const bg__recorded_tensor *note,
                                  const bg__owner *old, const owner_change *c)
{
    char where[160], was[200], is[200] = "";
    unsigned long long replays = bg__graph_replays(graph);

    if (c->now.kind != BG__OWNER_NONE)
        bg__owner_describe(&c->now, is, sizeof is);
    bg__report_add(report, c->kind, BG_FAULT, note->call, (const void *)note->address, address_advice,
                   "%s %s: %zu bytes at %p, at capture in %s%s%s; replays since the capture: %llu",
                   bg__recorded_tensor_text(note, where, sizeof where), c->what, note->bytes, (void *)note->address,
                   bg__owner_describe(old, was, sizeof was), is[0] != '\0' ? ", now in " : "", is, replays);
}

/* The address has another owner, or the same owner with other bounds. */
static owner_change compare_owners(const bg__recorded_tensor *note, const bg__owner *old, const bg__owner *now)
{
    bool fits = note->address + note->bytes <= now->base + now->bytes;
    if (now->generation == old->generation && fits)
        return (owner_change){.kind = NULL};
    if (fits)
        return (owner_change){"reused", "was freed after the capture, and its memory allocated again", *now};
    if (now->base == old->base)
        return (owner_change){"shrunk", "extends beyond its allocation, which is shorter now", *now};
    return (owner_change){"moved", "is no longer in one allocation", *now};
}

/* Nothing is allocated at the address now. */
static bg_status explain_absence(bg__owner_level level, const bg__recorded_tensor *note, const bg__owner *old,
                                 owner_change *c)
{
    bg__owner at_base;
    bg_status status;

    *c = (owner_change){.kind = "freed", .what = "was freed after the capture"};
    if (level == BG__REGISTERED && bg__owner_find_by_name(old->name, old->generation, &c->now)) {
        c->kind = c->now.base == old->base ? "shrunk" : "moved";
        c->what = c->now.base == old->base ? "was freed after the capture, and allocated again with fewer bytes"
                                           : "was freed after the capture, and allocated again at another address";
        return BG_OK;
    }
    c->now = (bg__owner){.kind = BG__OWNER_NONE};
    BG__TRY(bg__owner_find(level, (const void *)old->base, &at_base));
    if (at_base.kind != BG__OWNER_NONE && !at_base.freed && at_base.base == old->base && level != BG__POOLED)
        *c = (owner_change){"shrunk", "extends beyond its allocation, which is shorter now", at_base};
    else if (note->before > 0)
        *c = (owner_change){.kind = "shrunk", .what = "was unmapped in part after the capture"};
done:
    return status;
}

static bg_status find_owner_change(bg__owner_level level, const bg__recorded_tensor *note, const bg__owner *old,
                                   owner_change *c)
{
    bg__owner now;
    bg_status status;

    *c = (owner_change){.kind = NULL};
    BG__TRY(bg__owner_find(level, (const void *)note->address, &now));
    if (old->freed)
        *c = (owner_change){.kind = "freed", .what = "was freed before the capture"};
    else if (old->kind == BG__OWNER_POOL && old->shared && now.kind == BG__OWNER_POOL && now.pool == old->pool)
        *c = (owner_change){.kind = NULL};
    else if (now.kind == BG__OWNER_NONE || now.freed)
        status = explain_absence(level, note, old, c);
    else
        *c = compare_owners(note, old, &now);
done:
    return status;
}

const bg__owner *bg__recorded_tensor_owner(const bg__recorded_addresses *noted, const bg__recorded_tensor *note,
                                           int level)
{
    return note->owners[level] < 0 ? NULL : &noted->owners[note->owners[level]].owner;
}

static void report_out_of_range(const bg_graph *graph, const bg__recorded_addresses *noted, bg_report *report,
                                const bg__recorded_tensor *note)
{
    char where[160], in[200];
    const bg__owner *owner = NULL;

    for (int level = BG__REGISTERED; level < BG__LEVELS && owner == NULL; level++)
        owner = bg__recorded_tensor_owner(noted, note, level);
    if (note->beyond == 0 || owner == NULL)
        return;
    bg__report_add(
        report, "out-of-range", BG_FAULT, note->call, (const void *)note->address,
        "give the op a tensor that lies in one allocation, or correct its shape",
        "%s extends %zu byte%s beyond its allocation: %zu bytes at %p, in %s; replays since the capture: %llu",
        bg__recorded_tensor_text(note, where, sizeof where), note->beyond, note->beyond == 1 ? "" : "s",
        note->before + note->bytes + note->beyond, (void *)(note->address - note->before),
        bg__owner_describe(owner, in, sizeof in), (unsigned long long)bg__graph_replays(graph));
}

/* Checks a tensor that bg_graph_args has set against the current allocations. */
static bg_status check_replaced_tensor(const bg_graph *graph, bg_report *report, const bg__recorded_tensor *note,
                                       const bg_tensor *tensor)
{
    bg__recorded_tensor fresh = *note;
    bg__recorded_addresses now = {0};
    bg_status status;

    fresh.before = fresh.beyond = 0;
    BG__TRY(bg__recorded_addresses_add(&now, &fresh, tensor));
    for (int i = 0; i < now.count; i++) {
        owner_change c = {.kind = NULL};
        const bg__owner *owner = NULL;
        for (int level = BG__REGISTERED; level < BG__LEVELS; level++) {
            const bg__owner *there = bg__recorded_tensor_owner(&now, bg__recorded_addresses_get(&now, i), level);
            owner = owner == NULL ? there : owner;
            if (there != NULL && there->freed)
                c = (owner_change){.kind = "freed", .what = "was set to freed memory by bg_graph_args", .now = *there};
        }
        if (owner == NULL)
            c = (owner_change){.kind = "freed",
                               .what = "was set by bg_graph_args to an address where nothing is allocated"};
        report_out_of_range(graph, &now, report, bg__recorded_addresses_get(&now, i));
        for (int level = BG__REGISTERED; level < BG__LEVELS && c.kind != NULL; level++) {
            const bg__owner *old = bg__recorded_tensor_owner(bg__graph_recorded_addresses(graph), note, level);
            if (old == NULL)
                continue;
            report_address_change(graph, report, bg__recorded_addresses_get(&now, i), old, &c);
            break;
        }
    }
done:
    bg__recorded_addresses_clear(&now);
    return status;
}

static bg_status check_recorded_tensor(const bg_graph *graph, bg_report *report, const bg__recorded_tensor *note,
                                       const bool *same)
{
    const bg_tensor *present = bg__recorded_tensor_replacement(note);
    bg_status status = BG_OK;

    if (present != NULL)
        return note->before == 0 ? check_replaced_tensor(graph, report, note, present) : BG_OK;
    report_out_of_range(graph, bg__graph_recorded_addresses(graph), report, note);
    for (int level = BG__REGISTERED; level < BG__LEVELS; level++) {
        const bg__owner *old = bg__recorded_tensor_owner(bg__graph_recorded_addresses(graph), note, level);
        owner_change c = {.kind = NULL};
        if (old == NULL || same[note->owners[level]])
            continue;
        BG__TRY(find_owner_change((bg__owner_level)level, note, old, &c));
        if (c.kind == NULL)
            continue;
        report_address_change(graph, report, note, old, &c);
        break; /* the owners on the inner levels have changed with this one */
    }
done:
    return status;
}

/* After a device failure the driver answers no query. Allocations that only the driver knows then count as
 * unchanged. */
static bg_status defer_cuda_error(bg_status status, bg_status *failed)
{
    *failed = status == BG_ERROR_CUDA ? status : *failed;
    return status == BG_ERROR_CUDA ? BG_OK : status;
}

bg_status bg__check_addresses(bg_graph *graph, bg_report *report)
{
    bg__recorded_addresses *noted = bg__graph_recorded_addresses(graph);
    bg_status status, failed = BG_OK;
    bool *same, all = true;

    BG__TRY(BG__ALLOCATE(same, noted->owner_count, "allocations"));
    for (int i = 0; i < noted->owner_count; i++) {
        same[i] = true;
        BG__TRY(defer_cuda_error(check_owner_unchanged(&noted->owners[i], &same[i]), &failed));
        all = all && same[i];
    }
    if (!all)
        BG__TRY(defer_cuda_error(mark_own_owners(graph), &failed));
    for (int i = 0; i < noted->owner_count; i++)
        same[i] |= noted->owners[i].own;
    for (int i = 0; i < noted->count; i++)
        BG__TRY(defer_cuda_error(check_recorded_tensor(graph, report, bg__recorded_addresses_get(noted, i), same),
                                 &failed));
    status = failed;
done:
    free(same);
    return status;
}
