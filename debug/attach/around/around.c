#include "around.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "debug/check/node_pointers.h"
#include "debug/memory/allocate.h"
#include "debug/report/process_report.h"
#include "history.h"
#include "host_sources.h"
#include "inventory.h"
#include "launched.h"

static struct {
    pthread_mutex_t lock;
    void (*begin)(void);
    atomic_bool used;
    uint64_t graphs; /* that were made */
    bg__around_uses *all;
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
        bg__process_report_not_checked("order", "the work around graphs", why);
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
    size_t rest;      /* bytes to the end of its block; 0: unknown */
    uint64_t threads; /* of a kernel */
    size_t index;     /* in the order of the nodes */
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
    bg__unseen unseen;
    bg__around_uses *next; /* of all graphs */
    bg__host_sources *sources;
    bg__inventory *inventory;
    const char *graph;
    uint64_t id;      /* of the graph */
    bg__moment last;  /* its last launch: CUDA runs those of one executable graph one after the other */
    bg__clock behind; /* what that comes behind, and itself */
};

typedef struct noting {
    bg__around_uses *uses;
    const bg__allocations *addresses;
} noting;

static bg_status add_use(noting *n, const bg__node *node, uintptr_t begin, size_t bytes, bg__touch use)
{
    const bg__allocation *block = bg__allocations_find(n->addresses, begin);
    bg__around_uses *uses = n->uses;
    const CUDA_KERNEL_NODE_PARAMS *k = &node->of.launch;
    bg_status status = BG_OK;
    graph_use *added;

    if (bytes == 0)
        return BG_OK;
    BG__TRY(BG__GROW(uses->list, uses->count, uses->capacity, "uses of memory"));
    added = &uses->list[uses->count];
    *added = (graph_use){.begin = begin, .end = begin + bytes, .use = use, .index = uses->count};
    added->rest = block != NULL ? block->base + block->bytes - begin : 0;
    if (node->type == cudaGraphNodeTypeKernel)
        added->threads = (uint64_t)k->gridDimX * k->gridDimY * k->gridDimZ * k->blockDimX * k->blockDimY * k->blockDimZ;
    added->site = node->call != NULL ? node->call->site : (bg_site){NULL, 0};
    added->name = bg__launched_keep(node->call != NULL ? node->call->name : bg__node_kind(node));
    if (added->name == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for what a graph uses");
    uses->count++;
    BG__TRY(bg__inventory_add(&uses->inventory, begin, begin + bytes, use, added->name, added->site));
done:
    return status;
}

static int compare_uses(const void *first, const void *second)
{
    const graph_use *a = first, *b = second;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    if (a->end != b->end)
        return a->end < b->end ? -1 : 1;
    if (a->use != b->use)
        return a->use < b->use ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

/* Of equal uses, the first node's, with the most threads of all. */
static void drop_equal(bg__around_uses *uses)
{
    size_t kept = 0;
    if (uses->count > 1)
        qsort(uses->list, uses->count, sizeof *uses->list, compare_uses);
    for (size_t i = 0; i < uses->count; i++) {
        const graph_use *u = &uses->list[i];
        graph_use *last = kept > 0 ? &uses->list[kept - 1] : NULL;
        if (last == NULL || last->begin != u->begin || last->end != u->end || last->use != u->use)
            uses->list[kept++] = *u;
        else if (last->threads < u->threads)
            last->threads = u->threads;
    }
    uses->count = kept;
}

static bg_status note_held(void *user, const bg__held *held)
{
    noting *n = user;
    const bg__kernel *kernel = held->node->kernel;
    bg__touch use = BG__MAY_READ;

    if (held->is_end || bg__allocations_find(n->addresses, held->address) == NULL)
        return BG_OK;
    if (held->alone && kernel != NULL)
        use = bg__signature_touch(kernel->name, kernel->parameter_count, held->parameter);
    return add_use(n, held->node, held->address, 1, use);
}

static bg_status note_event(bg__around_uses *uses, const bg__node *node)
{
    bg_status status;
    BG__TRY(BG__GROW(uses->events, uses->event_count, uses->event_capacity, "events"));
    uses->events[uses->event_count++] = (struct graph_event){node->of.event, node->type == cudaGraphNodeTypeWaitEvent};
done:
    return status;
}

/* Of rows with something between them, the first one. */
static size_t bytes_of(const bg__node *node, const bg__end *end, bg__end_kind which)
{
    if (node->type == cudaGraphNodeTypeMemset) {
        const size_t width = node->of.fill.width * node->of.fill.elementSize;
        return node->of.fill.height > 1 && node->of.fill.pitch != width ? width : end->bytes;
    }
    const struct cudaMemcpy3DParms *copy = &node->of.copy;
    const size_t pitch = which == BG__SOURCE ? copy->srcPtr.pitch : copy->dstPtr.pitch;
    const bool solid = copy->extent.depth <= 1 && (copy->extent.height <= 1 || pitch == copy->extent.width);
    return solid ? end->bytes : copy->extent.width;
}

static bg_status note_ends(noting *n, const bg__node *node)
{
    bg_status status = BG_OK;
    bg__end end;

    if (bg__copy_end(node, BG__SOURCE, &end)) {
        BG__TRY(add_use(n, node, (uintptr_t)end.address, bytes_of(node, &end, BG__SOURCE), BG__DOES_READ));
        BG__TRY(bg__host_sources_add(&n->uses->sources, node, &end));
    }
    if (bg__copy_end(node, BG__DESTINATION, &end) || bg__fill_end(node, &end))
        BG__TRY(add_use(n, node, (uintptr_t)end.address, bytes_of(node, &end, BG__DESTINATION), BG__DOES_WRITE));
done:
    return status;
}

static bg_status note_node(noting *n, const bg__node *node)
{
    bg_status status = BG_OK;

    switch (node->type) {
    case cudaGraphNodeTypeKernel:
        if (node->kernel != NULL && bg__signature_may_wait(node->kernel->name))
            bg__unseen_add(&n->uses->unseen, bg__unseen_kernel);
        BG__TRY(bg__node_addresses(node, note_held, n));
        break;
    case cudaGraphNodeTypeMemcpy:
    case cudaGraphNodeTypeMemset:
        BG__TRY(bg__node_addresses(node, note_held, n));
        BG__TRY(note_ends(n, node));
        break;
    case cudaGraphNodeTypeEventRecord:
    case cudaGraphNodeTypeWaitEvent:
        if (node->known)
            BG__TRY(note_event(n->uses, node));
        break;
    case cudaGraphNodeTypeHost: bg__unseen_add(&n->uses->unseen, bg__unseen_host_code); break;
    case cudaGraphNodeTypeGraph:
    case cudaGraphNodeTypeEmpty:
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree: break;
    default: bg__unseen_add(&n->uses->unseen, bg__unseen_memory);
    }
done:
    return status;
}

/* With the lock. */
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
    noting n = {uses, addresses};
    bg__around_uses *before = *result;
    bg__nodes nodes = {0};
    bg_status status;

    *result = NULL;
    if (uses == NULL || (uses->graph = bg__launched_keep(bg__graph_name(graph))) == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for what a graph uses");
    BG__TRY(bg__nodes_take(graph, &nodes));
    for (size_t i = 0; i < nodes.count; i++)
        BG__TRY(note_node(&n, &nodes.node[i]));
    drop_equal(uses);
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
    bg__nodes_free(&nodes);
    bg__around_free(before);
    bg__around_free(uses);
    return status;
}

/* No longer of a graph: what is known of its inputs is told. */
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
    bg__inventory_free(uses->inventory);
    bg__host_sources_free(uses->sources);
    free(uses->events);
    free(uses->list);
    free(uses);
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

/* With the lock. What follows in the stream, and what the host does, may depend on anything. */
static void note_unknown(CUstream stream)
{
    bg__clocks_wait_all(stream);
    bg__clocks_may_wait_for_host(stream);
    bg__clocks_host_may_know(stream);
    bg__clocks_forget_events();
}

/* With the lock. */
static void wait_unseen(bg__unseen unseen, CUstream stream)
{
    if (unseen.waits)
        bg__clocks_wait_all(stream);
    if (unseen.waits_host)
        bg__clocks_may_wait_for_host(stream);
}

/* With the lock. */
static void order_before(const bg__around_uses *uses, CUstream stream)
{
    if (uses->last.time > 0)
        bg__clocks_wait(stream, &uses->behind);
    for (size_t i = 0; i < uses->event_count; i++)
        if (uses->events[i].waits)
            bg__clocks_wait_event(stream, uses->events[i].event);
    wait_unseen(uses->unseen, stream);
}

/* With the lock. */
static void order_behind(const bg__around_uses *uses, CUstream stream)
{
    for (size_t i = 0; i < uses->event_count; i++)
        if (!uses->events[i].waits)
            bg__clocks_record(uses->events[i].event, stream);
    if (uses->unseen.tells_host)
        bg__clocks_host_may_know(stream);
}

/* With the lock. */
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
        const graph_use *u = &uses->list[i];
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
    else if (strncmp(name, "cuEventElapsedTime", 18) == 0) { /* both are over, as it has succeeded */
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
