/* Finds graphs with kernels whose modules are unloaded ("unloaded"). CUDA has no call that reports whether a function's
 * module is still loaded, and a query about a function of an unloaded module may crash. So the modules are recorded
 * while they are loaded, and a call that unloads a module marks the kernels of this module. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "debug/attach/events/tracked_graph.h"
#include "debug/attach/events/subscribers.h"

typedef struct kernel_module {
    cudaGraphNode_t node;
    const bg__call *call;
    CUmodule module;   /* NULL: in a library, or unknown */
    CUlibrary library; /* NULL: in no library, or unknown */
    const bg__stack *unloaded;
} kernel_module;

/* The modules of a graph's kernels. */
typedef struct graph_modules {
    struct graph_modules *next, **at; /* `at` NULL: no modules are recorded */
    kernel_module *list;
    size_t count, capacity;
    atomic_bool marked; /* a module may be unloaded */
} graph_modules;

static struct {
    pthread_mutex_t lock;
    graph_modules *all; /* of all graphs */
    CUresult (*module_of)(CUmodule *, CUfunction);
    CUresult (*library_of)(CUlibrary *, CUkernel);
} modules = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bg_status find_functions(void)
{
    void *module_of = bg__shim->real("cuFuncGetModule"), *library_of = bg__shim->real("cuKernelGetLibrary");
    memcpy(&modules.module_of, &module_of, sizeof module_of);
    memcpy(&modules.library_of, &library_of, sizeof library_of);
    return BG_OK;
}

/* ---- graphs ----------------------------------------------------------------------------------------------------- */

static bg_status add_kernel_module(graph_modules *uses, const bg__node *node)
{
    kernel_module added = {.node = node->handle, .call = node->call};
    bg_status status = BG_OK;

    if (node->kernel->kernel != NULL && modules.library_of != NULL &&
        modules.library_of(&added.library, node->kernel->kernel) != CUDA_SUCCESS)
        added.library = NULL;
    if (added.library == NULL && node->kernel->function != NULL && modules.module_of != NULL &&
        modules.module_of(&added.module, node->kernel->function) != CUDA_SUCCESS)
        added.module = NULL;
    if (added.library == NULL && added.module == NULL)
        goto done;
    BG__TRY(BG__ARRAY_GROW(uses->list, uses->count, uses->capacity, "kernels"));
    uses->list[uses->count++] = added;
done:
    return status;
}

static void remove_modules(graph_modules *uses)
{
    pthread_mutex_lock(&modules.lock);
    if (uses->at != NULL)
        *uses->at = uses->next;
    if (uses->next != NULL)
        uses->next->at = uses->at;
    pthread_mutex_unlock(&modules.lock);
    free(uses->list);
    *uses = (graph_modules){.at = NULL};
}

static void record_modules(const bg__event *event)
{
    graph_modules *uses = event->state;
    bg_status status = BG_OK;

    remove_modules(uses);
    for (size_t i = 0; i < event->nodes->count; i++)
        if (event->nodes->node[i].kernel != NULL)
            BG__TRY(add_kernel_module(uses, &event->nodes->node[i]));
done:
    if (status != BG_OK)
        bg__warn("--attach: some kernels of %s are not checked for unloaded modules: %s",
                 bg__graph_name(event->graph->graph), bg_last_error());
    pthread_mutex_lock(&modules.lock);
    uses->next = modules.all;
    uses->at = &modules.all;
    if (uses->next != NULL)
        uses->next->at = &uses->next;
    modules.all = uses;
    pthread_mutex_unlock(&modules.lock);
}

/* The program may have given the node another kernel, whose module is not recorded yet. */
static void forget_modules(const bg__event *event)
{
    graph_modules *uses = event->state;

    if (event->source != NULL) {
        remove_modules(uses);
        return;
    }
    pthread_mutex_lock(&modules.lock);
    for (size_t i = 0; i < uses->count; i++)
        if (uses->list[i].node == event->node)
            uses->list[i] = uses->list[--uses->count];
    pthread_mutex_unlock(&modules.lock);
}

static void free_modules(const bg__event *event)
{
    remove_modules(event->state);
}

static void report_unloaded(const kernel_module *u, bg_report *report)
{
    const bg_site site = bg__stack_site(u->unloaded);
    bg__report_add(report, "unloaded", BG_FAULT, u->call, NULL,
                   "keep the module or library loaded as long as the graph is launched, or capture again",
                   "the graph launches %s, whose %s was unloaded after the graph was made, at %s%s%.0d",
                   u->call != NULL ? u->call->op->name : "a kernel", u->library != NULL ? "library" : "module",
                   site.file != NULL ? site.file : "an unknown place", site.line > 0 ? ":" : "", site.line);
}

/* Adds a finding for each node whose module is unloaded. */
static bool is_any_unloaded(const void *state, bg_report *report)
{
    const graph_modules *uses = state;
    bool gone = false;

    if (!atomic_load(&uses->marked))
        return false;
    pthread_mutex_lock(&modules.lock);
    for (size_t i = 0; i < uses->count; i++)
        if (uses->list[i].unloaded != NULL) {
            report_unloaded(&uses->list[i], report);
            gone = true;
        }
    pthread_mutex_unlock(&modules.lock);
    return gone;
}

/* ---- the program's calls ---------------------------------------------------------------------------------------- */

/* What this thread is unloading. */
static _Thread_local struct {
    CUmodule module;
    CUlibrary library;
    const bg__stack *stack;
} unloading;

static bool is_unloading(const kernel_module *u)
{
    return (u->module != NULL && u->module == unloading.module) ||
           (u->library != NULL && u->library == unloading.library);
}

/* Marks kernels before the call, since another module could get the same handle right after it. */
static void mark_unloading(const bg__event *event)
{
    unloading.module = event->module;
    unloading.library = event->library;
    unloading.stack = NULL;
    pthread_mutex_lock(&modules.lock);
    for (graph_modules *uses = modules.all; uses != NULL; uses = uses->next)
        for (size_t i = 0; i < uses->count; i++) {
            if (!is_unloading(&uses->list[i]) || uses->list[i].unloaded != NULL)
                continue;
            if (unloading.stack == NULL)
                unloading.stack = bg__stack_here();
            uses->list[i].unloaded = unloading.stack;
            atomic_store(&uses->marked, true);
        }
    pthread_mutex_unlock(&modules.lock);
}

/* If the call has failed, the module is still loaded. */
static void unmark_loaded(const bg__event *event)
{
    pthread_mutex_lock(&modules.lock);
    for (graph_modules *uses = modules.all; uses != NULL && event->result != CUDA_SUCCESS && unloading.stack != NULL;
         uses = uses->next)
        for (size_t i = 0; i < uses->count; i++)
            if (is_unloading(&uses->list[i]) && uses->list[i].unloaded == unloading.stack)
                uses->list[i].unloaded = NULL;
    pthread_mutex_unlock(&modules.lock);
}

const bg__subscriber bg__check_modules = {
    .name = "modules",
    .state_bytes = sizeof(graph_modules),
    .begin = find_functions,
    .forbids = is_any_unloaded,
    .on = {[BG__EXEC_NODES_READ] = record_modules,
           [BG__EXEC_CHANGED] = forget_modules,
           [BG__EXEC_GONE] = free_modules,
           [BG__MODULE_UNLOADING] = mark_unloading,
           [BG__MODULE_UNLOADED] = unmark_loaded},
};
