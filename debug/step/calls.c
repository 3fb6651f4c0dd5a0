#include "calls.h"

#include <limits.h>
#include <stdlib.h>

#include "debug/memory/allocate.h"

/* The part of a call that lies in the segment. false: there is none. */
static bool cut_part(const bg__call *call, int segment, bg__step_call *part)
{
    *part = (bg__step_call){.call = call,
                            .first = segment == call->segment ? call->first_node : 0,
                            .end = segment == call->end_segment ? call->end_node : LONG_MAX,
                            .last = segment == call->end_segment};
    return part->end > part->first;
}

static bg_status add_parts(const bg__call *call, bg__step_calls *calls)
{
    bg__step_call part;
    bg_status status = BG_OK;

    if (call->op == NULL || call->eager || call->kept == NULL || call->first_node < 0 || call->end_node < 0)
        return BG_OK;
    for (int i = call->segment; i <= call->end_segment; i++) {
        if (!cut_part(call, i, &part))
            continue;
        BG__TRY(BG__GROW(calls[i].calls, calls[i].count, calls[i].capacity, "calls"));
        calls[i].calls[calls[i].count++] = part;
    }
done:
    return status;
}

static int depth_of(const bg__call *call)
{
    int depth = 0;
    for (; call->parent != NULL; call = call->parent)
        depth++;
    return depth;
}

/* Calls are listed in order of their first use, which may have been in an earlier pass of another order. */
static int compare_parts(const void *a, const void *b)
{
    const bg__step_call *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return depth_of(x->call) - depth_of(y->call);
}

/* c and the calls around it: the first that has the node. */
static bg__step_call *find_around(bg__step_call *c, long node)
{
    while (c != NULL && !bg__step_call_has(c, node))
        c = c->outer;
    return c;
}

static void sort_parts(bg__step_calls *calls)
{
    if (calls->count > 0)
        qsort(calls->calls, calls->count, sizeof *calls->calls, compare_parts);
    for (size_t i = 1; i < calls->count; i++)
        calls->calls[i].outer = find_around(&calls->calls[i - 1], calls->calls[i].first);
}

bg_status bg__step_calls_create(bg__step_calls **result, const bg_graph *graph)
{
    bg__step_calls *calls = NULL;
    bg_status status;

    BG__TRY(BG__ALLOCATE(calls, bg__graph_segment_count(graph), "segments"));
    for (const bg__call *call = bg__graph_root(graph); call != NULL; call = bg__call_next(call))
        BG__TRY(add_parts(call, calls));
    for (int i = 0; i < bg__graph_segment_count(graph); i++)
        sort_parts(&calls[i]);
    *result = calls;
    calls = NULL;
done:
    bg__step_calls_free(calls, graph);
    return status;
}

void bg__step_calls_free(bg__step_calls *calls, const bg_graph *graph)
{
    for (int i = 0; calls != NULL && i < bg__graph_segment_count(graph); i++)
        free(calls[i].calls);
    free(calls);
}

bg__step_call *bg__step_calls_find(const bg__step_calls *calls, long node)
{
    size_t from = 0, end = calls->count;
    while (from < end) { /* the number of calls that begin at the node or before it */
        size_t middle = from + (end - from) / 2;
        if (calls->calls[middle].first <= node)
            from = middle + 1;
        else
            end = middle;
    }
    return from > 0 ? find_around(&calls->calls[from - 1], node) : NULL;
}

bg__step_call *bg__step_calls_find_part(const bg__step_calls *calls, const bg__call *call, int segment)
{
    bg__step_call part, *c;
    if (!cut_part(call, segment, &part))
        return NULL;
    c = bg__step_calls_find(calls, part.first);
    while (c != NULL && c->call != call)
        c = c->outer;
    return c;
}
