/* Calls that the eager pass or the capture makes alone. */
#include "comparison.h"

#include <string.h>

/* The next one that is inside no other. */
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
        bg__report_add(s->report, "frozen-control-flow", BG_FAULT, call, NULL,
                       "decide on the device, or in an eager op, or capture one graph for each case",
                       "%s is called only in the %s; a replay repeats what its capture called", call->name, where);
}

/* What such a call leaves has nothing to be compared with. */
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
