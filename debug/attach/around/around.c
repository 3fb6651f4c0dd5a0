#include "around.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "debug/memory/allocate.h"
#include "debug/report/process_report.h"
#include "graph_uses.h"
#include "history.h"

static struct {
    pthread_mutex_t lock;
    void (*begin)(void);
    atomic_bool used;
    uint64_t graphs; /* number of graphs recorded */
    bg__around_uses *all;
    bool stopped; /* out of memory, or too many streams: no more findings */
} around = {.lock = PTHREAD_MUTEX_INITIALIZER};

void bg__around_begin(void (*begin)(void))
{
    around.begin = begin;
}

bool bg__around_is_used(void)
{
    return atomic_load(&around.used);
}

static void stop(const char *why)
{
    if (!around.stopped)
        bg__process_report_not_checked("order", "the work around graphs", why);
    around.stopped = true;
}

/* Returns false if nothing is recorded; else the caller unlocks. */
static bool lock(void)
{
    if (!bg__around_is_used())
        return false;
    pthread_mutex_lock(&around.lock);
    if (!around.stopped)
        return true;
    pthread_mutex_unlock(&around.lock);
    return false;
}

/* ---- what a graph uses ------------------------------------------------------------------------------------------ */

static void keep_places(const bg__around_uses *uses)
{
    bool kept = true;
    for (size_t i = 0; i < uses->count && kept; i++)
        kept = bg__history_add(uses->list[i].begin, uses->list[i].end, uses->list[i].rest);
    if (!kept || !bg__history_sort())
        stop("there is no room for all the memory that graphs use");
}

bg_status bg__around_note(const bg_graph *graph, const bg__allocations *addresses, bg__around_uses **result)
{
    bg__around_uses *uses = calloc(1, sizeof *uses);
    bg__around_uses *before = *result;
    bg_status status;

    *result = NULL;
    if (uses == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for what a graph uses");
    BG__TRY(bg__graph_uses_note(uses, graph, addresses));
    if (before != NULL) {
        uses->last = before->last;
        uses->behind = before->behind;
        uses->id = before->id;
    }
    if (around.begin != NULL && !atomic_exchange(&around.used, true))
        around.begin();
    pthread_mutex_lock(&around.lock);
    if (before != NULL) {
        bg__inventory_replace(&uses->inventory, before->inventory);
        before->inventory = NULL;
    }
    uses->id = uses->id > 0 ? uses->id : ++around.graphs;
    uses->next = around.all;
    around.all = uses;
    keep_places(uses);
    pthread_mutex_unlock(&around.lock);
    *result = uses;
    uses = NULL;
done:
    bg__around_free(before);
    bg__around_free(uses);
    return status;
}

/* Removes uses from the list, and reports the inputs of its graph. */
static void leave(bg__around_uses *uses)
{
    pthread_mutex_lock(&around.lock);
    for (bg__around_uses **at = &around.all; *at != NULL; at = &(*at)->next)
        if (*at == uses) {
            *at = uses->next;
            break;
        }
    bg__inventory_tell(uses->inventory, uses->graph);
    pthread_mutex_unlock(&around.lock);
}

void bg__around_free(bg__around_uses *uses)
{
    if (uses == NULL)
        return;
    leave(uses);
    bg__graph_uses_free(uses);
}

void bg__around_end(void)
{
    if (!lock())
        return;
    for (bg__around_uses *uses = around.all; uses != NULL; uses = uses->next)
        bg__inventory_tell(uses->inventory, uses->graph);
    pthread_mutex_unlock(&around.lock);
}

/* ---- launches --------------------------------------------------------------------------------------------------- */

void bg__around_look(bg__around_uses *uses)
{
    if (uses == NULL || !lock())
        return;
    bg__host_sources_look(uses->sources, uses->graph, uses->last.time > 0 && !bg__clocks_host_knows(uses->last));
    pthread_mutex_unlock(&around.lock);
}

/* Unknown work: later work in the stream, and of the host, may come after any earlier work. */
static void note_unknown(CUstream stream)
{
    bg__clocks_wait_all(stream);
    bg__clocks_may_wait_for_host(stream);
    bg__clocks_host_may_know(stream);
    bg__clocks_forget_events();
}

static void wait_unseen(bg__unseen unseen, CUstream stream)
{
    if (unseen.waits)
        bg__clocks_wait_all(stream);
    if (unseen.waits_host)
        bg__clocks_may_wait_for_host(stream);
}

static void order_before(const bg__around_uses *uses, CUstream stream)
{
    if (uses->last.time > 0)
        bg__clocks_wait(stream, &uses->behind);
    for (size_t i = 0; i < uses->event_count; i++)
        if (uses->events[i].waits)
            bg__clocks_wait_event(stream, uses->events[i].event);
    wait_unseen(uses->unseen, stream);
}

static void order_behind(const bg__around_uses *uses, CUstream stream)
{
    for (size_t i = 0; i < uses->event_count; i++)
        if (!uses->events[i].waits)
            bg__clocks_record(uses->events[i].event, stream);
    if (uses->unseen.tells_host)
        bg__clocks_host_may_know(stream);
}

static void note_graph(bg__around_uses *uses, CUstream stream)
{
    bg__moment work = {0, 0};

    bg__inventory_launched(uses->inventory, uses->id);
    order_before(uses, stream);
    if (!bg__clocks_work(stream, &work)) {
        stop("the program has too many streams at a time");
        return;
    }
    for (size_t i = 0; i < uses->count && !bg__clocks_is_loose(work); i++) {
        const bg__graph_use *u = &uses->list[i];
        bg__history_use(u->begin, u->end, u->threads, u->use,
                        &(bg__user){u->name, uses->graph, uses->id, u->site, stream, work});
    }
    order_behind(uses, stream);
    uses->last = work;
    uses->behind = bg__clocks_of(stream);
}

void bg__around_launched(bg__around_uses *uses, const bg_graph *graph, CUstream stream)
{
    const char *name;

    if (!lock())
        return;
    if (uses == NULL) {
        note_unknown(stream);
    } else {
        name = strcmp(uses->graph, bg__graph_name(graph)) != 0 ? bg__launched_keep(bg__graph_name(graph)) : NULL;
        uses->graph = name != NULL ? name : uses->graph;
        note_graph(uses, stream);
    }
    pthread_mutex_unlock(&around.lock);
}

static bg_site site_here(void)
{
    const bg__stack *stack = bg__stack_here();
    return stack != NULL ? bg__stack_site(stack) : (bg_site){NULL, 0};
}

static void note_uses(const bg__launched *launched, const bg__moment *work, CUstream stream)
{
    bg__user user = {.stream = stream, .work = *work};
    for (int i = 0; i < launched->count; i++) {
        const bg__launched_use *u = &launched->uses[i];
        if (!bg__history_has(u->begin, u->end))
            continue;
        if (user.name == NULL) {
            user.name = launched->name;
            user.site = site_here();
        }
        bg__history_use(u->begin, u->end, launched->threads, u->use, &user);
    }
}

void bg__around_work(const bg__driver_call *call, const char *name, CUstream stream)
{
    bg__launched launched = {.name = NULL};
    bg__moment work;

    if (!lock())
        return;
    bg__launched_read(&launched, call, name);
    wait_unseen(launched.unseen, stream);
    if (!bg__clocks_work(stream, &work))
        stop("the program has too many streams at a time");
    else if (!bg__clocks_is_loose(work))
        note_uses(&launched, &work, stream);
    if (launched.unseen.tells_host)
        bg__clocks_host_may_know(stream);
    if (launched.host_waits)
        bg__clocks_host_waits(stream);
    pthread_mutex_unlock(&around.lock);
}

/* ---- waits ------------------------------------------------------------------------------------------------------ */

void bg__around_wait(const bg__driver_call *call, const char *name, CUstream stream)
{
    CUevent first = bg__call_argument(call, 0), second = bg__call_argument(call, 1);

    if (!lock())
        return;
    if (strncmp(name, "cuEventRecord", 13) == 0)
        bg__clocks_record(first, stream);
    else if (strncmp(name, "cuStreamWaitEvent", 17) == 0)
        bg__clocks_wait_event(stream, second);
    else if (strncmp(name, "cuEventElapsedTime", 18) == 0) { /* it succeeds only when both events are complete */
        bg__clocks_host_waits_event(second);
        bg__clocks_host_waits_event(bg__call_argument(call, 2));
    } else if (strncmp(name, "cuEvent", 7) == 0)
        bg__clocks_host_waits_event(first);
    else if (strncmp(name, "cuStream", 8) == 0)
        bg__clocks_host_waits(stream);
    else
        bg__clocks_host_waits_all();
    pthread_mutex_unlock(&around.lock);
}

void bg__around_host_waits(void)
{
    if (!lock())
        return;
    bg__clocks_host_waits_all();
    pthread_mutex_unlock(&around.lock);
}

void bg__around_stream_gone(CUstream stream)
{
    if (!lock())
        return;
    bg__clocks_stream_gone(stream);
    pthread_mutex_unlock(&around.lock);
}

void bg__around_event_gone(CUevent event)
{
    if (!lock())
        return;
    bg__clocks_event_gone(event);
    pthread_mutex_unlock(&around.lock);
}

void bg__around_event_made(CUevent event)
{
    if (!lock())
        return;
    bg__clocks_event_made(event);
    pthread_mutex_unlock(&around.lock);
}

void bg__around_memory_changed(uintptr_t base, size_t bytes)
{
    if (!lock())
        return;
    bg__history_forget(base, bytes > 0 ? base + bytes : UINTPTR_MAX);
    pthread_mutex_unlock(&around.lock);
}

void bg__around_kernels_changed(void)
{
    if (!lock())
        return;
    bg__launched_forget();
    pthread_mutex_unlock(&around.lock);
}
