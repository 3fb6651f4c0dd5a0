/* Checks memory that a graph's own nodes allocate and free. A node that uses the memory must be ordered after the
 * allocation and before the free; else it is a finding ("race"). Only whole parameters, and the ends of copies and
 * memsets, count as uses. Allocations that overlap or adjoin are not checked. */
#include <stdlib.h>

#include "debug/attach/events/tracked_graph.h"
#include "debug/attach/events/subscribers.h"
#include "debug/check/node_pointers.h"
#include "debug/graph/node_order.h"
#include "debug/memory/allocate.h"
#include "debug/report/report.h"

typedef struct lifetime_check {
    const bg__nodes *nodes;
    bg__order order;
    size_t *steps; /* each after all steps that it waits for */
    bool *reached; /* by step */
    bg_report *report;
} lifetime_check;

/* The node at one end of an allocation's lifetime, and its memory. */
typedef struct lifetime_end {
    const bg__node *end; /* the node that allocates or frees the memory */
    uintptr_t begin;
    size_t bytes;
    bool holds; /* the node that is checked has an address in it */
} lifetime_end;

static bool is_memory_node(const bg__node *node, enum cudaGraphNodeType type)
{
    return node->known && node->type == type;
}

/* Follows the edges from the step `from`, and marks the steps that it finds in `reached`. before: follows the edges
 * backwards, to the steps that come before it. */
static void mark_reachable_steps(lifetime_check *l, size_t from, bool before)
{
    const bg__order *o = &l->order;

    for (size_t i = 0; i < o->count; i++)
        l->reached[i] = i == from;
    for (size_t i = 0; i < o->count; i++) {
        const size_t step = l->steps[before ? o->count - 1 - i : i];
        for (size_t e = o->first[step]; e < o->first[step + 1]; e++) {
            const size_t to = o->edges[e].to;
            if (before ? l->reached[to] : l->reached[step])
                l->reached[before ? step : to] = true;
        }
    }
}

static bg_status record_pointer(void *user, const bg__node_pointer *held)
{
    lifetime_end *m = user;
    if ((held->is_end || held->alone) && held->address - m->begin < m->bytes)
        m->holds = true;
    return BG_OK;
}

static const char *node_name(const bg__node *node)
{
    return node->call != NULL ? node->call->name : bg__node_kind(node);
}

static void report_unordered_use(const lifetime_check *l, const lifetime_end *m, const bg__node *user, bool frees)
{
    const char *name = node_name(user), *end = node_name(m->end);

    bg__report_add(l->report, "race", BG_WARNING, user->call, (const void *)m->begin,
                   frees ? "free it (cudaFreeAsync) in a stream that waits for all that use it"
                         : "let the stream of what uses it wait for the one that allocates it (cudaMallocAsync)",
                   frees ? "nothing orders %s before %s, which frees the memory that it uses, at %p: others may get "
                           "it first"
                         : "%s is not ordered after %s, which allocates the memory that it uses, at %p",
                   name, end, (const void *)m->begin);
}

/* CUDA may give the same address to a later allocation of the graph, and one allocation may end where the next begins.
 * If another allocation overlaps or adjoins this one, it is unknown which of them a node uses. */
static bool overlaps_another_allocation(const lifetime_check *l, const bg__node *allocates)
{
    const uintptr_t begin = (uintptr_t)allocates->of.memory.ptr, end = begin + allocates->of.memory.bytes;

    for (size_t i = 0; i < l->nodes->count; i++) {
        const bg__node *other = &l->nodes->node[i];
        const uintptr_t at = (uintptr_t)other->of.memory.ptr;
        if (other != allocates && is_memory_node(other, cudaGraphNodeTypeMemAlloc) && at < end &&
            at + other->of.memory.bytes >= begin)
            return true;
    }
    return false;
}

/* Reports each node that has an address in the memory, but no path to or from the node that allocates or frees it. */
static bg_status check_users(lifetime_check *l, lifetime_end *m, bool frees)
{
    size_t step = 0;
    bg_status status = BG_OK;

    while (step < l->order.count && l->order.nodes[step] != m->end)
        step++;
    if (step == l->order.count) /* the end is in a part of the graph without an order */
        return BG_OK;
    mark_reachable_steps(l, step, frees);
    for (size_t i = 0; i < l->order.count; i++) {
        const bg__node *node = l->order.nodes[i];
        if (l->reached[i] || node == NULL || node->type == cudaGraphNodeTypeMemAlloc ||
            node->type == cudaGraphNodeTypeMemFree)
            continue;
        m->holds = false;
        BG__TRY(bg__node_visit_pointers(node, record_pointer, m));
        if (m->holds)
            report_unordered_use(l, m, node, frees);
    }
done:
    return status;
}

static bg_status check_allocation(lifetime_check *l, const bg__node *allocates)
{
    lifetime_end m = {
        .end = allocates, .begin = (uintptr_t)allocates->of.memory.ptr, .bytes = allocates->of.memory.bytes};
    bg_status status = BG_OK;

    if (overlaps_another_allocation(l, allocates))
        return BG_OK;
    BG__TRY(check_users(l, &m, false));
    for (size_t i = 0; i < l->nodes->count; i++) {
        m.end = &l->nodes->node[i];
        if (is_memory_node(m.end, cudaGraphNodeTypeMemFree) && (uintptr_t)m.end->of.memory.ptr == m.begin)
            BG__TRY(check_users(l, &m, true));
    }
done:
    return status;
}

static void check_lifetimes(const bg__event *event)
{
    const bg__tracked_graph *graph = event->graph;
    lifetime_check l = {.nodes = event->nodes, .report = graph->report};
    bg_status status;

    BG__TRY(bg__order_read(&l.order, graph->source, l.nodes));
    BG__TRY(BG__ALLOCATE(l.steps, l.order.count, "nodes"));
    BG__TRY(bg__order_sort(&l.order, NULL, l.steps));
    BG__TRY(BG__ALLOCATE(l.reached, l.order.count, "nodes"));
    for (size_t i = 0; i < l.nodes->count; i++)
        if (is_memory_node(&l.nodes->node[i], cudaGraphNodeTypeMemAlloc))
            BG__TRY(check_allocation(&l, &l.nodes->node[i]));
done:
    if (status != BG_OK)
        bg__warn("--attach: %s is not checked for uses of its memory before the allocation or after the free: %s",
                 bg__graph_name(graph->graph), bg_last_error());
    bg__order_free(&l.order);
    free(l.steps);
    free(l.reached);
}

const bg__subscriber bg__check_lifetimes = {
    .name = "allocation lifetimes",
    .when = BG__CHECK_EXECS,
    .node_types = 1U << cudaGraphNodeTypeMemAlloc,
    .on = {[BG__EXEC_MADE] = check_lifetimes},
};
