#include "tracked_graph.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUBSCRIBERS_MAX = 32 };

typedef struct subscription {
    const bg__subscriber *to;
    size_t offset; /* of its state */
} subscription;

static struct {
    subscription all[SUBSCRIBERS_MAX], by_kind[BG__EVENT_KINDS][SUBSCRIBERS_MAX];
    int count, counts[BG__EVENT_KINDS];
    size_t state_bytes;
    bool checks, replaced;
    atomic_bool have_graphs;
    pid_t process; /* a forked child reports nothing at its end */
} events;

const bg__attach_shim *bg__shim;

static void subscribe(const bg__subscriber *to)
{
    const subscription added = {to, events.state_bytes};

    events.all[events.count++] = added;
    events.state_bytes += (to->state_bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    for (int kind = 0; kind < BG__EVENT_KINDS; kind++)
        if (to->on[kind] != NULL)
            events.by_kind[kind][events.counts[kind]++] = added;
}

bg_status bg__events_begin(const bg__attach_shim *shim, const bg__subscriber *const *subscribers)
{
    unsigned check;
    bg_status status;

    bg__shim = shim;
    events.process = getpid();
    BG__TRY(bg__env_choices("BG_CHECK", &check));
    events.checks = (check & BG__CHECK_EXECS) != 0;
    for (; *subscribers != NULL; subscribers++) {
        if ((*subscribers)->when != 0 && ((*subscribers)->when & check) == 0)
            continue;
        if ((*subscribers)->begin != NULL)
            BG__TRY((*subscribers)->begin());
        subscribe(*subscribers);
    }
done:
    return status;
}

const char *bg__call_name(const bg__driver_call *call)
{
    return bg__shim->name(call->name);
}

CUstream bg__call_stream(const bg__driver_call *call, CUstream stream)
{
    const char *name = bg__call_name(call), *end = strrchr(name, '_');
    const bool per_thread = end != NULL && (strcmp(end, "_ptsz") == 0 || strcmp(end, "_ptds") == 0);
    return stream == NULL && per_thread ? CU_STREAM_PER_THREAD : stream;
}

bool bg__events_are_checked(void)
{
    return events.checks;
}

bool bg__event_is_wanted(bg__event_kind kind)
{
    return events.counts[kind] > 0;
}

void bg__events_set_replaced(void)
{
    events.replaced = true;
}

bool bg__events_are_replaced(void)
{
    return events.replaced;
}

bool bg__events_have_graphs(void)
{
    return atomic_load(&events.have_graphs);
}

void *bg__subscribers_create_state(void)
{
    return calloc(1, events.state_bytes + 1);
}

static void *state_of(const bg__tracked_graph *graph, const subscription *s)
{
    return graph != NULL ? (char *)graph->states + s->offset : NULL;
}

static bool has_node_of(const bg__nodes *nodes, unsigned types)
{
    for (size_t i = 0; nodes != NULL && i < nodes->count; i++)
        if ((types & 1U << nodes->node[i].type) != 0)
            return true;
    return false;
}

void bg__event_dispatch(bg__event *event)
{
    if (event->kind == BG__EXEC_MADE)
        atomic_store(&events.have_graphs, true);
    for (int i = 0; i < events.counts[event->kind]; i++) {
        const subscription *s = &events.by_kind[event->kind][i];
        if (event->kind == BG__EXEC_MADE && s->to->node_types != 0 && !has_node_of(event->nodes, s->to->node_types))
            continue;
        event->state = state_of(event->graph, s);
        s->to->on[event->kind](event);
    }
}

bool bg__subscribers_forbid(const bg__tracked_graph *graph, bg_report *report)
{
    bool forbidden = false;
    for (int i = 0; i < events.count; i++) {
        const subscription *s = &events.all[i];
        if (s->to->forbids != NULL && s->to->forbids(state_of(graph, s), report))
            forbidden = true;
    }
    return forbidden;
}

bg_status bg__subscribers_look(bg__tracked_graph *graph, const void *frame, bg_report *report)
{
    bg__nodes nodes = {.node = NULL};
    const bg__look look = {graph, &nodes, frame, report};
    bg_status status;

    BG__TRY(bg__nodes_read(graph->graph, &nodes));
    for (int i = 0; i < events.count; i++)
        if (events.all[i].to->look != NULL)
            BG__TRY(events.all[i].to->look(&look));
done:
    bg__nodes_free(&nodes);
    return status;
}

/* The reports that subscribers write here go into the file that debug/report/process_report.c writes afterwards. */
__attribute__((destructor)) static void end_events(void)
{
    if (events.process == getpid())
        BG__DISPATCH(BG__END);
}
