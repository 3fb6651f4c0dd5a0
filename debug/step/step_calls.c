#include "step_calls.h"

#include <stdlib.h>
#include <string.h>

#include "debug/memory/allocate.h"

/* ---- which calls have nodes ---- */

typedef struct owned_node {
    const bg__call *call;
    size_t node;
} owned_node;

typedef struct owned_nodes {
    owned_node *list;
    size_t count, capacity;
} owned_nodes;

static bool is_stepped(const bg__call *call)
{
    return call->op != NULL && !call->eager && call->kept != NULL;
}

/* Adds the node to its own call and to all calls around it. */
static bg_status add_owned_node(owned_nodes *all, const bg__call *call, size_t node)
{
    bg_status status = BG_OK;
    for (; call != NULL; call = call->parent) {
        if (!is_stepped(call))
            continue;
        BG__TRY(BG__ARRAY_GROW(all->list, all->count, all->capacity, "nodes of calls"));
        all->list[all->count++] = (owned_node){call, node};
    }
done:
    return status;
}

static int compare_owned_nodes(const void *a, const void *b)
{
    const owned_node *x = a, *y = b;
    if (x->call != y->call)
        return (uintptr_t)x->call < (uintptr_t)y->call ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static int call_depth(const bg__call *call)
{
    int depth = 0;
    for (; call->parent != NULL; call = call->parent)
        depth++;
    return depth;
}

/* Sorts the calls by their first node. Before the sort they are in the order in which they were first used, maybe in an
 * earlier pass that used them in another order. If two calls have the same first node, the outer call comes first. */
static int compare_step_calls(const void *a, const void *b)
{
    const bg__step_call *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return call_depth(x->call) - call_depth(y->call);
}

/* Lists each call once. */
static bg_status add_step_calls(bg__step_calls *calls, owned_nodes *all, int segment)
{
    bg_status status = BG_OK;

    if (all->count > 0)
        qsort(all->list, all->count, sizeof *all->list, compare_owned_nodes);
    for (size_t i = 0; i < all->count; i++) {
        const owned_node *at = &all->list[i];
        if (i > 0 && at->call == all->list[i - 1].call)
            continue;
        BG__TRY(BG__ARRAY_GROW(calls->calls, calls->count, calls->capacity, "calls"));
        calls->calls[calls->count++] =
            (bg__step_call){.call = at->call, .first = at->node, .last = segment == at->call->end_segment};
    }
    if (calls->count > 0)
        qsort(calls->calls, calls->count, sizeof *calls->calls, compare_step_calls);
done:
    return status;
}

/* ---- finding them ---- */

bool bg__step_call_is_named(const bg__call *call, const char *name)
{
    bool named = call != NULL && call->name != NULL && strcmp(call->name, name) == 0;
    for (int i = 0; call != NULL && i < call->member_count && !named; i++)
        named = strcmp(call->members[i]->name, name) == 0;
    return named;
}

static int compare_by_call(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)(*(bg__step_call *const *)a)->call, y = (uintptr_t)(*(bg__step_call *const *)b)->call;
    return (x > y) - (x < y);
}

bg__step_call *bg__step_calls_find_by_call(const bg__step_calls *calls, const bg__call *call)
{
    bg__step_call wanted = {.call = call};
    const bg__step_call *key = &wanted;
    bg__step_call **found = bsearch(&key, calls->by_call, calls->count, sizeof *calls->by_call, compare_by_call);
    return found != NULL ? *found : NULL;
}

static bg__step_call *find_enclosing_call(const bg__step_calls *calls, const bg__call *call)
{
    bg__step_call *found = NULL;
    for (; call != NULL && found == NULL; call = call->parent)
        found = bg__step_calls_find_by_call(calls, call);
    return found;
}

/* all: already contains the calls that begin in this segment and continue in another. They are listed even if they have
 * no node. */
static bg_status read_calls(bg__step_calls *calls, owned_nodes *all, const bg__call **owner, size_t nodes, int segment)
{
    bg_status status = BG_OK;

    for (size_t i = 0; i < nodes; i++)
        BG__TRY(add_owned_node(all, owner[i], i));
    BG__TRY(add_step_calls(calls, all, segment));
    BG__TRY(BG__ALLOCATE(calls->by_call, calls->count, "calls"));
    for (size_t i = 0; i < calls->count; i++)
        calls->by_call[i] = &calls->calls[i];
    qsort(calls->by_call, calls->count, sizeof *calls->by_call, compare_by_call);
    for (size_t i = 0; i < calls->count; i++)
        calls->calls[i].outer = find_enclosing_call(calls, calls->calls[i].call->parent);
    BG__TRY(BG__ALLOCATE(calls->of_node, nodes, "nodes"));
    calls->nodes = nodes;
    for (size_t i = 0; i < nodes; i++)
        calls->of_node[i] =
            i > 0 && owner[i] == owner[i - 1] ? calls->of_node[i - 1] : find_enclosing_call(calls, owner[i]);
done:
    return status;
}

/* Lists calls that span segments. The node of each is a number after the nodes of the segment in which the call
 * begins. */
static bg_status list_calls_with_breaks(owned_nodes *all, const bg__calls_of_nodes *owners, const bg_graph *graph)
{
    bg_status status = BG_OK;
    for (const bg__call *call = bg__graph_root(graph); call != NULL; call = bg__call_next(call)) {
        size_t nodes;
        if (call->segment < 0 || call->segment >= call->end_segment || call->end_node < 0)
            continue;
        nodes = owners->first[call->segment + 1] - owners->first[call->segment];
        BG__TRY(add_owned_node(&all[call->segment], call, nodes));
    }
done:
    return status;
}

bg_status bg__step_calls_create(bg__step_calls **result, const bg_graph *graph)
{
    int segments = bg__graph_segment_count(graph);
    bg__step_calls *calls = NULL;
    owned_nodes *all = NULL;
    bg__calls_of_nodes owners;
    bg_status status;

    BG__TRY(bg__calls_of_nodes_list(&owners, graph));
    BG__TRY(BG__ALLOCATE(calls, segments, "segments"));
    BG__TRY(BG__ALLOCATE(all, segments, "segments"));
    BG__TRY(list_calls_with_breaks(all, &owners, graph));
    for (int i = 0; i < segments; i++)
        BG__TRY(
            read_calls(&calls[i], &all[i], owners.call + owners.first[i], owners.first[i + 1] - owners.first[i], i));
    *result = calls;
    calls = NULL;
done:
    for (int i = 0; all != NULL && i < segments; i++)
        free(all[i].list);
    free(all);
    bg__calls_of_nodes_free(&owners);
    bg__step_calls_free(calls, graph);
    return status;
}

void bg__step_calls_free(bg__step_calls *calls, const bg_graph *graph)
{
    for (int i = 0; calls != NULL && i < bg__graph_segment_count(graph); i++) {
        free(calls[i].calls);
        free(calls[i].by_call);
        free(calls[i].of_node);
    }
    free(calls);
}
