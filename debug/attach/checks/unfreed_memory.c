/* Finds graphs that leave memory allocated. An allocation node without a free node does this, even after its executable
 * graph is destroyed. If each launch frees what the launch before allocated, nobody frees the memory of the last
 * launch. */
#include "debug/attach/events/subscribers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "debug/attach/events/tracked_graph.h"
#include "debug/attach/report/process_findings.h"
#include "debug/graph/nodes.h"

typedef struct unpaired_node {
    struct unpaired_node *next;
    CUgraphExec exec; /* NULL: destroyed */
    uintptr_t address;
    size_t bytes; /* 0: a free node; another graph allocates the memory */
    bool live;
    bool reported;
    bg_site site;
    char call[32]; /* "allocation#0" */
} unpaired_node;

static struct {
    pthread_mutex_t lock;
    unpaired_node *list;
    atomic_bool is_used;
} memory = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The program may need the memory of a single graph until it ends, so one graph is no finding. */
enum { REPORTED_GRAPHS = 2 };

/* ---- nodes ------------------------------------------------------------------------------------------------------ */

static bool is_memory_node(const bg__node *node)
{
    return node->known && (node->type == cudaGraphNodeTypeMemAlloc || node->type == cudaGraphNodeTypeMemFree);
}

/* Whether the graph both allocates and frees that address. */
static bool is_paired(const bg__nodes *nodes, const bg__node *node)
{
    for (size_t i = 0; i < nodes->count; i++) {
        const bg__node *other = &nodes->node[i];
        if (is_memory_node(other) && other->type != node->type && other->of.memory.ptr == node->of.memory.ptr)
            return true;
    }
    return false;
}

static bg_status add_unpaired_node(CUgraphExec exec, const bg__node *node)
{
    unpaired_node *k = calloc(1, sizeof *k);
    if (k == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a memory node");
    k->exec = exec;
    k->address = (uintptr_t)node->of.memory.ptr;
    k->bytes = node->of.memory.bytes;
    if (node->call != NULL) {
        k->site = node->call->site;
        snprintf(k->call, sizeof k->call, "%s", node->call->name);
    }
    pthread_mutex_lock(&memory.lock);
    k->next = memory.list;
    memory.list = k;
    pthread_mutex_unlock(&memory.lock);
    atomic_store(&memory.is_used, true);
    return BG_OK;
}

static void add_graph(const bg__event *event)
{
    const bool frees_itself = (event->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0;
    bg_status status = BG_OK;

    for (size_t i = 0; i < event->nodes->count; i++) {
        const bg__node *node = &event->nodes->node[i];
        if (is_memory_node(node) && (frees_itself || node->type == cudaGraphNodeTypeMemFree) &&
            !is_paired(event->nodes, node))
            BG__TRY(add_unpaired_node(event->exec, node));
    }
done:
    if (status != BG_OK)
        bg__warn("--attach: %s is not checked for memory that is never freed: %s", bg__graph_name(event->graph->graph),
                 bg_last_error());
}

/* ---- what happens to them --------------------------------------------------------------------------------------- */

/* Marks the memory at address as free, and drops nodes of destroyed graphs whose memory is free. */
static void record_free_locked(uintptr_t address)
{
    for (unpaired_node **at = &memory.list; *at != NULL;) {
        unpaired_node *k = *at;
        if (k->address == address && k->bytes > 0)
            k->live = false;
        if (k->exec != NULL || k->live) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        free(k);
    }
}

static void record_free(const bg__event *event)
{
    if (event->later || !atomic_load(&memory.is_used))
        return;
    pthread_mutex_lock(&memory.lock);
    record_free_locked(event->base);
    pthread_mutex_unlock(&memory.lock);
}

static void record_launch(const bg__event *event)
{
    if (!atomic_load(&memory.is_used))
        return;
    pthread_mutex_lock(&memory.lock);
    for (unpaired_node *k = memory.list; k != NULL; k = k->next) {
        if (k->exec != event->exec)
            continue;
        k->live = k->bytes > 0;
        for (unpaired_node *other = memory.list; other != NULL && k->bytes == 0; other = other->next)
            if (other->address == k->address)
                other->live = false;
    }
    pthread_mutex_unlock(&memory.lock);
}

static void record_destroy(const bg__event *event)
{
    if (!atomic_load(&memory.is_used))
        return;
    pthread_mutex_lock(&memory.lock);
    for (unpaired_node *k = memory.list; k != NULL; k = k->next)
        if (k->exec == event->exec)
            k->exec = NULL;
    record_free_locked(0);
    pthread_mutex_unlock(&memory.lock);
}

/* ---- the end ---------------------------------------------------------------------------------------------------- */

static bool is_same_call(const unpaired_node *a, const unpaired_node *b)
{
    const char *first = a->site.file != NULL ? a->site.file : "", *second = b->site.file != NULL ? b->site.file : "";
    return strcmp(a->call, b->call) == 0 && strcmp(first, second) == 0 && a->site.line == b->site.line;
}

static void report_never_freed_locked(const unpaired_node *first)
{
    const bg__call place = {.site = first->site, .name = (char *)(uintptr_t)first->call}; /* name is only read */
    unsigned long count = 0;
    size_t bytes = 0;
    char message[300];

    for (unpaired_node *k = memory.list; k != NULL; k = k->next)
        if (k->exec == NULL && k->live && is_same_call(first, k)) {
            count++;
            bytes += k->bytes;
            k->reported = true;
        }
    if (count < REPORTED_GRAPHS)
        return;
    snprintf(
        message, sizeof message,
        "%lu graphs allocated memory here that was never freed, %zu bytes in all: the next launch of a graph frees "
        "the memory of its previous launch, but these graphs were destroyed after their last launch",
        count, bytes);
    bg__attach_report_call("never-freed", BG_WARNING, &place,
                           "free the memory after the last launch (cudaFreeAsync), or add a free node to the graph",
                           message);
}

/* The program may still free memory until it ends, so this is reported at the end. */
static void report_unfreed(const bg__event *event)
{
    (void)event;
    if (!atomic_load(&memory.is_used) || pthread_mutex_trylock(&memory.lock) != 0)
        return;
    for (const unpaired_node *k = memory.list; k != NULL; k = k->next)
        if (k->exec == NULL && k->live && !k->reported)
            report_never_freed_locked(k);
    pthread_mutex_unlock(&memory.lock);
}

const bg__subscriber bg__check_unfreed_memory = {
    .name = "unfreed memory",
    .when = BG__CHECK_EXECS,
    .node_types = 1U << cudaGraphNodeTypeMemAlloc | 1U << cudaGraphNodeTypeMemFree,
    .on = {[BG__EXEC_MADE] = add_graph,
           [BG__EXEC_LAUNCHING] = record_launch,
           [BG__EXEC_DESTROYING] = record_destroy,
           [BG__MEMORY_FREED] = record_free,
           [BG__END] = report_unfreed},
};
