/* The order between the program's graphs and its work outside of them: launches, copies, memsets, events, waits. Work
 * that uses the memory of a graph, and that nothing orders with its launches, is a finding ("unordered"). Host memory
 * that is written while a launch may still copy from it is another ("host-source-changed"). */
#include "stream_order.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "debug/attach/events/tracked_graph.h"
#include "debug/attach/events/subscribers.h"
#include "debug/check/node_pointers.h"
#include "debug/memory/allocate.h"
#include "debug/report/process_report.h"
#include "graph_uses.h"
#include "use_history.h"

static struct {
    pthread_mutex_t lock;
    void (*begin)(void);
    atomic_bool used;
    uint64_t graphs; /* number of graphs recorded */
    bg__graph_uses *all;
    bool stopped; /* out of memory, or too many streams: no more findings */
} stream_order = {.lock = PTHREAD_MUTEX_INITIALIZER};

void bg__stream_order_begin(void (*begin)(void))
{
    stream_order.begin = begin;
}

bool bg__stream_order_is_active(void)
{
    return atomic_load(&stream_order.used);
}

static void stop_recording_locked(const char *why)
{
    if (!stream_order.stopped)
        bg__process_report_add_unchecked("order", "work outside of graphs", why);
    stream_order.stopped = true;
}

/* Returns false if nothing is recorded; else the caller unlocks. */
static bool lock_if_active(void)
{
    if (!bg__stream_order_is_active())
        return false;
    pthread_mutex_lock(&stream_order.lock);
    if (!stream_order.stopped)
        return true;
    pthread_mutex_unlock(&stream_order.lock);
    return false;
}

/* The state of a graph. */
typedef struct graph_state {
    bg__graph_uses *uses;
    bool known; /* uses are those of its nodes now */
} graph_state;

/* ---- what a graph uses ------------------------------------------------------------------------------------------ */

static void add_history_ranges_locked(const bg__graph_uses *uses)
{
    bool kept = true;
    for (size_t i = 0; i < uses->count && kept; i++)
        kept = bg__history_add_range(uses->list[i].begin, uses->list[i].end, uses->list[i].rest);
    if (!kept || !bg__history_sort())
        stop_recording_locked("out of host memory, or the graphs use too many addresses");
}

/* Removes `uses` from the list, and reports the inputs of its graph. */
static void unlink_uses(bg__graph_uses *uses)
{
    pthread_mutex_lock(&stream_order.lock);
    for (bg__graph_uses **at = &stream_order.all; *at != NULL; at = &(*at)->next)
        if (*at == uses) {
            *at = uses->next;
            break;
        }
    bg__graph_inputs_report(uses->inventory, uses->graph);
    pthread_mutex_unlock(&stream_order.lock);
}

static void remove_uses(bg__graph_uses *uses)
{
    if (uses == NULL)
        return;
    unlink_uses(uses);
    bg__graph_uses_free(uses);
}

/* Records what graph uses in place of *result. Errors: OUT_OF_MEMORY, CUDA. */
static bg_status record_uses(const bg_graph *graph, const bg__allocations *addresses, bg__graph_uses **result)
{
    bg__graph_uses *uses = calloc(1, sizeof *uses);
    bg__graph_uses *before = *result;
    bg_status status;

    *result = NULL;
    if (uses == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for what a graph uses");
    BG__TRY(bg__graph_uses_collect(uses, graph, addresses));
    if (before != NULL) {
        uses->last = before->last;
        uses->behind = before->behind;
        uses->id = before->id;
    }
    if (stream_order.begin != NULL && !atomic_exchange(&stream_order.used, true))
        stream_order.begin();
    pthread_mutex_lock(&stream_order.lock);
    if (before != NULL) {
        bg__graph_inputs_replace(&uses->inventory, before->inventory);
        before->inventory = NULL;
    }
    uses->id = uses->id > 0 ? uses->id : ++stream_order.graphs;
    uses->next = stream_order.all;
    stream_order.all = uses;
    add_history_ranges_locked(uses);
    pthread_mutex_unlock(&stream_order.lock);
    *result = uses;
    uses = NULL;
done:
    remove_uses(before);
    remove_uses(uses);
    return status;
}

/* Records the uses of a graph whose nodes are new or changed; only where no tool replaces launches. */
static void record_graph(const bg__event *event)
{
    graph_state *state = event->state;
    bg__allocations *used;
    bg_status status;

    if (bg__events_are_replaced())
        return;
    BG__TRY(bg__recorded_allocations_get(event->graph->graph, &used));
    BG__TRY(record_uses(event->graph->graph, used, &state->uses));
    state->known = true;
done:
    if (status != BG_OK)
        bg__warn("--attach: the order of %s with other work is not checked: %s", bg__graph_name(event->graph->graph),
                 bg_last_error());
}

static void record_change(const bg__event *event)
{
    graph_state *state = event->state;
    state->known = false;
}

static void remove_graph(const bg__event *event)
{
    const graph_state *state = event->state;
    remove_uses(state->uses);
}

/* BG_CHECK=inputs. */
static void report_inputs(const bg__event *event)
{
    (void)event;
    if (!lock_if_active())
        return;
    for (bg__graph_uses *uses = stream_order.all; uses != NULL; uses = uses->next)
        bg__graph_inputs_report(uses->inventory, uses->graph);
    pthread_mutex_unlock(&stream_order.lock);
}

/* NULL: what the graph uses is unknown. */
static bg__graph_uses *known_uses(const bg__event *event)
{
    const graph_state *state = event->state;
    return state != NULL && state->known && !event->graph->stale && !event->graph->unreadable ? state->uses : NULL;
}

/* ---- launches --------------------------------------------------------------------------------------------------- */

static void check_sources(const bg__event *event)
{
    const bg__graph_uses *uses = known_uses(event);

    if (uses == NULL || !lock_if_active())
        return;
    bg__host_sources_check(uses->sources, uses->graph, uses->last.time > 0 && !bg__clocks_host_knows(uses->last));
    pthread_mutex_unlock(&stream_order.lock);
}

/* Unknown work: later work in the stream, and of the host, may come after any earlier work. */
static void record_unknown_work_locked(CUstream stream)
{
    bg__clocks_stream_waits_all(stream);
    bg__clocks_stream_may_wait_host(stream);
    bg__clocks_host_may_know_stream(stream);
    bg__clocks_invalidate_events();
}

static void apply_implicit_waits_locked(bg__implicit_order implicit_order, CUstream stream)
{
    if (implicit_order.waits)
        bg__clocks_stream_waits_all(stream);
    if (implicit_order.waits_host)
        bg__clocks_stream_may_wait_host(stream);
}

static void apply_waits_locked(const bg__graph_uses *uses, CUstream stream)
{
    if (uses->last.time > 0)
        bg__clocks_stream_waits_clock(stream, &uses->behind);
    for (size_t i = 0; i < uses->event_count; i++)
        if (uses->events[i].waits)
            bg__clocks_stream_waits_event(stream, uses->events[i].event);
    apply_implicit_waits_locked(uses->implicit_order, stream);
}

static void apply_records_locked(const bg__graph_uses *uses, CUstream stream)
{
    for (size_t i = 0; i < uses->event_count; i++)
        if (!uses->events[i].waits)
            bg__clocks_record_event(uses->events[i].event, stream);
    if (uses->implicit_order.signals_host)
        bg__clocks_host_may_know_stream(stream);
}

static void record_launch_locked(bg__graph_uses *uses, CUstream stream)
{
    bg__epoch work = {0, 0};

    bg__graph_inputs_record_launch(uses->inventory, uses->id);
    apply_waits_locked(uses, stream);
    if (!bg__clocks_add_work(stream, &work)) {
        stop_recording_locked("more than 64 streams have work that the host has not waited for");
        return;
    }
    for (size_t i = 0; i < uses->count && !bg__clocks_is_order_unknown(work); i++) {
        const bg__graph_use *u = &uses->list[i];
        bg__history_record_use(u->begin, u->end, u->threads, u->use,
                               &(bg__memory_user){u->name, uses->graph, uses->id, u->site, stream, work});
    }
    apply_records_locked(uses, stream);
    uses->last = work;
    uses->behind = bg__clocks_of_stream(stream);
}

static void record_launch(const bg__event *event)
{
    bg__graph_uses *uses = known_uses(event);
    const char *name = NULL;

    if (!lock_if_active())
        return;
    if (uses == NULL) {
        record_unknown_work_locked(event->stream);
    } else {
        if (strcmp(uses->graph, bg__graph_name(event->graph->graph)) != 0)
            name = bg__intern_text(bg__graph_name(event->graph->graph));
        uses->graph = name != NULL ? name : uses->graph;
        record_launch_locked(uses, event->stream);
    }
    pthread_mutex_unlock(&stream_order.lock);
}

static bg_site current_site(void)
{
    const bg__stack *stack = bg__stack_here();
    return stack != NULL ? bg__stack_site(stack) : (bg_site){NULL, 0};
}

static void record_uses_locked(const bg__outside_work *launched, const bg__epoch *work, CUstream stream)
{
    bg__memory_user user = {.stream = stream, .work = *work};
    for (int i = 0; i < launched->count; i++) {
        const bg__outside_use *u = &launched->uses[i];
        if (!bg__history_has_range(u->begin, u->end))
            continue;
        if (user.name == NULL) {
            user.name = launched->name;
            user.site = current_site();
        }
        bg__history_record_use(u->begin, u->end, launched->threads, u->use, &user);
    }
}

static void record_work(const bg__event *event)
{
    const CUstream stream = event->stream;
    bg__outside_work launched = {.name = NULL};
    bg__epoch work;

    if (!lock_if_active())
        return;
    bg__outside_work_read(&launched, event->call, event->name);
    apply_implicit_waits_locked(launched.implicit_order, stream);
    if (!bg__clocks_add_work(stream, &work))
        stop_recording_locked("more than 64 streams have work that the host has not waited for");
    else if (!bg__clocks_is_order_unknown(work))
        record_uses_locked(&launched, &work, stream);
    if (launched.implicit_order.signals_host)
        bg__clocks_host_may_know_stream(stream);
    if (launched.host_waits)
        bg__clocks_host_waits_stream(stream);
    pthread_mutex_unlock(&stream_order.lock);
}

/* ---- waits ------------------------------------------------------------------------------------------------------ */

/* A call that records an event or waits. */
static void record_order(const bg__event *event)
{
    const CUevent first = bg__call_argument(event->call, 0), second = bg__call_argument(event->call, 1);
    const char *name = event->name;

    if (!lock_if_active())
        return;
    if (strncmp(name, "cuEventRecord", 13) == 0)
        bg__clocks_record_event(first, event->stream);
    else if (strncmp(name, "cuStreamWaitEvent", 17) == 0)
        bg__clocks_stream_waits_event(event->stream, second);
    else if (strncmp(name, "cuEventElapsedTime", 18) == 0) { /* it succeeds only when both events are complete */
        bg__clocks_host_waits_event(second);
        bg__clocks_host_waits_event(bg__call_argument(event->call, 2));
    } else if (strncmp(name, "cuEvent", 7) == 0)
        bg__clocks_host_waits_event(first);
    else if (strncmp(name, "cuStream", 8) == 0)
        bg__clocks_host_waits_stream(event->stream);
    else
        bg__clocks_host_waits_all();
    pthread_mutex_unlock(&stream_order.lock);
}

/* The events without a call. */
static void record_object(const bg__event *event)
{
    if (!lock_if_active())
        return;
    switch ((int)event->kind) {
    case BG__HOST_WAITED: bg__clocks_host_waits_all(); break;
    case BG__STREAM_GOING: bg__clocks_remove_stream(event->stream); break;
    case BG__EVENT_GOING: bg__clocks_remove_event(event->event); break;
    case BG__EVENT_MADE: bg__clocks_add_event(event->event); break;
    default: /* BG__MEMORY_CHANGED; a context may be destroyed with its kernels */
        if (event->bytes == 0)
            bg__outside_work_forget_kernels();
        bg__history_forget_range(event->base, event->bytes > 0 ? event->base + event->bytes : UINTPTR_MAX);
    }
    pthread_mutex_unlock(&stream_order.lock);
}

const bg__subscriber bg__check_stream_order = {
    .name = "order",
    .when = BG__CHECK_EXECS,
    .state_bytes = sizeof(graph_state),
    .on = {[BG__EXEC_NODES_READ] = record_graph,
           [BG__EXEC_CHANGED] = record_change,
           [BG__EXEC_LAUNCHING] = check_sources,
           [BG__EXEC_LAUNCHED] = record_launch,
           [BG__EXEC_GONE] = remove_graph,
           [BG__WORK] = record_work,
           [BG__ORDERED] = record_order,
           [BG__HOST_WAITED] = record_object,
           [BG__EVENT_MADE] = record_object,
           [BG__EVENT_GOING] = record_object,
           [BG__STREAM_GOING] = record_object,
           [BG__MEMORY_CHANGED] = record_object,
           [BG__END] = report_inputs},
};
