/* The program's calls that make, change, launch and destroy executable graphs. */
#include "attach.h"

#include <string.h>

/* The index-th argument of a call, a pointer or a handle. */
static void *argument(const bg__driver_call *call, int index)
{
    return (void *)(uintptr_t)call->arguments[index]; /* NOLINT(performance-no-int-to-ptr) */
}

/* cuGraphInstantiate in all its forms: (CUgraphExec *phGraphExec, CUgraph hGraph, ...). */
static void after_instantiate(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS)
        bg__book_add(*(CUgraphExec *)argument(call, 0), argument(call, 1));
}

/* (CUgraphExec hGraphExec, CUgraph hGraph, ...) */
static void after_update(bg__driver_call *call)
{
    if (call->result == CUDA_SUCCESS)
        bg__book_update(argument(call, 0), argument(call, 1));
}

/* (CUgraphExec hGraphExec, CUstream hStream). In the form for per-thread default streams NULL is another stream. */
static bool launch(bg__driver_call *call, cudaStream_t stream)
{
    CUresult result = CUDA_SUCCESS;
    bool answered = bg__book_launch(argument(call, 0), stream, &result);
    call->result = result;
    return answered;
}

static bool before_launch(bg__driver_call *call)
{
    return launch(call, argument(call, 1));
}

static bool before_launch_per_thread(bg__driver_call *call)
{
    cudaStream_t stream = argument(call, 1);
    return launch(call, stream != NULL ? stream : cudaStreamPerThread);
}

static bool before_exec_destroy(bg__driver_call *call)
{
    bg__book_remove(argument(call, 0));
    return false;
}

static bool before_destroy(bg__driver_call *call)
{
    call->result = CUDA_SUCCESS;
    return bg__book_keeps(argument(call, 0));
}

/* What sets a node's parameters in an executable graph, and what does it in a graph. All have the arguments (CUgraphExec
 * hGraphExec, CUgraphNode hNode, const PARAMS *nodeParams, ...), or an event in place of the last. */
static const char *const setters[][2] = {
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
    for (size_t i = 0; i < sizeof setters / sizeof *setters; i++) {
        void *address = strcmp(call->hook->name, setters[i][0]) == 0 ? bg__shim->real(setters[i][1]) : NULL;
        bg__node_setter *set;
        if (address == NULL || call->result != CUDA_SUCCESS)
            continue;
        memcpy(&set, &address, sizeof set);
        bg__book_set_node(argument(call, 0), argument(call, 1), set, argument(call, 2));
    }
}

/* A child graph's parameters are not set in the copy: CUDA has no call for that. */
void bg__hook_graphs(void)
{
    static const bg__driver_hook hooks[] = {
        {"cuGraphInstantiate", false, NULL, after_instantiate},
        {"cuGraphInstantiate_v2", false, NULL, after_instantiate},
        {"cuGraphInstantiateWithFlags", false, NULL, after_instantiate},
        {"cuGraphInstantiateWithParams", false, NULL, after_instantiate},
        {"cuGraphInstantiateWithParams_ptsz", false, NULL, after_instantiate},
        {"cuGraphExecUpdate", false, NULL, after_update},
        {"cuGraphExecUpdate_v2", false, NULL, after_update},
        {"cuGraphLaunch", false, before_launch, NULL},
        {"cuGraphLaunch_ptsz", false, before_launch_per_thread, NULL},
        {"cuGraphExecDestroy", false, before_exec_destroy, NULL},
        {"cuGraphDestroy", false, before_destroy, NULL},
        {"cuGraphExecKernelNodeSetParams", false, NULL, after_set_node},
        {"cuGraphExecKernelNodeSetParams_v2", false, NULL, after_set_node},
        {"cuGraphExecMemcpyNodeSetParams", false, NULL, after_set_node},
        {"cuGraphExecMemsetNodeSetParams", false, NULL, after_set_node},
        {"cuGraphExecHostNodeSetParams", false, NULL, after_set_node},
        {"cuGraphExecEventRecordNodeSetEvent", false, NULL, after_set_node},
        {"cuGraphExecEventWaitNodeSetEvent", false, NULL, after_set_node},
        {"cuGraphExecNodeSetParams", false, NULL, after_set_node},
    };
    bg__shim->hook(hooks, sizeof hooks / sizeof *hooks);
}
