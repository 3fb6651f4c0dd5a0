#include "node_order.h"

#include <stdlib.h>
#include <string.h>

#include "debug/memory/allocate.h"
#include "lanes.h"

enum { NOWHERE = -1 };

/* ---- steps and edges ---- */

static bg_status add_step(bg__order *o, const bg__node *node)
{
    bg_status status;
    BG__TRY(BG__ARRAY_GROW(o->nodes, o->count, o->capacity, "nodes"));
    o->nodes[o->count++] = node;
done:
    return status;
}

static bg_status add_edge(bg__order *o, size_t from, size_t to)
{
    bg_status status;
    BG__TRY(BG__ARRAY_GROW(o->edges, o->edge_count, o->edge_capacity, "edges"));
    o->edges[o->edge_count++] = (struct bg__order_edge){from, to};
done:
    return status;
}

/* The steps before and after a child graph; both NOWHERE: the graph is not a child graph. */
typedef struct child_bounds {
    long begin, end;
} child_bounds;

static bg_status add_graph(bg__order *o, cudaGraph_t graph, const bg__nodes *nodes, child_bounds outer);

/* *last: the last step of the node; for a child graph, its end. */
static bg_status add_node(bg__order *o, cudaGraphNode_t handle, const bg__nodes *nodes, size_t *last)
{
    const bg__node *node = bg__nodes_find(nodes, handle);
    size_t first = o->count;
    bg_status status;

    if (node == NULL)
        BG__FAIL(BG_ERROR_NOT_FOUND, "a node is new: the graph was changed while its nodes were listed");
    BG__TRY(add_step(o, node));
    *last = first;
    if (node->type != cudaGraphNodeTypeGraph || !node->known)
        return BG_OK;
    *last = o->count;
    BG__TRY(add_step(o, NULL));
    BG__TRY(add_edge(o, first, *last));
    BG__TRY(add_graph(o, node->of.child, nodes, (child_bounds){(long)first, (long)*last}));
done:
    return status;
}

static bg_status add_edges(bg__order *o, const bg__layout *l, const size_t *firsts, const size_t *lasts,
                           child_bounds outer)
{
    bg_status status = BG_OK;

    for (size_t i = 0; i < l->count; i++) {
        if (outer.begin != NOWHERE && l->waits[i] == 0)
            BG__TRY(add_edge(o, (size_t)outer.begin, firsts[i]));
        if (outer.end != NOWHERE && l->first_edge[i] == l->first_edge[i + 1])
            BG__TRY(add_edge(o, lasts[i], (size_t)outer.end));
        for (size_t e = l->first_edge[i]; e < l->first_edge[i + 1]; e++)
            BG__TRY(add_edge(o, lasts[i], firsts[l->edge_to[e]]));
    }
done:
    return status;
}

/* The recursion is as deep as child graphs are nested. */
static bg_status add_graph(bg__order *o, cudaGraph_t graph, const bg__nodes *nodes, child_bounds outer)
{
    size_t *firsts = NULL, *lasts = NULL;
    bg__layout l = {0};
    bg_status status;

    BG__TRY(bg__layout_read(&l, graph));
    BG__TRY(BG__ALLOCATE(firsts, l.count, "nodes"));
    BG__TRY(BG__ALLOCATE(lasts, l.count, "nodes"));
    for (size_t i = 0; i < l.count; i++) {
        firsts[i] = o->count;
        BG__TRY(add_node(o, l.nodes[i], nodes, &lasts[i]));
    }
    BG__TRY(add_edges(o, &l, firsts, lasts, outer));
done:
    bg__layout_free(&l);
    free(firsts);
    free(lasts);
    return status;
}

static int compare_edges(const void *a, const void *b)
{
    const struct bg__order_edge *x = a, *y = b;
    return x->from != y->from ? (x->from > y->from) - (x->from < y->from) : (x->to > y->to) - (x->to < y->to);
}

static void sort_order_edges(bg__order *o)
{
    size_t edge = 0;
    if (o->edge_count > 0)
        qsort(o->edges, o->edge_count, sizeof *o->edges, compare_edges);
    for (size_t i = 0; i <= o->count; i++) {
        while (edge < o->edge_count && o->edges[edge].from < i)
            edge++;
        o->first[i] = edge;
    }
}

bg_status bg__order_read(bg__order *o, cudaGraph_t graph, const bg__nodes *nodes)
{
    bg_status status;
    BG__TRY(add_graph(o, graph, nodes, (child_bounds){NOWHERE, NOWHERE}));
    BG__TRY(BG__ALLOCATE(o->first, o->count, "nodes"));
    sort_order_edges(o);
done:
    return status;
}

bg_status bg__order_add_edge(bg__order *o, size_t before, size_t after)
{
    bg_status status;
    BG__TRY(add_edge(o, before, after));
    sort_order_edges(o);
done:
    return status;
}

void bg__order_free(bg__order *o)
{
    free(o->nodes);
    free(o->edges);
    free(o->first);
    *o = (bg__order){0};
}

/* ---- orders ---- */

/* Steps that are ready, the one with the lowest key on top. */
typedef struct ready {
    struct ready_step {
        uint64_t key;
        size_t step;
    } * heap;
    size_t count;
} ready;

static bool is_lower(struct ready_step a, struct ready_step b)
{
    return a.key != b.key ? a.key < b.key : a.step < b.step;
}

static void push_ready(ready *r, struct ready_step new)
{
    size_t at = r->count++;

    for (; at > 0 && is_lower(new, r->heap[(at - 1) / 2]); at = (at - 1) / 2)
        r->heap[at] = r->heap[(at - 1) / 2];
    r->heap[at] = new;
}

static size_t pop_ready(ready *r)
{
    size_t top = r->heap[0].step, at = 0, child;
    struct ready_step last = r->heap[--r->count];

    while ((child = 2 * at + 1) < r->count) {
        if (child + 1 < r->count && is_lower(r->heap[child + 1], r->heap[child]))
            child++;
        if (is_lower(last, r->heap[child]))
            break;
        r->heap[at] = r->heap[child];
        at = child;
    }
    r->heap[at] = last;
    return top;
}

static struct ready_step make_ready_step(const uint64_t *keys, size_t step)
{
    return (struct ready_step){keys != NULL ? keys[step] : 0, step};
}

bg_status bg__order_sort(const bg__order *o, const uint64_t *keys, size_t *steps)
{
    ready r = {.count = 0};
    size_t *waits = NULL, listed = 0;
    bg_status status;

    BG__TRY(BG__ALLOCATE(r.heap, o->count, "nodes"));
    BG__TRY(BG__ALLOCATE(waits, o->count, "nodes"));
    for (size_t e = 0; e < o->edge_count; e++)
        waits[o->edges[e].to]++;
    for (size_t i = 0; i < o->count; i++)
        if (waits[i] == 0)
            push_ready(&r, make_ready_step(keys, i));
    while (r.count > 0) {
        size_t step = pop_ready(&r);
        steps[listed++] = step;
        for (size_t e = o->first[step]; e < o->first[step + 1]; e++)
            if (--waits[o->edges[e].to] == 0)
                push_ready(&r, make_ready_step(keys, o->edges[e].to));
    }
    if (listed < o->count)
        BG__FAIL(BG_ERROR_UNSUPPORTED, "the dependencies of a graph have a cycle");
done:
    free(r.heap);
    free(waits);
    return status;
}

/* ---- lanes ---- */

/* Fills the members that bg__lanes_find reads. */
static bg_status fill_layout(const bg__order *o, bg__layout *l)
{
    bg_status status;

    l->count = o->count;
    l->edges = o->edge_count;
    BG__TRY(BG__ALLOCATE(l->first_edge, l->count + 1, "nodes"));
    BG__TRY(BG__ALLOCATE(l->waits, l->count, "nodes"));
    BG__TRY(BG__ALLOCATE(l->ready, l->count, "nodes"));
    BG__TRY(BG__ALLOCATE(l->edge_to, l->edges, "edges"));
    memcpy(l->first_edge, o->first, (o->count + 1) * sizeof *o->first);
    for (size_t e = 0; e < o->edge_count; e++) {
        l->edge_to[e] = o->edges[e].to;
        l->waits[o->edges[e].to]++;
    }
done:
    return status;
}

bg_status bg__order_find_lanes(const bg__order *o, int *lane, int *count)
{
    bg__layout l = {0};
    bg__lanes lanes = {0};
    bg_status status;

    BG__TRY(fill_layout(o, &l));
    BG__TRY(bg__lanes_find(&lanes, &l));
    memcpy(lane, lanes.lane, o->count * sizeof *lane);
    *count = lanes.count;
done:
    bg__lanes_free(&lanes);
    bg__layout_free(&l);
    return status;
}
