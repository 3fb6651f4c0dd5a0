/* Checks that each address in a node still belongs to the same allocation as at capture. A word counts as an address if
 * it points into memory that was allocated at capture. */
#include "node_pointers.h"

#include <breakgraph/check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/graph/tool_state.h"
#include "debug/memory/free_sites.h"
#include "debug/report/report.h"

/* ---- words ---- */

static bg_status visit_parameter(const bg__node *node, const bg__parameter *parameter, bg__node_pointer_visit visit,
                                 void *user)
{
    bg_status status = BG_OK;
    size_t at = (sizeof(uint64_t) - parameter->offset % sizeof(uint64_t)) % sizeof(uint64_t);

    for (; at + sizeof(uint64_t) <= parameter->bytes; at += sizeof(uint64_t)) {
        bg__node_pointer held = {.node = node, .parameter = parameter->index, .offset = at};
        uint64_t word;
        memcpy(&word, (const char *)parameter->value + at, sizeof word);
        if (!bg__pointer_may_be(word))
            continue;
        held.alone = parameter->bytes == sizeof word;
        held.address = (uintptr_t)word;
        BG__TRY(visit(user, &held));
    }
done:
    return status;
}

static bg_status visit_range(const bg__node *node, bg__copy_side which, const bg__node_range *end,
                             bg__node_pointer_visit visit, void *user)
{
    bg__node_pointer held = {
        .node = node, .is_end = true, .which = which, .alone = true, .address = (uintptr_t)end->address};
    return visit(user, &held);
}

bg_status bg__node_visit_pointers(const bg__node *node, bg__node_pointer_visit visit, void *user)
{
    bg__parameter parameter;
    bg_status status = BG_OK;
    bg__node_range end;

    for (int i = 0; bg__node_parameter(node, i, &parameter); i++)
        BG__TRY(visit_parameter(node, &parameter, visit, user));
    if (bg__memcpy_node_range(node, BG__SOURCE, &end))
        BG__TRY(visit_range(node, BG__SOURCE, &end, visit, user));
    if (bg__memcpy_node_range(node, BG__DESTINATION, &end) || bg__memset_node_range(node, &end))
        BG__TRY(visit_range(node, BG__DESTINATION, &end, visit, user));
done:
    return status;
}

const char *bg__node_pointer_text(const bg__node_pointer *held, char *text, size_t bytes)
{
    if (held->is_end)
        snprintf(text, bytes, "the node's %s", held->which == BG__SOURCE ? "source" : "destination");
    else if (held->alone)
        snprintf(text, bytes, "kernel parameter %d", held->parameter);
    else
        snprintf(text, bytes, "kernel parameter %d, offset %zu,", held->parameter, held->offset);
    return text;
}

bg_status bg__nodes_list_allocations(const bg__nodes *nodes, bg__allocations *own)
{
    unsigned long long number = 1;
    bg_status status = BG_OK;
    for (size_t i = 0; i < nodes->count; i++) {
        const bg__node *node = &nodes->node[i];
        if (node->type == cudaGraphNodeTypeMemAlloc && node->known) {
            bg__allocation allocation = {(uintptr_t)node->of.memory.ptr, node->of.memory.bytes, number++};
            BG__TRY(bg__allocations_add(own, &allocation));
        }
    }
done:
    return status;
}

/* ---- allocations that a graph uses ---- */

bg_status bg__recorded_allocations_get(bg_graph *graph, bg__allocations **notes)
{
    bg__tools *tools;
    bg_status status;

    BG__TRY(bg__tools_get(graph, &tools));
    if (tools->used == NULL)
        tools->used = calloc(1, sizeof *tools->used);
    if (tools->used == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the addresses of %s", bg__graph_name(graph));
    *notes = tools->used;
    if ((*notes)->get == NULL)
        BG__TRY(bg__allocations_init(*notes));
done:
    return status;
}

void bg__recorded_allocations_clear(bg_graph *graph)
{
    bg__tools *tools = bg__tools_find(graph);
    if (tools != NULL && tools->used != NULL)
        bg__allocations_free(tools->used);
}

/* ---- the scan ---- */

/* The nodes that point into one allocation that was freed. */
typedef struct lost_allocation {
    bg__allocation was;
    bool reused;            /* another allocation has the memory now */
    bg__node_pointer first; /* the first pointer into it */
    bg__finding_calls about;
} lost_allocation;

typedef struct pointer_scan {
    const bg__nodes *nodes;
    bg__allocations *notes;
    bg__allocations own;
    bg__allocations now; /* live allocations found in this scan; each is queried once */
    bg_report *report;   /* NULL: only record the allocations */
    bool faults;         /* a node certainly points into freed memory, reported or not */
    lost_allocation *lost_allocations;
    size_t lost_count, lost_capacity;
} pointer_scan;

/* Whether the report has a finding on this memory for the call. */
static bool is_reported(const bg_report *report, const bg__call *call, const bg__allocation *was)
{
    bg_finding finding = BG_FINDING_INIT;
    for (int i = 0; call != NULL && i < bg_report_count(report); i++)
        if (bg_report_get(report, i, &finding) == BG_OK && bg__finding_has_call(&finding, call->name) &&
            bg__allocation_has(was, (uintptr_t)finding.address))
            return true;
    return false;
}

/* All pointers into one freed allocation share an entry. But a node that no call has captured has an entry of its
 * own. */
static lost_allocation *find_lost_allocation(pointer_scan *s, const bg__node_pointer *held, const bg__allocation *was)
{
    for (size_t i = 0; i < s->lost_count && held->node->call != NULL; i++) {
        lost_allocation *l = &s->lost_allocations[i];
        if (l->was.id == was->id && l->was.base == was->base && l->first.alone == held->alone &&
            l->first.node->call != NULL)
            return l;
    }
    return NULL;
}

static bg_status add_lost_allocation(pointer_scan *s, const bg__node_pointer *held, const bg__allocation *was,
                                     bool reused)
{
    lost_allocation *l = find_lost_allocation(s, held, was);
    bg_status status = BG_OK;

    s->faults |= held->alone;
    if (is_reported(s->report, held->node->call, was))
        return BG_OK;
    if (l == NULL) {
        BG__TRY(BG__ARRAY_GROW(s->lost_allocations, s->lost_count, s->lost_capacity, "findings of a graph"));
        l = &s->lost_allocations[s->lost_count++];
        *l = (lost_allocation){.was = *was, .reused = reused, .first = *held};
    }
    if (held->node->call != NULL)
        BG__TRY(bg__finding_calls_add(&l->about, held->node->call));
done:
    return status;
}

static void report_lost_allocation(const pointer_scan *s, const lost_allocation *l)
{
    const bg__allocation *was = &l->was;
    const bg__node_pointer *held = &l->first;
    const bg_site freed = bg__frees_find(was->base);
    char label[512], place[64], where[300] = "";

    if (freed.file != NULL && freed.line > 0)
        snprintf(where, sizeof where, ", at %s:%d", freed.file, freed.line);
    else if (freed.file != NULL)
        snprintf(where, sizeof where, ", at %s", freed.file);
    bg__node_label(s->nodes, held->node, label, sizeof label);
    bg__node_pointer_text(held, place, sizeof place);
    bg__report_add_for_calls(
        s->report, l->reused ? "reused" : "dangling", held->alone ? BG_FAULT : BG_WARNING, &l->about,
        (const void *)held->address, "free the memory only after the graph is destroyed, or capture again",
        "%s is %p, in memory that was freed after the capture%s%s%s: offset %zu in the block of %zu bytes at %p; %s",
        place, (void *)held->address, where, l->reused ? " and belongs to another allocation now" : "",
        held->alone ? "" : " (in a struct, so it may be a number or padding)", held->address - was->base, was->bytes,
        (void *)was->base, label);
}

/* Queries the driver for the allocation that holds `address` now. Queries each allocation once in a scan. id 0: no
 * allocation holds it. */
static bg_status find_current_allocation(pointer_scan *s, uintptr_t address, bg__allocation *now)
{
    const bg__allocation *known = bg__allocations_find(&s->now, address);
    bg_status status = BG_OK;

    if (known != NULL) {
        *now = *known;
        return BG_OK;
    }
    BG__TRY(bg__pointer_find(s->notes, address, now));
    if (now->id != 0)
        BG__TRY(bg__allocations_add(&s->now, now));
done:
    return status;
}

static bg_status check_node_pointer(void *user, const bg__node_pointer *held)
{
    pointer_scan *s = user;
    const bg__allocation *was = bg__allocations_find(s->notes, held->address);
    bg__allocation now;
    bg_status status = BG_OK;

    if (bg__allocations_find(&s->own, held->address) != NULL)
        return BG_OK;
    BG__TRY(find_current_allocation(s, held->address, &now));
    if (was == NULL && now.id != 0)
        BG__TRY(bg__allocations_add(s->notes, &now));
    else if (was != NULL && s->report != NULL && now.id != was->id)
        BG__TRY(add_lost_allocation(s, held, was, now.id != 0));
done:
    return status;
}

/* Counts the used allocations that were freed and hold no tensor. Both lists are in order of their addresses. */
static bg_status count_freed_allocations(const bg_graph *graph, const bg__allocations *used, size_t *freed)
{
    const bg__recorded_addresses *noted = bg__graph_recorded_addresses(graph);
    const bg__owner_index *tensors = &noted->order[BG__DRIVER];
    bg_status status = BG_OK;
    uint64_t now;
    int t = 0;

    *freed = 0;
    for (size_t i = 0; i < used->count; i++) {
        uintptr_t base = used->list[i].base;
        while (t < tensors->count && noted->owners[tensors->list[t]].owner.base < base)
            t++;
        if (t < tensors->count && noted->owners[tensors->list[t]].owner.base == base)
            continue;
        BG__TRY(bg__driver_get_generation((const void *)base, &now));
        *freed += now != used->list[i].id;
    }
done:
    return status;
}

/* Stores the number of freed allocations if no node certainly points into a freed allocation. */
static bg_status store_freed_count(bg_graph *graph, const pointer_scan *s)
{
    bg__tools *tools = bg__tools_find(graph);
    return s->report == NULL || s->faults ? BG_OK : count_freed_allocations(graph, s->notes, &tools->freed);
}

bg_status bg__check_nodes(bg_graph *graph, const bg__nodes *nodes, bg_report *report)
{
    pointer_scan s = {.nodes = nodes, .report = report};
    bg_status status;

    BG__TRY(bg__recorded_allocations_get(graph, &s.notes));
    BG__TRY(bg__nodes_list_allocations(nodes, &s.own));
    for (size_t i = 0; i < nodes->count; i++)
        if (!nodes->node[i].writeback) /* replays change it */
            BG__TRY(bg__node_visit_pointers(&nodes->node[i], check_node_pointer, &s));
    for (size_t i = 0; i < s.lost_count; i++)
        report_lost_allocation(&s, &s.lost_allocations[i]);
    BG__TRY(store_freed_count(graph, &s));
done:
    for (size_t i = 0; i < s.lost_count; i++)
        bg__finding_calls_free(&s.lost_allocations[i].about);
    free(s.lost_allocations);
    bg__allocations_free(&s.now);
    bg__allocations_free(&s.own);
    return status;
}

bg_status bg__recorded_allocations_are_alive(bg_graph *graph, bool *same)
{
    bg__tools *tools = bg__tools_find(graph);
    bg_status status = BG_OK;
    size_t freed;

    *same = true;
    if (tools == NULL || tools->used == NULL)
        return BG_OK;
    BG__TRY(count_freed_allocations(graph, tools->used, &freed));
    *same = freed == tools->freed;
done:
    return status;
}

bg_status bg__recorded_allocations_update(bg_graph *graph)
{
    bg__nodes nodes = {0};
    bg_status status;

    BG__TRY(bg__nodes_read(graph, &nodes));
    status = bg__check_nodes(graph, &nodes, NULL);
done:
    bg__nodes_free(&nodes);
    return status;
}
