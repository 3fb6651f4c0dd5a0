#include "around.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "debug/check/node_pointers.h"
#include "debug/memory/allocate.h"
#include "history.h"
#include "host_sources.h"
#include "launched.h"

static struct {
    pthread_mutex_t lock;
    void (*begin)(void);
    atomic_bool used;
    bool stopped; /* out of memory, or too many streams: nothing can be said any more */
} around = {.lock = PTHREAD_MUTEX_INITIALIZER};

void bg__around_begin(void (*begin)(void))
{
    around.begin = begin;
}

bool bg__around_is_used(void)
{
    return atomic_load(&around.used);
}

/* With the lock. */
static void stop(const char *why)
{
    if (!around.stopped)
        bg__warn("--attach: the order of graphs and of the work around them is not checked from now on: %s", why);
    around.stopped = true;
}

/* false: nothing is looked at; else the caller unlocks. */
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

typedef struct graph_use {
    uintptr_t begin, end;
    bg__touch use;
    const char *name; /* of the first node that uses it so */
    bg_site site;
} graph_use;

struct bg__around_uses {
    graph_use *list;
    size_t count, capacity;
    struct graph_event {
        cudaEvent_t event;
        bool waits;
    } * events;
    size_t event_count, event_capacity;
    bg__host_sources *sources;
    const char *graph;
    bg__moment last; /* its last launch: CUDA runs those of one executable graph one after the other */
};

typedef struct noting {
    bg__around_uses *uses;
    const bg__allocations *addresses;
} noting;

static const graph_use *find_use(const bg__around_uses *uses, uintptr_t begin, uintptr_t end, bg__touch use)
{
    for (size_t i = 0; i < uses->count; i++)
        if (uses->list[i].begin == begin && uses->list[i].end == end && uses->list[i].use == use)
            return &uses->list[i];
    return NULL;
}

static bg_status add_use(bg__around_uses *uses, const bg__node *node, uintptr_t begin, size_t bytes, bg__touch use)
{
    bg_status status = BG_OK;
    graph_use *added;

    if (bytes == 0 || find_use(uses, begin, begin + bytes, use) != NULL)
        return BG_OK;
    BG__TRY(BG__GROW(uses->list, uses->count, uses->capacity, "uses of memory"));
    added = &uses->list[uses->count];
    *added = (graph_use){.begin = begin, .end = begin + bytes, .use = use};
    added->site = node->call != NULL ? node->call->site : (bg_site){NULL, 0};
    added->name = bg__launched_keep(node->call != NULL ? node->call->name : bg__node_kind(node));
    if (added->name == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for what a graph uses");
    uses->count++;
done:
    return status;
}

static bg_status note_held(void *user, const bg__held *held)
{
    const noting *n = user;
    const bg__kernel *kernel = held->node->kernel;
    bg__touch use = BG__MAY_READ;

    if (held->is_end || bg__allocations_find(n->addresses, held->address) == NULL)
        return BG_OK;
    if (held->alone && kernel != NULL)
        use = bg__signature_touch(kernel->name, kernel->parameter_count, held->parameter);
    return add_use(n->uses, held->node, held->address, 1, use);
}

static bg_status note_event(bg__around_uses *uses, const bg__node *node)
{
    bg_status status;
    BG__TRY(BG__GROW(uses->events, uses->event_count, uses->event_capacity, "events"));
    uses->events[uses->event_count++] = (struct graph_event){node->of.event, node->type == cudaGraphNodeTypeWaitEvent};
done:
    return status;
}

static bg_status note_node(noting *n, const bg__node *node)
{
    bg_status status = BG_OK;
    bg__end end;

    if (node->known && (node->type == cudaGraphNodeTypeEventRecord || node->type == cudaGraphNodeTypeWaitEvent))
        BG__TRY(note_event(n->uses, node));
    BG__TRY(bg__node_addresses(node, note_held, n));
    if (bg__copy_end(node, BG__SOURCE, &end)) {
        BG__TRY(add_use(n->uses, node, (uintptr_t)end.address, end.bytes, BG__DOES_READ));
        BG__TRY(bg__host_sources_add(&n->uses->sources, node, &end));
    }
    if (bg__copy_end(node, BG__DESTINATION, &end) || bg__fill_end(node, &end))
        BG__TRY(add_use(n->uses, node, (uintptr_t)end.address, end.bytes, BG__DOES_WRITE));
done:
    return status;
}

/* With the lock. */
static void keep_places(const bg__around_uses *uses)
{
    for (size_t i = 0; i < uses->count && !around.stopped; i++)
        if (!bg__history_add(uses->list[i].begin, uses->list[i].end))
            stop("there is no room for all the memory that graphs use");
}

bg_status bg__around_note(const bg_graph *graph, const bg__allocations *addresses, bg__around_uses **result)
{
    bg__around_uses *uses = calloc(1, sizeof *uses);
    noting n = {uses, addresses};
    bg__nodes nodes = {0};
    bg_status status;

    *result = NULL;
    if (uses == NULL || (uses->graph = bg__launched_keep(bg__graph_name(graph))) == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for what a graph uses");
    BG__TRY(bg__nodes_take(graph, &nodes));
    for (size_t i = 0; i < nodes.count; i++)
        BG__TRY(note_node(&n, &nodes.node[i]));
    if (around.begin != NULL && !atomic_exchange(&around.used, true))
        around.begin();
    pthread_mutex_lock(&around.lock);
    keep_places(uses);
    pthread_mutex_unlock(&around.lock);
    *result = uses;
    uses = NULL;
done:
    bg__nodes_free(&nodes);
    bg__around_free(uses);
    return status;
}

void bg__around_free(bg__around_uses *uses)
{
    if (uses == NULL)
        return;
    bg__host_sources_free(uses->sources);
    free(uses->events);
    free(uses->list);
    free(uses);
}

/* ---- launches --------------------------------------------------------------------------------------------------- */

/* With the lock. */
static void launch_graph(bg__around_uses *uses, CUstream stream)
{
    bg__moment work = {0, 0};

    bg__host_sources_look(uses->sources, uses->last.time > 0 && !bg__clocks_host_knows(uses->last));
    if (uses->last.time > 0)
        bg__clocks_wait_work(stream, uses->last);
    for (size_t i = 0; i < uses->event_count; i++)
        if (uses->events[i].waits)
            bg__clocks_wait_event(stream, uses->events[i].event);
    if (!bg__clocks_work(stream, &work)) {
        stop("the program has too many streams");
        return;
    }
    for (size_t i = 0; i < uses->count; i++) {
        const graph_use *u = &uses->list[i];
        bg__history_use(u->begin, u->end, u->use, &(bg__user){u->name, uses->graph, u->site, stream, work});
    }
    for (size_t i = 0; i < uses->event_count; i++)
        if (!uses->events[i].waits)
            bg__clocks_record(uses->events[i].event, stream);
    uses->last = work;
}

void bg__around_launch(bg__around_uses *uses, const bg_graph *graph, CUstream stream)
{
    if (uses == NULL || !lock())
        return;
    uses->graph =
        strcmp(uses->graph, bg__graph_name(graph)) != 0 ? bg__launched_keep(bg__graph_name(graph)) : uses->graph;
    if (uses->graph != NULL)
        launch_graph(uses, stream);
    pthread_mutex_unlock(&around.lock);
}

static bg_site site_here(void)
{
    const bg__stack *stack = bg__stack_here();
    return stack != NULL ? bg__stack_site(stack) : (bg_site){NULL, 0};
}

/* With the lock. */
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
        bg__history_use(u->begin, u->end, u->use, &user);
    }
}

void bg__around_work(const bg__driver_call *call, const char *name, CUstream stream)
{
    bg__launched launched = {.name = NULL};
    bg__moment work;

    if (!lock())
        return;
    if (!bg__launched_read(&launched, call, name))
        stop("out of host memory");
    else if (launched.waits_for_memory)
        bg__clocks_wait_all(stream);
    if (!around.stopped && !bg__clocks_work(stream, &work))
        stop("the program has too many streams");
    if (!around.stopped)
        note_uses(&launched, &work, stream);
    if (launched.host_knows)
        bg__clocks_host_waits(stream);
    pthread_mutex_unlock(&around.lock);
}

/* ---- what waits ------------------------------------------------------------------------------------------------- */

void bg__around_wait(const bg__driver_call *call, const char *name, CUstream stream)
{
    CUevent first = bg__call_argument(call, 0), second = bg__call_argument(call, 1);

    if (!lock())
        return;
    if (strncmp(name, "cuEventRecord", 13) == 0)
        bg__clocks_record(first, stream);
    else if (strncmp(name, "cuStreamWaitEvent", 17) == 0)
        bg__clocks_wait_event(stream, second);
    else if (strncmp(name, "cuEvent", 7) == 0)
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
