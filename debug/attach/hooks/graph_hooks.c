/* Hooks of the calls that make, change, launch and destroy graphs and executable graphs. */
#include "driver_hooks.h"

#include <stdio.h>
#include <string.h>

#include "debug/attach/graphs/graph_table.h"
#include "debug/attach/stacks/stacks.h"

/* cuGraphInstantiate in all its forms: (CUgraphExec *phGraphExec, CUgraph hGraph, ...). */
static _Thread_local size_t free_before; /* free bytes of the device before the call */

static size_t read_free_bytes(size_t unknown)
{
    size_t bytes, total;
    cudaError_t error = cudaMemGetInfo(&bytes, &total);
    bg__clear_cuda_error(error);
    return error == cudaSuccess ? bytes : unknown;
}

static bool before_instantiate(bg__driver_call *call)
{
    (void)call;
    free_before = read_free_bytes(0);
    return false;
}

static void settle(bool later)
{
    BG__DISPATCH(BG__EXECS_SETTLED, .later = later);
}

static void check_call(const bg__driver_call *call)
{
    BG__DISPATCH(BG__CALL_CHECKED, .call = call);
}

static uint64_t instantiate_flags(const bg__driver_call *call)
{
    if (strcmp(call->hook->name, "cuGraphInstantiateWithParams") == 0)
        return ((const CUDA_GRAPH_INSTANTIATE_PARAMS *)bg__call_argument(call, 2))->flags;
    return strcmp(call->hook->name, "cuGraphInstantiateWithFlags") == 0 ? call->arguments[2] : 0;
}

static void after_instantiate(bg__driver_call *call)
{
    size_t after = read_free_bytes(SIZE_MAX);
    if (call->result == CUDA_SUCCESS)
        bg__graph_table_add(*(CUgraphExec *)bg__call_argument(call, 0), bg__call_argument(call, 1), bg__stack_here(),
                            free_before > after ? free_before - after : 0, instantiate_flags(call));
    settle(false);
}

/* (CUgraphExec hGraphExec, CUgraph hGraph, ...) */
static void after_update(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS)
        bg__graph_table_update(bg__call_argument(call, 0), bg__call_argument(call, 1));
    settle(false);
}

/* (CUgraphExec hGraphExec, CUstream hStream) */
static bool before_launch(bg__driver_call *call)
{
    const CUstream stream = bg__call_stream(call, bg__call_argument(call, 1));
    CUresult result = CUDA_SUCCESS;
    bool answered;

    check_call(call);
    answered =
        !bg__stream_is_captured(stream) && bg__graph_table_before_launch(bg__call_argument(call, 0), stream, &result);
    call->result = result;
    return answered;
}

/* A launch into a capture makes a node. */
static void after_launch(bg__driver_call *call)
{
    const CUstream stream = bg__call_stream(call, bg__call_argument(call, 1));

    if (call->result != CUDA_SUCCESS)
        return;
    if (bg__stream_is_captured(stream))
        bg__record_captured_launch(stream);
    else
        bg__graph_table_after_launch(bg__call_argument(call, 0), stream);
}

static bool before_exec_destroy(bg__driver_call *call)
{
    BG__DISPATCH(BG__EXEC_DESTROYING, .exec = bg__call_argument(call, 0));
    bg__graph_table_remove(bg__call_argument(call, 0));
    return false;
}

static bool before_graph_destroy(bg__driver_call *call)
{
    bool kept = bg__graph_table_defer_destroy(bg__call_argument(call, 0));
    call->result = CUDA_SUCCESS;
    BG__DISPATCH(BG__GRAPH_DESTROYING, .source = bg__call_argument(call, 0), .later = kept);
    return kept;
}

/* "cuGraphExecKernelNodeSetParams_v2" sets in an executable graph what "cuGraphKernelNodeSetParams_v2" sets in a graph.
 * The arguments are (CUgraphExec hGraphExec, CUgraphNode hNode, const PARAMS *nodeParams, ...), or an event in place of
 * the last. */
static void after_set_node(bg__driver_call *call)
{
    const char *name = bg__call_name(call);
    bg__node_setter *set;
    char twin[80];
    void *address;

    if (call->result != CUDA_SUCCESS)
        return;
    snprintf(twin, sizeof twin, "cuGraph%s", name + strlen("cuGraphExec"));
    address = strncmp(name, "cuGraphExec", strlen("cuGraphExec")) == 0 ? bg__shim->real(twin) : NULL;
    memcpy(&set, &address, sizeof set);
    bg__graph_table_set_node(bg__call_argument(call, 0), bg__call_argument(call, 1), set, bg__call_argument(call, 2));
    settle(true);
}

/* (CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies, ...).
 * cuGraphAddNode_v2 has CUgraphEdgeData *dependencyData before numDependencies. */
static void record_node(const bg__driver_call *call, const CUDA_KERNEL_NODE_PARAMS *params)
{
    const bool has_data = strcmp(bg__call_name(call), "cuGraphAddNode_v2") == 0, added = call->result == CUDA_SUCCESS;

    BG__DISPATCH(BG__NODE_ADDED, .result = call->result, .source = bg__call_argument(call, 1),
                 .node = added ? *(cudaGraphNode_t *)bg__call_argument(call, 0) : NULL, .params = params,
                 .dependencies = bg__call_argument(call, 2), .count = call->arguments[has_data ? 4 : 3], .call = call);
    if (added)
        bg__graph_table_record_edit(bg__call_argument(call, 1), NULL);
}

static void after_add_node(bg__driver_call *call)
{
    record_node(call, NULL);
}

/* (..., const CUDA_KERNEL_NODE_PARAMS *nodeParams) */
static void after_add_kernel_node(bg__driver_call *call)
{
    record_node(call, bg__call_argument(call, 4));
}

/* (CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS *nodeParams) */
static void after_get_kernel_node(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS)
        BG__DISPATCH(BG__NODE_READ, .node = bg__call_argument(call, 0), .params = bg__call_argument(call, 1));
}

/* (CUgraph *phGraphClone, CUgraph originalGraph) */
static void after_clone(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS)
        BG__DISPATCH(BG__GRAPH_CLONED, .source = *(cudaGraph_t *)bg__call_argument(call, 0),
                     .original = bg__call_argument(call, 1));
}

/* (CUgraphNode hNode, ...) */
static void after_edit_node(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS)
        bg__graph_table_record_edit(NULL, bg__call_argument(call, 0));
}

/* (CUgraph hGraph, ...) */
static void after_edit_graph(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS)
        bg__graph_table_record_edit(bg__call_argument(call, 0), NULL);
}

/* (CUgraphNode hNode). Before the call, since afterwards the node is in no graph. */
static bool before_destroy_node(bg__driver_call *call)
{
    bg__graph_table_record_edit(NULL, bg__call_argument(call, 0));
    return false;
}

void bg__hook_graphs(void)
{
    static const bg__driver_hook hooks[] = {
        {"cuGraphInstantiate", false, before_instantiate, after_instantiate},
        {"cuGraphInstantiateWithFlags", false, before_instantiate, after_instantiate},
        {"cuGraphInstantiateWithParams", false, before_instantiate, after_instantiate},
        {"cuGraphAddKernelNode", false, NULL, after_add_kernel_node},
        {"cuGraphKernelNodeGetParams", false, NULL, after_get_kernel_node},
        {"cuGraphAddMemcpyNode", false, NULL, after_add_node},
        {"cuGraphAddMemsetNode", false, NULL, after_add_node},
        {"cuGraphAddHostNode", false, NULL, after_add_node},
        {"cuGraphAddChildGraphNode", false, NULL, after_add_node},
        {"cuGraphAddEmptyNode", false, NULL, after_add_node},
        {"cuGraphAddEventRecordNode", false, NULL, after_add_node},
        {"cuGraphAddEventWaitNode", false, NULL, after_add_node},
        {"cuGraphAddMemAllocNode", false, NULL, after_add_node},
        {"cuGraphAddMemFreeNode", false, NULL, after_add_node},
        {"cuGraphAddBatchMemOpNode", false, NULL, after_add_node},
        {"cuGraphAddNode", false, NULL, after_add_node},
        {"cuGraphAddDependencies", false, NULL, after_edit_graph},
        {"cuGraphRemoveDependencies", false, NULL, after_edit_graph},
        {"cuGraphDestroyNode", false, before_destroy_node, NULL},
        {"cuGraphKernelNodeSetParams", false, NULL, after_edit_node},
        {"cuGraphMemcpyNodeSetParams", false, NULL, after_edit_node},
        {"cuGraphMemsetNodeSetParams", false, NULL, after_edit_node},
        {"cuGraphHostNodeSetParams", false, NULL, after_edit_node},
        {"cuGraphEventRecordNodeSetEvent", false, NULL, after_edit_node},
        {"cuGraphEventWaitNodeSetEvent", false, NULL, after_edit_node},
        {"cuGraphBatchMemOpNodeSetParams", false, NULL, after_edit_node},
        {"cuGraphNodeSetParams", false, NULL, after_edit_node},
        {"cuGraphClone", false, NULL, after_clone},
        {"cuGraphExecUpdate", false, NULL, after_update},
        {"cuGraphLaunch", false, before_launch, after_launch},
        {"cuGraphExecDestroy", false, before_exec_destroy, NULL},
        {"cuGraphDestroy", false, before_graph_destroy, NULL},
        {"cuGraphExecKernelNodeSetParams", false, NULL, after_set_node},
        {"cuGraphExecMemcpyNodeSetParams", false, NULL, after_set_node},
        {"cuGraphExecMemsetNodeSetParams", false, NULL, after_set_node},
        {"cuGraphExecHostNodeSetParams", false, NULL, after_set_node},
        {"cuGraphExecEventRecordNodeSetEvent", false, NULL, after_set_node},
        {"cuGraphExecEventWaitNodeSetEvent", false, NULL, after_set_node},
        {"cuGraphExecNodeSetParams", false, NULL, after_set_node},
        {"cuGraphExecBatchMemOpNodeSetParams", false, NULL, after_set_node},
        {"cuGraphExecChildGraphNodeSetParams", false, NULL, after_set_node},
        {"cuGraphExecExternalSemaphoresSignalNodeSetParams", false, NULL, after_set_node},
        {"cuGraphExecExternalSemaphoresWaitNodeSetParams", false, NULL, after_set_node},
        {"cuGraphNodeSetEnabled", false, NULL, after_set_node},
    };
    bg__shim->hook(hooks, sizeof hooks / sizeof *hooks);
}
