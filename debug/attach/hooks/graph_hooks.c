/* Hooks of the calls that make, change, launch and destroy graphs and executable graphs. */
#include "driver_hooks.h"

#include <string.h>

#include "debug/attach/allocators/attach_ledger.h"
#include "debug/attach/allocators/python.h"
#include "debug/attach/checks/host_functions.h"
#include "debug/attach/checks/unfreed_memory.h"
#include "debug/attach/graphs/graph_table.h"
#include "debug/attach/graphs/other_graph.h"
#include "debug/attach/memory/block_table.h"
#include "debug/attach/nodes/node_calls.h"
#include "debug/attach/nodes/node_copies.h"
#include "debug/attach/stacks/stacks.h"

static const bg__attach_shim *shim;

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

/* Records the blocks of new graphs: at once, or when the interpreter has listed its blocks. */
static void record_blocks(void)
{
    bg__python_request_snapshot();
    if (!bg__python_is_available())
        bg__ledger_record_graphs();
}

static uint64_t instantiate_flags(const bg__driver_call *call)
{
    if (strncmp(call->hook->name, "cuGraphInstantiateWithParams", 28) == 0)
        return ((const CUDA_GRAPH_INSTANTIATE_PARAMS *)bg__call_argument(call, 2))->flags;
    return strcmp(call->hook->name, "cuGraphInstantiateWithFlags") == 0 ? call->arguments[2] : 0;
}

static void after_instantiate(bg__driver_call *call)
{
    size_t after = read_free_bytes(SIZE_MAX);
    if (call->result == CUDA_SUCCESS)
        bg__graph_table_add(*(CUgraphExec *)bg__call_argument(call, 0), bg__call_argument(call, 1), bg__stack_here(),
                            free_before > after ? free_before - after : 0, instantiate_flags(call));
    record_blocks();
}

/* (CUgraphExec hGraphExec, CUgraph hGraph, ...) */
static void after_update(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS)
        bg__graph_table_update(bg__call_argument(call, 0), bg__call_argument(call, 1));
    record_blocks();
}

/* (CUgraphExec hGraphExec, CUstream hStream). In cuGraphLaunch_ptsz, NULL is the per-thread default stream. */
static bool launch(bg__driver_call *call, cudaStream_t stream)
{
    CUresult result = CUDA_SUCCESS;
    bool answered;
    bg__ledger_record_if_due();
    answered = !bg__stream_is_captured(stream);
    if (answered) {
        bg__unfreed_memory_record_launch(bg__call_argument(call, 0));
        answered = bg__graph_table_before_launch(bg__call_argument(call, 0), stream, &result);
    }
    call->result = result;
    return answered;
}

static bool before_launch(bg__driver_call *call)
{
    bg__host_function_check_call(call);
    return launch(call, bg__call_argument(call, 1));
}

static bool before_launch_per_thread(bg__driver_call *call)
{
    cudaStream_t stream = bg__call_argument(call, 1);
    bg__host_function_check_call(call);
    return launch(call, stream != NULL ? stream : cudaStreamPerThread);
}

/* A launch into a capture makes a node. */
static void record_launch(const bg__driver_call *call, CUstream stream)
{
    if (call->result != CUDA_SUCCESS)
        return;
    if (bg__stream_is_captured(stream))
        bg__record_captured_launch(stream);
    else
        bg__graph_table_after_launch(bg__call_argument(call, 0), stream);
}

static void after_launch(bg__driver_call *call)
{
    record_launch(call, bg__call_argument(call, 1));
}

static void after_launch_per_thread(bg__driver_call *call)
{
    CUstream stream = bg__call_argument(call, 1);
    record_launch(call, stream != NULL ? stream : CU_STREAM_PER_THREAD);
}

static bool before_exec_destroy(bg__driver_call *call)
{
    bg__unfreed_memory_record_destroy(bg__call_argument(call, 0));
    bg__graph_table_remove(bg__call_argument(call, 0));
    return false;
}

static bool before_graph_destroy(bg__driver_call *call)
{
    bool kept = bg__graph_table_defer_destroy(bg__call_argument(call, 0));
    call->result = CUDA_SUCCESS;
    bg__blocks_graph_destroyed(bg__call_argument(call, 0));
    if (!kept)
        bg__nodes_forget_makers(bg__call_argument(call, 0));
    return kept;
}

/* Functions that set a node's parameters in an executable graph, and those that do it in a graph. The arguments are
 * (CUgraphExec hGraphExec, CUgraphNode hNode, const PARAMS *nodeParams, ...), or an event in place of the last. */
static const char *const exec_setters[][2] = {
    {"cuGraphExecKernelNodeSetParams", "cuGraphKernelNodeSetParams"},
    {"cuGraphExecKernelNodeSetParams_v2", "cuGraphKernelNodeSetParams_v2"},
    {"cuGraphExecMemcpyNodeSetParams", "cuGraphMemcpyNodeSetParams"},
    {"cuGraphExecMemsetNodeSetParams", "cuGraphMemsetNodeSetParams"},
    {"cuGraphExecHostNodeSetParams", "cuGraphHostNodeSetParams"},
    {"cuGraphExecEventRecordNodeSetEvent", "cuGraphEventRecordNodeSetEvent"},
    {"cuGraphExecEventWaitNodeSetEvent", "cuGraphEventWaitNodeSetEvent"},
    {"cuGraphExecNodeSetParams", "cuGraphNodeSetParams"},
};

static void after_set_node(bg__driver_call *call)
{
    bg__node_setter *set = NULL;
    void *address = NULL;

    if (call->result != CUDA_SUCCESS)
        return;
    for (size_t i = 0; i < sizeof exec_setters / sizeof *exec_setters; i++)
        if (strcmp(call->hook->name, exec_setters[i][0]) == 0)
            address = shim->real(exec_setters[i][1]);
    memcpy(&set, &address, sizeof set);
    bg__graph_table_set_node(bg__call_argument(call, 0), bg__call_argument(call, 1), set, bg__call_argument(call, 2));
    bg__python_request_snapshot();
    bg__ledger_record_later();
}

/* (CUgraphNode *phGraphNode, CUgraph hGraph, ...) */
static void after_add_node(bg__driver_call *call)
{
    /* (..., const CUgraphNode *dependencies, const CUgraphEdgeData *dependencyData, size_t numDependencies, ...) */
    bool has_data = strcmp(call->hook->name, "cuGraphAddNode_v2") == 0;

    bg__other_graph_check(call, has_data ? 4 : 3);
    if (call->result != CUDA_SUCCESS)
        return;
    bg__node_record_maker(*(cudaGraphNode_t *)bg__call_argument(call, 0), 0, bg__stack_here());
    bg__graph_table_record_edit(bg__call_argument(call, 1), NULL);
}

/* (CUgraphNode *phGraphNode, CUgraph hGraph, const CUgraphNode *dependencies, size_t numDependencies, const
 * CUDA_KERNEL_NODE_PARAMS *nodeParams) */
static void after_add_kernel_node(bg__driver_call *call)
{
    after_add_node(call);
    if (call->result == CUDA_SUCCESS)
        bg__node_copies_record_added(*(CUgraphNode *)bg__call_argument(call, 0), bg__call_argument(call, 4));
}

/* (CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS *nodeParams) */
static void after_get_kernel_node(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS)
        bg__node_copies_record_read(bg__call_argument(call, 0), bg__call_argument(call, 1));
}

/* (CUgraph *phGraphClone, CUgraph originalGraph): nodes of the clone get the makers of the original's. */
static void after_clone(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS)
        bg__nodes_copy_makers(*(cudaGraph_t *)bg__call_argument(call, 0), bg__call_argument(call, 1));
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

void bg__hook_graphs(const bg__attach_shim *given)
{
    static const bg__driver_hook hooks[] = {
        {"cuGraphInstantiate", false, before_instantiate, after_instantiate},
        {"cuGraphInstantiate_v2", false, before_instantiate, after_instantiate},
        {"cuGraphInstantiateWithFlags", false, before_instantiate, after_instantiate},
        {"cuGraphInstantiateWithParams", false, before_instantiate, after_instantiate},
        {"cuGraphInstantiateWithParams_ptsz", false, before_instantiate, after_instantiate},
        {"cuGraphAddKernelNode", false, NULL, after_add_kernel_node},
        {"cuGraphAddKernelNode_v2", false, NULL, after_add_kernel_node},
        {"cuGraphKernelNodeGetParams", false, NULL, after_get_kernel_node},
        {"cuGraphKernelNodeGetParams_v2", false, NULL, after_get_kernel_node},
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
        {"cuGraphAddNode_v2", false, NULL, after_add_node},
        {"cuGraphAddDependencies", false, NULL, after_edit_graph},
        {"cuGraphAddDependencies_v2", false, NULL, after_edit_graph},
        {"cuGraphRemoveDependencies", false, NULL, after_edit_graph},
        {"cuGraphRemoveDependencies_v2", false, NULL, after_edit_graph},
        {"cuGraphDestroyNode", false, before_destroy_node, NULL},
        {"cuGraphKernelNodeSetParams", false, NULL, after_edit_node},
        {"cuGraphKernelNodeSetParams_v2", false, NULL, after_edit_node},
        {"cuGraphMemcpyNodeSetParams", false, NULL, after_edit_node},
        {"cuGraphMemsetNodeSetParams", false, NULL, after_edit_node},
        {"cuGraphHostNodeSetParams", false, NULL, after_edit_node},
        {"cuGraphEventRecordNodeSetEvent", false, NULL, after_edit_node},
        {"cuGraphEventWaitNodeSetEvent", false, NULL, after_edit_node},
        {"cuGraphBatchMemOpNodeSetParams", false, NULL, after_edit_node},
        {"cuGraphNodeSetParams", false, NULL, after_edit_node},
        {"cuGraphClone", false, NULL, after_clone},
        {"cuGraphExecUpdate", false, NULL, after_update},
        {"cuGraphExecUpdate_v2", false, NULL, after_update},
        {"cuGraphLaunch", false, before_launch, after_launch},
        {"cuGraphLaunch_ptsz", false, before_launch_per_thread, after_launch_per_thread},
        {"cuGraphExecDestroy", false, before_exec_destroy, NULL},
        {"cuGraphDestroy", false, before_graph_destroy, NULL},
        {"cuGraphExecKernelNodeSetParams", false, NULL, after_set_node},
        {"cuGraphExecKernelNodeSetParams_v2", false, NULL, after_set_node},
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
    shim = given;
    shim->hook(hooks, sizeof hooks / sizeof *hooks);
}
