/* Pairs the calls of the eager pass with those of the capture. Finds the calls that only one of the two makes. */
#include "comparison.h"

#include <stdlib.h>
#include <string.h>

#include "debug/check/recapture.h"
#include "debug/memory/allocate.h"

/* ---- the two sides ---- */

static bg_status list_graph_calls(const bg_graph *graph, bg__recapture_side *side)
{
    size_t count = 1;
    bg_status status;

    for (const bg__call *call = bg__call_next(bg__graph_root(graph)); call != NULL; call = bg__call_next(call))
        count++;
    BG__TRY(BG__ALLOCATE(side->calls, count, "calls"));
    side->calls[side->call_count++].call = bg__graph_root(graph);
    for (const bg__call *call = bg__call_next(bg__graph_root(graph)); call != NULL; call = bg__call_next(call))
        side->calls[side->call_count++] = (bg__recapture_call){.call = call, .pair = -1};
done:
    return status;
}

static bg_status list_eager_calls(const bg__inputs *inputs, bg__recapture_side *side)
{
    bg_status status;

    BG__TRY(BG__ALLOCATE(side->calls, inputs->count + 1, "calls"));
    side->calls[side->call_count++].call = NULL;
    for (size_t i = 0; i < inputs->count; i++)
        side->calls[side->call_count++] = (bg__recapture_call){.call = inputs->list[i].call, .pair = -1};
done:
    return status;
}

/* A call comes after its parent. */
static void find_parents(bg__recapture_side *side)
{
    for (size_t i = 1; i < side->call_count; i++) {
        size_t parent = i - 1;
        while (parent > 0 && side->calls[parent].call != side->calls[i].call->parent)
            parent = side->calls[parent].parent;
        side->calls[i].parent = parent;
    }
}

/* ---- names ---- */

static const char *find_pair_name(void *user, size_t place)
{
    const bg__recapture *pairs = user;
    long pair = pairs->side[1].calls[place + 1].pair;
    return pair < 0 ? "" : pairs->side[0].calls[pair].call->name;
}

typedef struct call_naming {
    const bg__call_index *inputs; /* NULL: each call has its own name */
    const bg__call_index *index;
} call_naming;

static const char *find_call_name(void *user, size_t place)
{
    const call_naming *n = user;
    const bg__call *call = n->index->keys[place].call;
    const bg__call_key *began = n->inputs != NULL ? bg__call_index_find_call(n->inputs, call) : NULL;
    return n->inputs == NULL ? call->name : began != NULL ? began->name : "";
}

static void name_calls(bg__call_index *index, const bg__call_index *inputs)
{
    call_naming n = {inputs, index};
    bg__call_index_rename(index, find_call_name, &n);
}

bg_status bg__shadow_pair_calls(bg__shadow *s)
{
    bg__recapture pairs = {.report = NULL};
    bg_status status;

    BG__TRY(list_graph_calls(s->graph, &pairs.side[0]));
    BG__TRY(list_eager_calls(&s->inputs, &pairs.side[1]));
    find_parents(&pairs.side[0]);
    find_parents(&pairs.side[1]);
    BG__TRY(bg__recapture_pair_calls(&pairs));
    bg__call_index_rename(&s->inputs.index, find_pair_name, &pairs);
    name_calls(&s->calls.index, &s->inputs.index);
    name_calls(&s->inner.index, &s->inputs.index);
done:
    free(pairs.side[0].calls);
    free(pairs.side[1].calls);
    return status;
}

void bg__shadow_unpair_calls(bg__shadow *s)
{
    name_calls(&s->inputs.index, NULL);
    name_calls(&s->calls.index, NULL);
    name_calls(&s->inner.index, NULL);
    bg__call_index_clear(&s->graph_calls);
}

/* ---- findings ---- */

static void report_unpaired_call(bg__shadow *s, const bg__call *call, const char *where)
{
    if (!bg__report_has_finding(s->report, "frozen-control-flow", call->name))
        bg__report_add(s->report, "frozen-control-flow", BG_FAULT, call, NULL, BG__FLOW_ADVICE,
                       "%s is called only in the %s; a replay repeats the calls of its capture", call->name, where);
}

void bg__shadow_report_flow(bg__shadow *s)
{
    for (const bg__call *call = bg__graph_root(s->graph)->child; call != NULL; call = call->next)
        if (bg__inputs_find(&s->inputs, call->name) == NULL)
            report_unpaired_call(s, call, "capture");
    for (size_t i = 0; i < s->inputs.count; i++)
        if (s->inputs.index.keys[i].name[0] == '\0' && s->inputs.list[i].call->parent->op == NULL)
            report_unpaired_call(s, s->inputs.list[i].call, "eager pass");
}
