/* Finds calls that only the eager pass, or only the capture, makes. */
#include "comparison.h"

#include <string.h>

#include "debug/check/recapture.h"

/* The next call that is inside no other call. */
static const bg__pass_call *next_outermost(const bg__pass_calls *calls, size_t *at)
{
    while (*at < calls->count)
        if (calls->list[(*at)++].call->parent->op == NULL)
            return &calls->list[*at - 1];
    return NULL;
}

static bool has_outermost(const bg_graph *graph, const char *name)
{
    const bg__call *call = bg__graph_root(graph)->child;
    while (call != NULL && strcmp(call->name, name) != 0)
        call = call->next;
    return call != NULL;
}

static void tell_lone(bg__shadow *s, const bg__call *call, const char *where)
{
    if (!bg__report_has(s->report, "frozen-control-flow", call->name))
        bg__report_add(s->report, "frozen-control-flow", BG_FAULT, call, NULL, BG__FLOW_ADVICE,
                       "%s is called only in the %s; a replay repeats the calls of its capture", call->name, where);
}

void bg__shadow_tell_flow(bg__shadow *s)
{
    const bg__call *call = bg__graph_root(s->graph)->child;
    const bg__pass_call *eager;
    size_t at = 0;

    while ((eager = next_outermost(&s->calls, &at)) != NULL && call != NULL &&
           strcmp(eager->call->name, call->name) == 0)
        call = call->next;
    if (eager == NULL && call == NULL)
        return;
    for (call = bg__graph_root(s->graph)->child; call != NULL; call = call->next)
        if (bg__pass_calls_find(&s->calls, call->name) == NULL)
            tell_lone(s, call, "capture");
    for (at = 0; (eager = next_outermost(&s->calls, &at)) != NULL;)
        if (!has_outermost(s->graph, eager->call->name))
            tell_lone(s, eager->call, "eager pass");
}
