/* Reads all nodes of a graph, child graphs included. */
#include "nodes.h"

#include <cudaTypedefs.h>
#include <stdio.h>
#include <string.h>

#include "debug/memory/allocate.h"

/* Functions of the driver, since the runtime refuses kernels of libraries. */
typedef struct driver_functions {
    PFN_cuGraphKernelNodeGetParams_v12000 get_params;
    PFN_cuFuncGetName_v12030 function_name;
    PFN_cuKernelGetName_v12030 kernel_name;
    PFN_cuFuncGetParamInfo_v12040 function_parameter;
    PFN_cuKernelGetParamInfo_v12040 kernel_parameter;
} driver_functions;

typedef struct node_reader {
    bg__nodes *nodes;
    const bg_graph *graph;
    driver_functions driver_functions;
    bg__calls_of_nodes owners;
    int segment, segments;
} node_reader;

static bg_status load_node_functions(driver_functions *d)
{
    bg_status status;
    BG__TRY(bg__driver_get_entry_point("cuGraphKernelNodeGetParams", 12000, &d->get_params));
    BG__TRY(bg__driver_get_entry_point("cuFuncGetName", 12030, &d->function_name));
    BG__TRY(bg__driver_get_entry_point("cuKernelGetName", 12030, &d->kernel_name));
    BG__TRY(bg__driver_get_entry_point("cuFuncGetParamInfo", 12040, &d->function_parameter));
    BG__TRY(bg__driver_get_entry_point("cuKernelGetParamInfo", 12040, &d->kernel_parameter));
done:
    return status;
}

/* ---- kernels ---- */

/* Whether the error means that CUDA does not report the value: the kernel or node is of an unsupported kind, or the
 * index is after the last parameter. Other errors are failures. */
static bool is_refusal(cudaError_t error)
{
    return error == cudaErrorInvalidValue || error == cudaErrorNotSupported ||
           error == cudaErrorInvalidDeviceFunction || error == cudaErrorInvalidResourceHandle ||
           error == cudaErrorSymbolNotFound;
}

/* *told: the driver has answered. Returns BG_OK if the driver answers or refuses. */
static bg_status check_driver_result(CUresult result, const char *call, bool *told)
{
    *told = result == CUDA_SUCCESS;
    if (*told || is_refusal((cudaError_t)result))
        return BG_OK;
    return bg__fail_cuda((cudaError_t)result, call);
}

static bg_status get_parameter_place(const driver_functions *d, const bg__kernel *kernel, size_t index,
                                     struct bg__place *place, bool *told)
{
    bg_status status = BG_OK;

    *told = false;
    if (kernel->function != NULL)
        BG__TRY(check_driver_result(d->function_parameter(kernel->function, index, &place->offset, &place->bytes),
                                    "cuFuncGetParamInfo", told));
    if (!*told && kernel->kernel != NULL)
        BG__TRY(check_driver_result(d->kernel_parameter(kernel->kernel, index, &place->offset, &place->bytes),
                                    "cuKernelGetParamInfo", told));
done:
    return status;
}

static bg_status read_parameter_layout(const driver_functions *d, bg__kernel *kernel)
{
    struct bg__place place;
    size_t count = 0;
    bg_status status = BG_OK;
    bool told;

    for (;; count++) {
        BG__TRY(get_parameter_place(d, kernel, count, &place, &told));
        if (!told)
            break;
    }
    if (count == 0)
        goto done;
    BG__TRY(BG__ALLOCATE(kernel->places, count, "parameters of a kernel"));
    for (size_t i = 0; i < count; i++)
        BG__TRY(get_parameter_place(d, kernel, i, &kernel->places[i], &told));
    kernel->parameter_count = (int)count;
    kernel->has_layout = true;
done:
    return status;
}

static bg_status read_kernel_name(const driver_functions *d, bg__kernel *kernel)
{
    bg_status status = BG_OK;
    bool told = false;

    if (kernel->function != NULL)
        BG__TRY(check_driver_result(d->function_name(&kernel->symbol, kernel->function), "cuFuncGetName", &told));
    if (!told && kernel->kernel != NULL)
        BG__TRY(check_driver_result(d->kernel_name(&kernel->symbol, kernel->kernel), "cuKernelGetName", &told));
    if (!told)
        kernel->symbol = NULL;
    if (kernel->symbol != NULL)
        kernel->demangled = bg__demangle(kernel->symbol);
    kernel->name = kernel->demangled != NULL ? kernel->demangled : kernel->symbol;
done:
    return status;
}

bg_status bg__kernel_read(bg__kernel *kernel, void *handle)
{
    driver_functions d;
    bg_status status;

    kernel->function = handle;
    kernel->kernel = handle;
    BG__TRY(load_node_functions(&d));
    BG__TRY(read_kernel_name(&d, kernel));
    BG__TRY(read_parameter_layout(&d, kernel));
done:
    return status;
}

void bg__kernel_free(bg__kernel *kernel)
{
    free(kernel->places);
    free(kernel->demangled);
}

/* The list has each kernel once: a graph launches few kernels many times. */
static bg_status find_kernel(node_reader *w, const CUDA_KERNEL_NODE_PARAMS *launch, const bg__kernel **result)
{
    bg__kernel *kernel = w->nodes->kernels;
    bg_status status = BG_OK;

    while (kernel != NULL && (kernel->function != launch->func || kernel->kernel != launch->kern))
        kernel = kernel->next;
    if (kernel == NULL) {
        kernel = calloc(1, sizeof *kernel);
        if (kernel == NULL)
            return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for a kernel");
        kernel->function = launch->func;
        kernel->kernel = launch->kern;
        kernel->next = w->nodes->kernels;
        w->nodes->kernels = kernel;
        BG__TRY(read_kernel_name(&w->driver_functions, kernel));
        BG__TRY(read_parameter_layout(&w->driver_functions, kernel));
    }
    *result = kernel;
done:
    return status;
}

/* ---- one node ---- */

static cudaError_t read_alloc_params(bg__node *node)
{
    struct cudaMemAllocNodeParams allocation;
    cudaError_t error = cudaGraphMemAllocNodeGetParams(node->handle, &allocation);
    if (error == cudaSuccess) {
        node->of.memory.ptr = allocation.dptr;
        node->of.memory.bytes = allocation.bytesize;
    }
    return error;
}

static cudaError_t read_free_params(bg__node *node)
{
    void *freed = NULL;
    cudaError_t error = cudaGraphMemFreeNodeGetParams(node->handle, &freed);
    node->of.memory.ptr = freed;
    return error;
}

/* *call: the name of the CUDA function that was called. */
static cudaError_t read_node_params(const node_reader *w, bg__node *node, const char **call)
{
#define ASK(function, ...) (*call = #function, function(node->handle, __VA_ARGS__))
    switch (node->type) {
    case cudaGraphNodeTypeKernel:
        *call = "cuGraphKernelNodeGetParams";
        return (cudaError_t)w->driver_functions.get_params(node->handle, &node->of.launch);
    case cudaGraphNodeTypeMemcpy: return ASK(cudaGraphMemcpyNodeGetParams, &node->of.copy);
    case cudaGraphNodeTypeMemset: return ASK(cudaGraphMemsetNodeGetParams, &node->of.fill);
    case cudaGraphNodeTypeHost: return ASK(cudaGraphHostNodeGetParams, &node->of.host);
    case cudaGraphNodeTypeGraph: return ASK(cudaGraphChildGraphNodeGetGraph, &node->of.child);
    case cudaGraphNodeTypeEventRecord: return ASK(cudaGraphEventRecordNodeGetEvent, &node->of.event);
    case cudaGraphNodeTypeWaitEvent: return ASK(cudaGraphEventWaitNodeGetEvent, &node->of.event);
    case cudaGraphNodeTypeMemAlloc: *call = "cudaGraphMemAllocNodeGetParams"; return read_alloc_params(node);
    case cudaGraphNodeTypeMemFree: *call = "cudaGraphMemFreeNodeGetParams"; return read_free_params(node);
    default: *call = ""; return cudaErrorNotSupported;
    }
#undef ASK
}

/* Reads the parameters of a node. If CUDA does not report them, they stay unknown; this is not a failure. */
static bg_status read_params(node_reader *w, bg__node *node)
{
    const char *call;
    cudaError_t error = read_node_params(w, node, &call);
    bg_status status = BG_OK;

    node->known = error == cudaSuccess;
    if (!node->known && !is_refusal(error)) {
        status = bg__fail_cuda(error, call);
        goto done;
    }
    if (*call != '\0')
        bg__clear_cuda_error(error);
    if (node->known && node->type == cudaGraphNodeTypeKernel)
        BG__TRY(find_kernel(w, &node->of.launch, &node->kernel));
done:
    return status;
}

static bg_status append_node(bg__nodes *nodes, const bg__node *node, size_t *index)
{
    bg_status status;
    BG__TRY(BG__ARRAY_GROW(nodes->node, nodes->count, nodes->capacity, "nodes"));
    *index = nodes->count++;
    nodes->node[*index] = *node;
done:
    return status;
}

/* ---- graphs ---- */

/* A write-back node belongs to the eager call whose output it copies, not to the call that captured it. */
static void find_writeback(const bg_graph *graph, bg__node *node)
{
    bg__writeback_view found;
    node->writeback = bg__graph_find_writeback(graph, node->handle, &found);
    if (node->writeback)
        node->call = found.call;
}

/* The recursion is as deep as child graphs are nested. */
static bg_status read_graph_nodes(node_reader *w, cudaGraph_t graph, long parent)
{
    size_t count = 0, index = 0;
    cudaGraphNode_t *list = NULL;
    bg_status status = BG_OK;

    BG__TRY(bg__graph_list_nodes(graph, &list, &count));
    for (size_t i = 0; i < count; i++) {
        bg__node node = {.handle = list[i], .segment = w->segment, .place = i, .parent = parent};
        BG__TRY_CUDA(cudaGraphNodeGetType(list[i], &node.type));
        node.call = parent >= 0 ? w->nodes->node[parent].call : w->owners.call[w->owners.first[w->segment] + i];
        BG__TRY(read_params(w, &node));
        if (node.type == cudaGraphNodeTypeKernel && parent < 0)
            find_writeback(w->graph, &node);
        BG__TRY(append_node(w->nodes, &node, &index));
        if (node.type == cudaGraphNodeTypeGraph && node.known)
            BG__TRY(read_graph_nodes(w, node.of.child, (long)index));
    }
done:
    free(list);
    return status;
}

static int compare_node_handles(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const struct bg__node_handle *)a)->handle,
              y = (uintptr_t)((const struct bg__node_handle *)b)->handle;
    return (x > y) - (x < y);
}

static bg_status sort_handles(bg__nodes *nodes)
{
    bg_status status;
    BG__TRY(BG__ALLOCATE(nodes->by_handle, nodes->count, "nodes"));
    for (size_t i = 0; i < nodes->count; i++)
        nodes->by_handle[i] = (struct bg__node_handle){nodes->node[i].handle, i};
    qsort(nodes->by_handle, nodes->count, sizeof *nodes->by_handle, compare_node_handles);
done:
    return status;
}

bg_status bg__nodes_read(const bg_graph *graph, bg__nodes *nodes)
{
    node_reader w = {.nodes = nodes, .graph = graph, .segments = bg__graph_segment_count(graph)};
    bg_status status;

    *nodes = (bg__nodes){0};
    BG__TRY(load_node_functions(&w.driver_functions));
    BG__TRY(bg__calls_of_nodes_list(&w.owners, graph));
    for (; w.segment < w.segments; w.segment++)
        BG__TRY(read_graph_nodes(&w, bg__graph_segment(graph, w.segment)->graph, -1));
    BG__TRY(sort_handles(nodes));
done:
    bg__calls_of_nodes_free(&w.owners);
    if (status != BG_OK)
        bg__error_add_location("the nodes of %s", bg__graph_name(graph));
    return status;
}

void bg__nodes_free(bg__nodes *nodes)
{
    bg__kernel *next;
    for (bg__kernel *kernel = nodes->kernels; kernel != NULL; kernel = next) {
        next = kernel->next;
        bg__kernel_free(kernel);
        free(kernel);
    }
    free(nodes->by_handle);
    free(nodes->node);
    *nodes = (bg__nodes){0};
}

const bg__node *bg__nodes_find(const bg__nodes *nodes, cudaGraphNode_t handle)
{
    struct bg__node_handle wanted = {handle, 0};
    const struct bg__node_handle *found =
        bsearch(&wanted, nodes->by_handle, nodes->count, sizeof wanted, compare_node_handles);
    return found != NULL ? &nodes->node[found->index] : NULL;
}

/* ---- names ---- */

const char *bg__node_kind(const bg__node *node)
{
    switch (node->type) {
    case cudaGraphNodeTypeKernel: return "kernel";
    case cudaGraphNodeTypeMemcpy: return "memcpy";
    case cudaGraphNodeTypeMemset: return "memset";
    case cudaGraphNodeTypeHost: return "host function";
    case cudaGraphNodeTypeGraph: return "child graph";
    case cudaGraphNodeTypeEmpty: return "empty node";
    case cudaGraphNodeTypeWaitEvent: return "event wait";
    case cudaGraphNodeTypeEventRecord: return "event record";
    case cudaGraphNodeTypeMemAlloc: return "allocation";
    case cudaGraphNodeTypeMemFree: return "free";
    case cudaGraphNodeTypeConditional: return "conditional node";
    default: return "node of a kind unknown here";
    }
}

/* "node 17" or "node 17, child node 3". */
static size_t write_node_path(const bg__nodes *nodes, const bg__node *node, char *text, size_t bytes)
{
    size_t used = 0;
    int length;
    if (node->parent >= 0)
        used = write_node_path(nodes, &nodes->node[node->parent], text, bytes);
    length = snprintf(text + used, bytes - used, node->parent >= 0 ? ", child node %zu" : "node %zu", node->place);
    return length > 0 && used + (size_t)length < bytes ? used + (size_t)length : bytes - 1;
}

const char *bg__node_label(const bg__nodes *nodes, const bg__node *node, char *text, size_t bytes)
{
    char path[128];
    const char *name = node->kernel != NULL ? node->kernel->name : NULL;
    write_node_path(nodes, node, path, sizeof path);
    snprintf(text, bytes, "segment %d, %s, %s%s%.*s%s", node->segment, path, bg__node_kind(node),
             name != NULL ? " " : "", BG__KERNEL_NAME_SHOWN, name != NULL ? name : "",
             name != NULL && strlen(name) > BG__KERNEL_NAME_SHOWN ? "..." : "");
    return text;
}
