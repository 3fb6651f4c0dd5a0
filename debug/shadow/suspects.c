#include "suspects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/graph/nodes.h"
#include "debug/memory/tensors.h"

bg__suspect *bg__suspects_find(const bg__suspects *s, const char *name)
{
    const bg__call_key *key = bg__call_index_find_name(&s->index, name);
    return key != NULL ? &s->list[key - s->index.keys] : NULL;
}

bg_status bg__suspects_find_or_add(bg__suspects *s, const bg__call *call, bg__suspect **suspect)
{
    bg_status status = BG_OK;

    *suspect = bg__suspects_find(s, call->name);
    if (*suspect != NULL)
        return BG_OK;
    BG__TRY(BG__ARRAY_GROW(s->list, s->count, s->capacity, "calls that differ"));
    BG__TRY(bg__call_index_add(&s->index, call->name, call));
    *suspect = &s->list[s->count++];
    **suspect = (bg__suspect){.call = call};
done:
    return status;
}

void bg__suspects_free(bg__suspects *s)
{
    bg__call_index_free(&s->index);
    free(s->list);
    free(s->races);
    *s = (bg__suspects){0};
}

/* ---- races ---- */

static void add_race(void *user, const bg__race *race)
{
    bg__suspects *s = user;
    bg_status status = BG__ARRAY_GROW(s->races, s->race_count, s->race_capacity, "races");
    if (status == BG_OK)
        s->races[s->race_count++] = *race;
    else
        s->race_status = status;
}

bg_status bg__suspects_list_races(bg__suspects *s, const bg_graph *graph)
{
    bg_status status = BG_OK;

    if (s->listed)
        return BG_OK;
    s->listed = true;
    BG__TRY(bg__find_races(graph, add_race, s));
    status = s->race_status;
done:
    return status;
}

static bool is_race_of_call(const bg__race *race, const bg__call *call)
{
    return strcmp(race->earlier.call->name, call->name) == 0 || strcmp(race->later.call->name, call->name) == 0;
}

/* Whether the call comes after the race's earlier call, and reads the bytes that both access. */
static bool reads_raced_memory(const bg__race *race, const bg__call *call, const void *args)
{
    const bg__call *from = race->earlier.call;
    bg__field_tensor t = {0};

    while (from != NULL && from != call)
        from = bg__call_next(from);
    if (from == NULL)
        return false;
    while (args != NULL && bg__field_tensor_next(call->op, args, &t)) {
        uintptr_t begin = (uintptr_t)t.tensor->data, end = begin + bg_tensor_bytes(t.tensor);
        if (t.input && begin < race->begin + race->bytes && race->begin < end)
            return true;
    }
    return false;
}

/* ---- what they are excused by ---- */

bool bg__suspect_varies_itself(const bg__suspect *s)
{
    return s->varies && (s->call->eager ? s->same_arguments : s->moves);
}

static bool reads_outputs(const bg_graph *graph, const bg__call *writer, const bg__call *reader)
{
    const void *written = bg__graph_call_args(graph, writer), *read = bg__graph_call_args(graph, reader);
    bg__field_tensor out = {0};

    while (written != NULL && read != NULL && bg__field_tensor_next(writer->op, written, &out)) {
        bg__field_tensor in = {0};
        while (out.output && bg__field_tensor_next(reader->op, read, &in))
            if (in.input && bg__tensor_overlaps(in.tensor, out.tensor))
                return true;
    }
    return false;
}

/* Whether the reader got inputs other than the kept copies: late work may have changed the output of a call after the
 * reader had read it. If the reader gives the same result from the copy in an eager run and in the graph, the reader is
 * not at fault. */
static bool got_other_inputs(const bg__suspects *s, const bg_graph *graph, const bg__suspect *reader)
{
    for (size_t i = 0; reader->varies && reader->repeated == reader->digests[0] && i < s->count; i++) {
        const bg__suspect *writer = &s->list[i];
        if (writer != reader && (writer->not_joined || bg__suspect_varies_itself(writer)) &&
            reads_outputs(graph, writer->call, reader->call))
            return true;
    }
    return false;
}

bool bg__suspects_is_excused(const bg__suspects *s, const bg_graph *graph, const bg__call *call)
{
    const bg__suspect *suspect = bg__suspects_find(s, call->name);

    if (suspect != NULL &&
        (suspect->not_joined || bg__suspect_varies_itself(suspect) || got_other_inputs(s, graph, suspect)))
        return true;
    for (size_t i = 0; i < s->race_count; i++)
        if (is_race_of_call(&s->races[i], call) ||
            reads_raced_memory(&s->races[i], call, bg__graph_call_args(graph, call)))
            return true;
    return false;
}

bool bg__suspects_all_vary(const bg__suspects *s)
{
    bool any = false;
    for (size_t i = 0; i < s->count; i++) {
        if (s->list[i].not_joined || (s->list[i].differs && !bg__suspect_varies_itself(&s->list[i])))
            return false;
        any |= s->list[i].differs || bg__suspect_varies_itself(&s->list[i]);
    }
    return any;
}

/* ---- findings ---- */

/* Whether the race may explain a difference: the finding is a fault then, and a warning otherwise. */
static bool is_possible_cause(const bg__suspects *s, const bg__race *race)
{
    for (size_t i = 0; i < s->count; i++)
        if ((s->list[i].differs || s->list[i].varies) && is_race_of_call(race, s->list[i].call))
            return true;
    return s->order;
}

bool bg__suspects_order_is_cause(const bg__suspects *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i].not_joined)
            return true;
    for (size_t i = 0; i < s->race_count; i++)
        if (is_possible_cause(s, &s->races[i]))
            return true;
    return s->order;
}

/* Whether no call reads the outputs of the break before a later break begins. The body of that break may wait for the
 * work, which the tool cannot see. */
static bool may_be_waited_for(const bg_graph *graph, const bg__call *writer)
{
    for (const bg__call *call = bg__call_next(writer); call != NULL; call = bg__call_next(call)) {
        if (bg__call_is_in(call, writer))
            continue;
        if (call->eager)
            return true;
        if (reads_outputs(graph, writer, call))
            return false;
    }
    return false;
}

void bg__suspects_report_races(const bg__suspects *s, const bg_graph *graph, bg_report *report)
{
    for (size_t i = 0; i < s->count; i++) {
        const bg__suspect *suspect = &s->list[i];
        const bool may_wait = suspect->not_joined && may_be_waited_for(graph, suspect->call);
        if (suspect->not_joined)
            bg__report_add(report, "race", may_wait ? BG_NOTE : BG_FAULT, suspect->call, NULL,
                           "make the stream that the body got wait for every other stream that the body uses before "
                           "it returns (cudaEventRecord, cudaStreamWaitEvent)",
                           "%s of %s was still written after the call's stream had finished: work on another stream "
                           "is not joined to it, and %s",
                           suspect->field, suspect->call->name,
                           may_wait ? "this is wrong unless a later break waits for it"
                                    : "later calls may read too early");
    }
    for (size_t i = 0; i < s->race_count; i++)
        bg__report_race(report, is_possible_cause(s, &s->races[i]) ? BG_FAULT : BG_WARNING, &s->races[i]);
}

static void report_not_repeatable(const bg__suspect *suspect, bg_report *report)
{
    bg__report_add(report, "not-repeatable", BG_NOTE, suspect->call, NULL,
                   "this is right if it keeps state (a counter, an allocator, a random generator), and wrong if it "
                   "leaves work on a stream that its own does not wait for",
                   "%s of %s differs between two eager runs from the same contents of memory and with the same "
                   "arguments, so its replays cannot be judged; later calls were compared with the eager run's %s",
                   suspect->field, suspect->call->name, suspect->field);
}

/* The number of nodes up to the last node of the call. */
static size_t count_nodes_up_to(const bg__nodes *nodes, const bg__call *call)
{
    size_t count = nodes->count;
    while (count > 0 && !bg__call_is_in(nodes->node[count - 1].call, call))
        count--;
    return count;
}

/* Host functions that the graph launches before the call has ended may change host memory that the call reads, as the
 * body of a break may. Then the call itself does not vary. text: "; ...", or "" if there are none. */
static bg_status find_host_function(const bg_graph *graph, const bg__call *call, char *text, size_t bytes)
{
    bg__nodes nodes = {0};
    bg_status status;

    text[0] = '\0';
    BG__TRY(bg__nodes_read(graph, &nodes));
    for (size_t i = 0, count = count_nodes_up_to(&nodes, call); text[0] == '\0' && i < count; i++) {
        const bg__node *node = &nodes.node[i];
        if (node->type == cudaGraphNodeTypeHost)
            snprintf(text, bytes,
                     "; %.150s launches a host function by then, and what varies may be host memory that this changes",
                     node->call != NULL ? node->call->name : "work outside op calls");
    }
done:
    bg__nodes_free(&nodes);
    return status;
}

static bg_status report_nondeterministic(const bg__suspect *suspect, const bg_graph *graph, bg_report *report)
{
    char host[300];
    bg_status status;

    BG__TRY(find_host_function(graph, suspect->call, host, sizeof host));
    bg__report_add(report, "nondeterministic", BG_NOTE, suspect->call, NULL,
                   "make the pass deterministic first: in options.state, list the tensors that it keeps from run to "
                   "run, and set a tolerance where atomic sums differ",
                   suspect->order ? "%s of %s rounds differently if those of its nodes that do not wait for each "
                                    "other run in another order%s"
                                  : "the eager pass is nondeterministic: two runs from the same contents of memory "
                                    "differ, first in %s of %s%s",
                   suspect->field, suspect->call->name, host);
done:
    return status;
}

bg_status bg__suspects_report_varying_calls(const bg__suspects *s, const bg_graph *graph, bg_report *report)
{
    bg_status status = BG_OK;

    for (const bg__call *call = bg__call_next(bg__graph_root(graph)); call != NULL; call = bg__call_next(call)) {
        const bg__suspect *suspect = bg__suspects_find(s, call->name);
        if (suspect == NULL || suspect->not_joined || !bg__suspect_varies_itself(suspect))
            continue;
        if (call->eager && !bg__report_has_finding(report, "not-repeatable", call->name))
            report_not_repeatable(suspect, report);
        else if (!call->eager && !bg__report_has_finding(report, "nondeterministic", call->name))
            BG__TRY(report_nondeterministic(suspect, graph, report));
    }
done:
    return status;
}

bg_status bg__suspects_report_first_varying(const bg__suspects *s, const bg_graph *graph, bg_report *report)
{
    for (const bg__call *call = bg__call_next(bg__graph_root(graph)); call != NULL; call = bg__call_next(call)) {
        const bg__suspect *suspect = bg__suspects_find(s, call->name);
        if (suspect != NULL && suspect->varies && !bg__suspects_is_excused(s, graph, call))
            return report_nondeterministic(suspect, graph, report);
    }
    return BG_OK;
}
