/* An allocation node without a free node leaves memory allocated, even after its executable graph is destroyed. If each
 * launch frees what the launch before allocated, nobody frees the memory of the last launch. */
#include "unfreed_memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debug/attach/report/process_findings.h"
#include "debug/graph/nodes.h"

typedef struct unpaired_node {
    struct unpaired_node *next;
    CUgraphExec exec; /* NULL: destroyed */
    uintptr_t address;
    size_t bytes; /* 0: a free node; another graph allocates the memory */
    bool live;
    bool told;
    bg_site site;
    char call[32]; /* "allocation#0" */
} unpaired_node;

static struct {
    pthread_mutex_t lock;
    unpaired_node *list;
    atomic_bool is_used;
    pid_t process;
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
    memory.process = getpid();
    atomic_store(&memory.is_used, true);
    return BG_OK;
}

void bg__unfreed_memory_add_graph(CUgraphExec exec, const bg_graph *graph, bool frees_itself)
{
    bg__nodes nodes = {.node = NULL};
    bg_status status;

    BG__TRY(bg__nodes_read(graph, &nodes));
    for (size_t i = 0; i < nodes.count; i++) {
        const bg__node *node = &nodes.node[i];
        if (is_memory_node(node) && (frees_itself || node->type == cudaGraphNodeTypeMemFree) &&
            !is_paired(&nodes, node))
            BG__TRY(add_unpaired_node(exec, node));
    }
done:
    if (status != BG_OK)
        bg__warn("--attach: %s is not checked for memory that is never freed: %s", bg__graph_name(graph),
                 bg_last_error());
    bg__nodes_free(&nodes);
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

void bg__unfreed_memory_record_free(uintptr_t address)
{
    if (!atomic_load(&memory.is_used))
        return;
    pthread_mutex_lock(&memory.lock);
    record_free_locked(address);
    pthread_mutex_unlock(&memory.lock);
}

void bg__unfreed_memory_record_launch(CUgraphExec exec)
{
    if (!atomic_load(&memory.is_used))
        return;
    pthread_mutex_lock(&memory.lock);
    for (unpaired_node *k = memory.list; k != NULL; k = k->next) {
        if (k->exec != exec)
            continue;
        k->live = k->bytes > 0;
        for (unpaired_node *other = memory.list; other != NULL && k->bytes == 0; other = other->next)
            if (other->address == k->address)
                other->live = false;
    }
    pthread_mutex_unlock(&memory.lock);
}

void bg__unfreed_memory_record_destroy(CUgraphExec exec)
{
    if (!atomic_load(&memory.is_used))
        return;
    pthread_mutex_lock(&memory.lock);
    for (unpaired_node *k = memory.list; k != NULL; k = k->next)
        if (k->exec == exec)
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
            k->told = true;
        }
    if (count < REPORTED_GRAPHS)
        return;
    snprintf(message, sizeof message,
             "%lu graphs allocated memory here that was never freed, %zu bytes in all: each launch frees what the "
             "one before has allocated, but these were destroyed after a launch",
             count, bytes);
    bg__attach_report_call("never-freed", BG_WARNING, &place,
                           "free the memory after the last launch (cudaFreeAsync), or add a free node to the graph",
                           message);
}

/* The program may still free memory until it ends, so this is reported at the end. */
__attribute__((destructor)) static void report_unfreed_at_exit(void)
{
    if (!atomic_load(&memory.is_used) || memory.process != getpid() || pthread_mutex_trylock(&memory.lock) != 0)
        return;
    for (const unpaired_node *k = memory.list; k != NULL; k = k->next)
        if (k->exec == NULL && k->live && !k->told)
            report_never_freed_locked(k);
    pthread_mutex_unlock(&memory.lock);
}
