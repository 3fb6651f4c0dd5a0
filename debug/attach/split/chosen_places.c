#include "chosen_places.h"

#include <string.h>

#include "debug/attach/nodes/node_calls.h"
#include "debug/graph/waiting_kernels.h"
#include "debug/memory/allocate.h"
#include "debug/report/report.h"
#include "node_launch.h"

/* ---- what is chosen --------------------------------------------------------------------------------------------- */

bg__choice bg__node_choice(const char *graph, const bg__node *node, const bg__node *outer)
{
    const bg__stack *stack = bg__node_maker(outer->handle);
    const char *name = node->kernel != NULL ? node->kernel->name : NULL, *begin = "";
    size_t bytes = node != outer && name != NULL ? bg__kernel_short_name(name, &begin) : 0;
    char inner[256];

    snprintf(inner, sizeof inner, "%.*s", (int)bytes, begin);
    return bg__node_patterns_match(&(bg__pattern_candidate){.graph = graph,
                                                            .name = node != outer        ? inner
                                                                    : node->call != NULL ? node->call->name
                                                                                         : "",
                                                            .index = outer->place,
                                                            .stack = stack != NULL ? bg__stack_text(stack) : NULL});
}

/* ---- kernels that wait for each other --------------------------------------------------------------------------- */

/* Two such kernels without an order may need each other to make progress: they stay in one launch, as in the graph. */
static bool waits_for_other_kernels(const bg__node *node)
{
    return node->type == cudaGraphNodeTypeKernel && bg__kernel_waits_for_others(node->kernel->name) != NULL;
}

/* Marks all places that can be reached from `place`. */
static void mark_reachable(const bg__layout *layout, size_t place, bool *reached, size_t *stack)
{
    size_t depth = 0;

    memset(reached, 0, layout->count * sizeof *reached);
    stack[depth++] = place;
    while (depth > 0) {
        size_t from = stack[--depth];
        for (size_t e = layout->first_edge[from]; e < layout->first_edge[from + 1]; e++) {
            size_t to = layout->edge_to[e];
            if (!reached[to])
                stack[depth++] = to;
            reached[to] = true;
        }
    }
}

/* behind[i * count + k]: places[k] comes behind places[i]. */
static bg_status add_unordered_pairs(bg__coresident_pairs *ties, const size_t *places, size_t count, const bool *behind)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < count; i++)
        for (size_t k = i + 1; k < count; k++) {
            if (behind[i * count + k] || behind[k * count + i])
                continue;
            BG__TRY(BG__ARRAY_GROW(ties->tie, ties->count, ties->capacity, "kernels"));
            ties->tie[ties->count++] = (struct bg__coresident_pair){places[i], places[k]};
        }
done:
    return status;
}

static bg_status add_coresident_pairs(bg__coresident_pairs *ties, const bg__layout *layout, const size_t *places,
                                      size_t count)
{
    bool *reached = NULL, *behind = NULL;
    size_t *stack = NULL;
    bg_status status;

    BG__TRY(BG__ALLOCATE(reached, layout->count, "nodes"));
    BG__TRY(BG__ALLOCATE(stack, layout->count, "nodes"));
    BG__TRY(BG__ALLOCATE(behind, count * count, "kernels"));
    for (size_t i = 0; i < count; i++) {
        mark_reachable(layout, places[i], reached, stack);
        for (size_t k = 0; k < count; k++)
            behind[i * count + k] = reached[places[k]];
    }
    BG__TRY(add_unordered_pairs(ties, places, count, behind));
done:
    free(reached);
    free(stack);
    free(behind);
    return status;
}

static bg_status find_coresident_pairs(bg__coresident_pairs *ties, const bg__nodes *nodes, const bg__layout *layout)
{
    size_t *places = NULL, count = 0;
    bg_status status;

    BG__TRY(BG__ALLOCATE(places, layout->count, "nodes"));
    for (size_t i = 0; i < layout->count; i++) {
        const bg__node *node = bg__nodes_find(nodes, layout->nodes[i]);
        if (node != NULL && waits_for_other_kernels(node))
            places[count++] = i;
    }
    if (count > 1)
        BG__TRY(add_coresident_pairs(ties, layout, places, count));
done:
    free(places);
    return status;
}

static bool is_coresident(const bg__coresident_pairs *ties, size_t place)
{
    for (size_t i = 0; i < ties->count; i++)
        if (ties->tie[i].one == place || ties->tie[i].other == place)
            return true;
    return false;
}

/* ---- what stays in the graph ------------------------------------------------------------------------------------ */

/* Chosen nodes that stay in the graph for one reason. */
typedef struct kept_nodes {
    const char *why;
    const bg__call *first;
    size_t count;
} kept_nodes;
enum { REASONS = 16 };

static void add_kept_node(kept_nodes list[REASONS], const char *why, const bg__call *call)
{
    size_t i = 0;
    while (i < REASONS - 1 && list[i].why != NULL && strcmp(list[i].why, why) != 0)
        i++;
    if (list[i].count++ == 0)
        list[i] = (kept_nodes){why, call, 1};
}

static void report_kept_nodes(bg_report *report, const kept_nodes list[REASONS])
{
    for (int i = 0; i < REASONS && list[i].count > 0; i++) {
        char more[48] = "";
        if (list[i].count > 1)
            snprintf(more, sizeof more, ", with %zu other chosen node%s", list[i].count - 1,
                     list[i].count == 2 ? "" : "s");
        bg__report_add(report, "not-split", BG_NOTE, list[i].first, NULL,
                       "choose the nodes before and after it instead",
                       "it stays in its graph%s, since it cannot be launched outside: %s", more, list[i].why);
    }
}

void bg__chosen_places_report_whole(const bg__chosen_places *places, bg_report *report, const char *why)
{
    bg__report_add(report, "not-split", BG_NOTE, NULL, NULL, "check the graph with breakgraph check --attach",
                   "the graph is not split, though %zu of its nodes %s chosen: %s", places->chosen,
                   places->chosen == 1 ? "is" : "are", why);
}

/* ---- all nodes -------------------------------------------------------------------------------------------------- */

/* One place: its node, or all nodes of its child graph. */
typedef struct place_choice {
    bg__choice choice;
    const char *why; /* NULL: the node can be launched outside */
} place_choice;

/* Fills `list`, which has one entry for each place: the strongest choice of any node of the place, and why the place
 * cannot be launched outside. */
static void merge_node_choices(place_choice *list, const bg__tracked_graph *a, const bg__nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++) {
        const bg__node *node = &nodes->node[i], *outer = node;
        const char *why = node->type == cudaGraphNodeTypeGraph ? NULL : bg__node_launch_obstacle(node);
        bg__choice choice;
        while (outer->parent >= 0)
            outer = &nodes->node[outer->parent];
        choice = bg__node_choice(bg__graph_name(a->graph), node, outer);
        if (why != NULL)
            list[outer->place].why = why;
        if (choice > list[outer->place].choice)
            list[outer->place].choice = choice;
    }
}

bg_status bg__chosen_places_find(bg__chosen_places *p, const bg__tracked_graph *a, const bg__nodes *nodes,
                                 const bg__layout *layout, bg_report *report)
{
    kept_nodes kept_list[REASONS] = {{NULL, NULL, 0}};
    place_choice *list = NULL;
    bg_status status;

    BG__TRY(BG__ALLOCATE(p->outside, layout->count, "nodes"));
    BG__TRY(BG__ALLOCATE(p->first, layout->count, "nodes"));
    BG__TRY(BG__ALLOCATE(list, layout->count, "nodes"));
    merge_node_choices(list, a, nodes);
    BG__TRY(find_coresident_pairs(&p->ties, nodes, layout));
    for (size_t i = 0; i < layout->count; i++) {
        const bg__node *node = bg__nodes_find(nodes, layout->nodes[i]);
        if (list[i].choice == BG__NOT_CHOSEN || node == NULL)
            continue;
        p->chosen++;
        if (list[i].why == NULL && is_coresident(&p->ties, i))
            list[i].why = "no dependency orders it and another NCCL kernel, and each may wait for the other";
        if (list[i].why != NULL)
            add_kept_node(kept_list, list[i].why, node->call);
        p->outside[i] = list[i].why == NULL;
        p->first[i] = p->outside[i] && list[i].choice == BG__CHOSEN_FIRST;
        p->count += p->outside[i];
    }
    if (!a->own) /* otherwise the whole graph stays */
        report_kept_nodes(report, kept_list);
done:
    free(list);
    return status;
}

void bg__chosen_places_free(bg__chosen_places *p)
{
    free(p->outside);
    free(p->first);
    free(p->ties.tie);
    *p = (bg__chosen_places){.outside = NULL};
}
