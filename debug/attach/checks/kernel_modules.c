/* CUDA has no call that reports whether a function's module is still loaded, and asking about a function of an unloaded
 * module may crash. So modules are recorded while they are loaded, and a call that unloads one marks its kernels. */
#include "kernel_modules.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "debug/attach/stacks/stacks.h"
#include "debug/graph/nodes.h"

typedef struct kernel_module {
    cudaGraphNode_t node;
    const bg__call *call;
    CUmodule module;   /* NULL: in a library, or unknown */
    CUlibrary library; /* NULL: in no library, or unknown */
    const bg__stack *unloaded;
} kernel_module;

struct bg__kernel_modules {
    bg__kernel_modules *next, **at;
    kernel_module *list;
    size_t count, capacity;
    atomic_bool marked; /* a module may be unloaded */
};

static struct {
    pthread_mutex_t lock;
    bg__kernel_modules *all;
    CUresult (*module_of)(CUmodule *, CUfunction);
    CUresult (*library_of)(CUlibrary *, CUkernel);
} modules = {.lock = PTHREAD_MUTEX_INITIALIZER};

void bg__kernel_modules_begin(const bg__attach_shim *shim)
{
    void *module_of = shim->real("cuFuncGetModule"), *library_of = shim->real("cuKernelGetLibrary");
    memcpy(&modules.module_of, &module_of, sizeof module_of);
    memcpy(&modules.library_of, &library_of, sizeof library_of);
}

/* ---- graphs ----------------------------------------------------------------------------------------------------- */

static bg_status add_kernel_module(bg__kernel_modules *uses, const bg__node *node)
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

bg_status bg__kernel_modules_record(const bg_graph *graph, bg__kernel_modules **result)
{
    bg__kernel_modules *uses = calloc(1, sizeof *uses);
    bg__nodes nodes = {.node = NULL};
    bg_status status;

    bg__kernel_modules_free(*result);
    *result = NULL;
    if (uses == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the kernels of a graph");
    BG__TRY(bg__nodes_read(graph, &nodes));
    for (size_t i = 0; i < nodes.count; i++)
        if (nodes.node[i].kernel != NULL)
            BG__TRY(add_kernel_module(uses, &nodes.node[i]));
    pthread_mutex_lock(&modules.lock);
    uses->next = modules.all;
    uses->at = &modules.all;
    if (uses->next != NULL)
        uses->next->at = &uses->next;
    modules.all = uses;
    pthread_mutex_unlock(&modules.lock);
    *result = uses;
    uses = NULL;
done:
    bg__nodes_free(&nodes);
    bg__kernel_modules_free(uses);
    return status;
}

void bg__kernel_modules_free(bg__kernel_modules *uses)
{
    if (uses == NULL)
        return;
    pthread_mutex_lock(&modules.lock);
    if (uses->at != NULL)
        *uses->at = uses->next;
    if (uses->next != NULL)
        uses->next->at = uses->at;
    pthread_mutex_unlock(&modules.lock);
    free(uses->list);
    free(uses);
}

void bg__kernel_modules_forget_node(bg__kernel_modules *uses, cudaGraphNode_t node)
{
    pthread_mutex_lock(&modules.lock);
    for (size_t i = 0; uses != NULL && i < uses->count; i++)
        if (uses->list[i].node == node)
            uses->list[i] = uses->list[--uses->count];
    pthread_mutex_unlock(&modules.lock);
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

bool bg__kernel_modules_check(const bg__kernel_modules *uses, bg_report *report)
{
    bool gone = false;
    if (uses == NULL || !atomic_load(&uses->marked))
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
void bg__module_unload_begin(CUmodule module, CUlibrary library)
{
    unloading.module = module;
    unloading.library = library;
    unloading.stack = NULL;
    pthread_mutex_lock(&modules.lock);
    for (bg__kernel_modules *uses = modules.all; uses != NULL; uses = uses->next)
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

void bg__module_unload_end(bool unloaded)
{
    pthread_mutex_lock(&modules.lock);
    for (bg__kernel_modules *uses = modules.all; uses != NULL && !unloaded && unloading.stack != NULL;
         uses = uses->next)
        for (size_t i = 0; i < uses->count; i++)
            if (is_unloading(&uses->list[i]) && uses->list[i].unloaded == unloading.stack)
                uses->list[i].unloaded = NULL;
    pthread_mutex_unlock(&modules.lock);
}
