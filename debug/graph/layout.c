#include "layout.h"

#include "debug/memory/allocate.h"

void bg__layout_free(bg__layout *l)
{
    free(l->nodes);
    bg__edges_free(&l->list);
    free(l->handles);
    free(l->edge_to);
    free(l->first_edge);
    free(l->waits);
    free(l->early);
    free(l->ready);
    *l = (bg__layout){0};
}

static int compare_layout_handles(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct bg__layout_handle *)a)->node,
              y = (uintptr_t)((const struct bg__layout_handle *)b)->node;
    return (x > y) - (x < y);
}

static size_t find_place(const bg__layout *l, cudaGraphNode_t node)
{
    struct bg__layout_handle wanted = {node, 0};
    const struct bg__layout_handle *found =
        bsearch(&wanted, l->handles, l->count, sizeof wanted, compare_layout_handles);
    return found != NULL ? found->place : 0; /* both nodes of an edge are in the graph */
}

static bg_status allocate_layout(bg__layout *l)
{
    bg_status status;
    BG__TRY(BG__ALLOCATE(l->handles, l->count, "nodes"));
    BG__TRY(BG__ALLOCATE(l->first_edge, l->count + 1, "nodes"));
    BG__TRY(BG__ALLOCATE(l->waits, l->count, "nodes"));
    BG__TRY(BG__ALLOCATE(l->early, l->count, "nodes"));
    BG__TRY(BG__ALLOCATE(l->ready, l->count, "nodes"));
    BG__TRY(BG__ALLOCATE(l->edge_to, l->edges, "edges"));
done:
    return status;
}

/* Sorts the edges by the node that they leave. */
static void sort_layout_edges(bg__layout *l)
{
    for (size_t i = 0; i < l->edges; i++)
        l->first_edge[find_place(l, l->list.from[i]) + 2]++;
    for (size_t i = 2; i < l->count + 2; i++)
        l->first_edge[i] += l->first_edge[i - 1];
    for (size_t i = 0; i < l->edges; i++) {
        size_t to = find_place(l, l->list.to[i]);
        l->edge_to[l->first_edge[find_place(l, l->list.from[i]) + 1]++] = to;
        l->waits[to]++;
        l->early[to] |= l->list.data[i].type == cudaGraphDependencyTypeProgrammatic;
    }
}

bg_status bg__layout_read(bg__layout *l, cudaGraph_t graph)
{
    bg_status status;

    BG__TRY(bg__graph_list_nodes(graph, &l->nodes, &l->count));
    BG__TRY(bg__edges_list(&l->list, graph, l->nodes, l->count));
    l->edges = l->list.count;
    BG__TRY(allocate_layout(l));
    for (size_t i = 0; i < l->count; i++)
        l->handles[i] = (struct bg__layout_handle){l->nodes[i], i};
    qsort(l->handles, l->count, sizeof *l->handles, compare_layout_handles);
    sort_layout_edges(l);
done:
    return status;
}

bg_status bg__layout_visit_in_order(bg__layout *l, bg_status (*visit)(void *user, size_t place), void *user)
{
    bg_status status = BG_OK;

    for (size_t i = 0; i < l->count; i++)
        l->ready[i] = l->waits[i] == 0;
    for (size_t i = 0, next; i < l->count; i = next) {
        next = i + 1;
        if (!l->ready[i])
            continue;
        l->ready[i] = false;
        BG__TRY(visit(user, i));
        for (size_t e = l->first_edge[i]; e < l->first_edge[i + 1]; e++) {
            size_t to = l->edge_to[e];
            l->ready[to] = --l->waits[to] == 0;
            if (l->ready[to] && to < next)
                next = to;
        }
    }
done:
    return status;
}
