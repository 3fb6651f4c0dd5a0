#include "calls.h"

#include <limits.h>

#include "debug/memory/allocate.h"

/* The part of a call that lies in the segment. false: there is none. */
static bool find_part(const bg__call *call, int segment, bg__step_call *part)
{
    if (call->op == NULL || call->eager || call->kept == NULL || call->first_node < 0 || call->end_node < 0 ||
        segment < call->segment || segment > call->end_segment)
        return false;
    *part = (bg__step_call){.call = call,
                            .first = segment == call->segment ? call->first_node : 0,
                            .end = segment == call->end_segment ? call->end_node : LONG_MAX,
                            .last = segment == call->end_segment};
    return part->end > part->first;
}

bg_status bg__step_calls_create(bg__step_calls *calls, const bg_graph *graph, int segment)
{
    bg__step_call part;
    size_t count = 0;
    bg_status status;

    *calls = (bg__step_calls){0};
    for (const bg__call *call = bg__graph_root(graph); call != NULL; call = bg__call_next(call))
        count += find_part(call, segment, &part);
    BG__TRY(BG__ALLOCATE(calls->calls, count, "calls"));
    for (const bg__call *call = bg__graph_root(graph); call != NULL; call = bg__call_next(call))
        if (find_part(call, segment, &part))
            calls->calls[calls->count++] = part;
done:
    return status;
}

void bg__step_calls_free(bg__step_calls *calls)
{
    free(calls->calls);
    *calls = (bg__step_calls){0};
}

const bg__call *bg__step_calls_find(const bg__step_calls *calls, long node)
{
    for (size_t i = calls->count; i-- > 0;)
        if (bg__step_call_has(&calls->calls[i], node))
            return calls->calls[i].call;
    return NULL;
}
