/* The op calls that the nodes of a segment belong to, and their progress in a walk. */
#ifndef BG_DEBUG_STEP_STEP_CALLS_H
#define BG_DEBUG_STEP_STEP_CALLS_H

#include "graph/inspect.h"
#include "specials.h"

typedef struct bg__step_call {
    const bg__call *call;
    struct bg__step_call *outer; /* the nearest call around it that has nodes in this segment; NULL: none */
    size_t first;                /* its first node in this segment */
    bool last;                   /* it ends in this segment; else it has a break inside and continues in another */
    size_t left;                 /* nodes that have not run */
    bool begun;                  /* its inputs have been counted, in this segment or an earlier one */
    bg__special_counts inputs;   /* counts before it began */
} bg__step_call;

/* The captured calls of one segment that have nodes, in order of their first node; an outer call comes before inner
 * ones. */
typedef struct bg__step_calls {
    bg__step_call *calls;
    size_t count, capacity;
    bg__step_call **by_call; /* the same, by address of the call */
    bg__step_call **of_node; /* for each node of the segment, the innermost call; NULL: none */
    size_t nodes;
} bg__step_calls;

/* Lists the calls of each segment. The caller frees *calls with bg__step_calls_free. */
bg_status bg__step_calls_create(bg__step_calls **calls, const bg_graph *graph);
/* NULL does nothing. */
void bg__step_calls_free(bg__step_calls *calls, const bg_graph *graph);

/* Returns the innermost call of a node; follow `outer` for the calls around it. NULL: none. */
static inline bg__step_call *bg__step_calls_find_by_node(const bg__step_calls *calls, long node)
{
    return node >= 0 && (size_t)node < calls->nodes ? calls->of_node[node] : NULL;
}
/* Whether the call, or a call that it stands for, has that name. `call` NULL: false. */
bool bg__step_call_is_named(const bg__call *call, const char *name);
/* Finds the entry of `call` in `calls`. NULL: none. */
bg__step_call *bg__step_calls_find_by_call(const bg__step_calls *calls, const bg__call *call);

#endif
