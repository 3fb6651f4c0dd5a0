/* Compares the allocations that hold tensors with the allocations at capture. Each allocation is queried once; tensors
 * are checked one by one only in allocations that have changed. */
#include "addresses.h"

#include "node_pointers.h"

#include <stdio.h>

#include "debug/memory/allocate.h"

static const char advice[] = "keep the memory at its address as long as the graph is replayed, or capture again; "
                             "bg_graph_args changes tensors of eager calls";

/* ---- allocations ---- */

bg_status bg__addresses_find_own(bg_graph *graph, const bg__nodes *nodes)
{
    bg__noted *noted = bg__graph_noted(graph);
    bg__allocations own = {0};
    bg_status status;

    BG__TRY(bg__nodes_own_memory(nodes, &own));
    for (int i = 0; own.count > 0 && i < noted->owner_count; i++) {
        const bg__owner *owner = &noted->owners[i].owner;
        noted->owners[i].own |=
            noted->owners[i].level == BG__DRIVER && bg__allocations_meet(&own, owner->base, owner->bytes);
    }
done:
    bg__allocations_free(&own);
    return status;
}

static bg_status read_own(bg_graph *graph)
{
    bg__nodes nodes = {0};
    bg_status status;

    BG__TRY(bg__nodes_take(graph, &nodes));
    status = bg__addresses_find_own(graph, &nodes);
done:
    bg__nodes_free(&nodes);
    return status;
}

/* Whether the owner still has all its memory. */
static bool is_same_owner(const bg__owner *old, const bg__owner *now)
{
    if (old->kind == BG__OWNER_POOL && old->shared) /* other graphs use its blocks, too */
        return now->kind == BG__OWNER_POOL && now->pool == old->pool && !old->freed;
    return now->kind != BG__OWNER_NONE && !now->freed && !old->freed && now->generation == old->generation &&
           now->base == old->base && now->bytes >= old->bytes;
}

static bg_status owner_is_same(const bg__noted_owner *noted, bool *same)
{
    bg__owner now;
    uint64_t generation;
    bg_status status;

    if (noted->level == BG__DRIVER) {
        BG__TRY(bg__driver_generation((const void *)noted->owner.base, &generation));
        *same = generation == noted->owner.generation;
        goto done;
    }
    BG__TRY(bg__owner_find(noted->level, (const void *)noted->owner.base, &now));
    *same = is_same_owner(&noted->owner, &now);
done:
    return status;
}

static bool any_replaced(const bg_graph *graph, const bg__noted *noted)
{
    bool exposed = bg__graph_is_exposed(graph);
    for (int i = 0; exposed && i < noted->count; i++)
        if (bg__note_replacement(bg__noted_at(noted, i)) != NULL)
            return true;
    return false;
}

/* The ledger's version shows whether the two inner levels have changed; the driver is queried each time. */
bg_status bg__addresses_are_same(bg_graph *graph, bool *same)
{
    bg__noted *noted = bg__graph_noted(graph);
    const bg__noted_order *drivers = &noted->order[BG__DRIVER];
    uint64_t version = bg__ledger_version();
    bg_status status = BG_OK;

    *same = !noted->replaced && !any_replaced(graph, noted);
    for (int i = 0; i < drivers->count && *same; i++)
        if (!noted->owners[drivers->list[i]].own)
            BG__TRY(owner_is_same(&noted->owners[drivers->list[i]], same));
    for (int i = 0; i < noted->owner_count && noted->version != version && *same; i++)
        if (noted->owners[i].level != BG__DRIVER)
            BG__TRY(owner_is_same(&noted->owners[i], same));
    if (*same)
        noted->version = version;
done:
    return status;
}

/* ---- findings ---- */

const char *bg__note_text(const bg__note *note, char *text, size_t bytes)
{
    if (note->field == NULL)
        snprintf(text, bytes, "buffer %s of the runner", note->name);
    else if (note->field->role == BG_ROLE_OUTS)
        snprintf(text, bytes, "%s[%d] of %s", note->field->name, note->element, note->call->name);
    else
        snprintf(text, bytes, "%s of %s", note->field->name, note->call->name);
    return text;
}

typedef struct change {
    const char *kind; /* NULL: none */
    const char *what; /* "was freed after the capture" */
    bg__owner now;    /* NONE: no current owner is known */
} change;

static void add_address_finding(const bg_graph *graph, bg_report *report, const bg__note *note, const bg__owner *old,
                                const change *c)
{
    char where[160], was[200], is[200] = "";
    unsigned long long replays = bg__graph_replays(graph);

    if (c->now.kind != BG__OWNER_NONE)
        bg__owner_text(&c->now, is, sizeof is);
    bg__report_add(report, c->kind, BG_FAULT, note->call, (const void *)note->address, advice,
                   "%s %s: %zu bytes at %p, at capture in %s%s%s; replays since the capture: %llu",
                   bg__note_text(note, where, sizeof where), c->what, note->bytes, (void *)note->address,
                   bg__owner_text(old, was, sizeof was), is[0] != '\0' ? ", now in " : "", is, replays);
}

/* The address has another owner, or the same owner with other bounds. */
static change compare_owners(const bg__note *note, const bg__owner *old, const bg__owner *now)
{
    bool fits = note->address + note->bytes <= now->base + now->bytes;
    if (now->generation == old->generation && fits)
        return (change){.kind = NULL};
    if (fits)
        return (change){"reused", "was freed after the capture, and its memory allocated again", *now};
    if (now->base == old->base)
        return (change){"shrunk", "extends beyond its allocation, which is shorter now", *now};
    return (change){"moved", "is no longer in one allocation", *now};
}

/* Nothing is allocated at the address now. */
static bg_status explain_absence(bg__level level, const bg__note *note, const bg__owner *old, change *c)
{
    bg__owner at_base;
    bg_status status;

    *c = (change){.kind = "freed", .what = "was freed after the capture"};
    if (level == BG__REGISTERED && bg__owner_named(old->name, old->generation, &c->now)) {
        c->kind = c->now.base == old->base ? "shrunk" : "moved";
        c->what = c->now.base == old->base ? "was freed after the capture, and allocated again with fewer bytes"
                                           : "was freed after the capture, and allocated again at another address";
        return BG_OK;
    }
    c->now = (bg__owner){.kind = BG__OWNER_NONE};
    BG__TRY(bg__owner_find(level, (const void *)old->base, &at_base));
    if (at_base.kind != BG__OWNER_NONE && !at_base.freed && at_base.base == old->base && level != BG__POOLED)
        *c = (change){"shrunk", "extends beyond its allocation, which is shorter now", at_base};
    else if (note->before > 0)
        *c = (change){.kind = "shrunk", .what = "was unmapped in part after the capture"};
done:
    return status;
}

static bg_status find_change(bg__level level, const bg__note *note, const bg__owner *old, change *c)
{
    bg__owner now;
    bg_status status;

    *c = (change){.kind = NULL};
    BG__TRY(bg__owner_find(level, (const void *)note->address, &now));
    if (old->freed)
        *c = (change){.kind = "freed", .what = "was freed before the capture"};
    else if (old->kind == BG__OWNER_POOL && old->shared && now.kind == BG__OWNER_POOL && now.pool == old->pool)
        *c = (change){.kind = NULL};
    else if (now.kind == BG__OWNER_NONE || now.freed)
        status = explain_absence(level, note, old, c);
    else
        *c = compare_owners(note, old, &now);
done:
    return status;
}

const bg__owner *bg__note_owner(const bg__noted *noted, const bg__note *note, int level)
{
    return note->owners[level] < 0 ? NULL : &noted->owners[note->owners[level]].owner;
}

static void add_out_of_range(const bg_graph *graph, const bg__noted *noted, bg_report *report, const bg__note *note)
{
    char where[160], in[200];
    const bg__owner *owner = NULL;

    for (int level = BG__REGISTERED; level < BG__LEVELS && owner == NULL; level++)
        owner = bg__note_owner(noted, note, level);
    if (note->beyond == 0 || owner == NULL)
        return;
    bg__report_add(
        report, "out-of-range", BG_FAULT, note->call, (const void *)note->address,
        "give the op a tensor that lies in one allocation, or correct its shape",
        "%s extends %zu byte%s beyond its allocation: %zu bytes at %p, in %s; replays since the capture: %llu",
        bg__note_text(note, where, sizeof where), note->beyond, note->beyond == 1 ? "" : "s",
        note->before + note->bytes + note->beyond, (void *)(note->address - note->before),
        bg__owner_text(owner, in, sizeof in), (unsigned long long)bg__graph_replays(graph));
}

/* Checks a tensor that bg_graph_args has set against the current allocations. */
static bg_status check_present(const bg_graph *graph, bg_report *report, const bg__note *note, const bg_tensor *tensor)
{
    bg__note fresh = *note;
    bg__noted now = {0};
    bg_status status;

    fresh.before = fresh.beyond = 0;
    BG__TRY(bg__noted_tensor(&now, &fresh, tensor));
    for (int i = 0; i < now.count; i++) {
        change c = {.kind = NULL};
        const bg__owner *owner = NULL;
        for (int level = BG__REGISTERED; level < BG__LEVELS; level++) {
            const bg__owner *there = bg__note_owner(&now, bg__noted_at(&now, i), level);
            owner = owner == NULL ? there : owner;
            if (there != NULL && there->freed)
                c = (change){.kind = "freed", .what = "was set to freed memory by bg_graph_args", .now = *there};
        }
        if (owner == NULL)
            c = (change){.kind = "freed", .what = "was set by bg_graph_args to an address where nothing is allocated"};
        add_out_of_range(graph, &now, report, bg__noted_at(&now, i));
        for (int level = BG__REGISTERED; level < BG__LEVELS && c.kind != NULL; level++) {
            const bg__owner *old = bg__note_owner(bg__graph_noted(graph), note, level);
            if (old == NULL)
                continue;
            add_address_finding(graph, report, bg__noted_at(&now, i), old, &c);
            break;
        }
    }
done:
    bg__noted_clear(&now);
    return status;
}

static bg_status check_note(const bg_graph *graph, bg_report *report, const bg__note *note, const bool *same)
{
    const bg_tensor *present = bg__note_replacement(note);
    bg_status status = BG_OK;

    if (present != NULL)
        return note->before == 0 ? check_present(graph, report, note, present) : BG_OK;
    add_out_of_range(graph, bg__graph_noted(graph), report, note);
    for (int level = BG__REGISTERED; level < BG__LEVELS; level++) {
        const bg__owner *old = bg__note_owner(bg__graph_noted(graph), note, level);
        change c = {.kind = NULL};
        if (old == NULL || same[note->owners[level]])
            continue;
        BG__TRY(find_change((bg__level)level, note, old, &c));
        if (c.kind == NULL)
            continue;
        add_address_finding(graph, report, note, old, &c);
        break; /* the owners on the inner levels have changed with this one */
    }
done:
    return status;
}

/* After a device failure the driver answers no query: allocations that only the driver knows count as unchanged. */
static bg_status go_on(bg_status status, bg_status *failed)
{
    *failed = status == BG_ERROR_CUDA ? status : *failed;
    return status == BG_ERROR_CUDA ? BG_OK : status;
}

bg_status bg__check_addresses(bg_graph *graph, bg_report *report)
{
    bg__noted *noted = bg__graph_noted(graph);
    bg_status status, failed = BG_OK;
    bool *same, all = true;

    BG__TRY(BG__ALLOCATE(same, noted->owner_count, "allocations"));
    for (int i = 0; i < noted->owner_count; i++) {
        same[i] = true;
        BG__TRY(go_on(owner_is_same(&noted->owners[i], &same[i]), &failed));
        all = all && same[i];
    }
    if (!all)
        BG__TRY(go_on(read_own(graph), &failed));
    for (int i = 0; i < noted->owner_count; i++)
        same[i] |= noted->owners[i].own;
    for (int i = 0; i < noted->count; i++)
        BG__TRY(go_on(check_note(graph, report, bg__noted_at(noted, i), same), &failed));
    status = failed;
done:
    free(same);
    return status;
}
