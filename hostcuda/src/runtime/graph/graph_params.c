/* The parameters of nodes of graphs and executable graphs: getters and setters. Ops never change: a setter gives the
 * node another op. */
#include "hostcuda/src/call/call_entry.h"
#include "hostcuda/src/call/through_driver.h"
#include "hostcuda/src/call/driver_translation.h"
#include "hostcuda/src/exec/exec.h"
#include "hostcuda/src/graph/graph_object.h"
#include "hostcuda/src/memory/memory_copy.h"
#include "hostcuda/src/op/params.h"
#include "hostcuda/src/runtime/runtime_symbols.h"
#include "hostcuda/src/runtime/graph/runtime_node_params.h"
#include "hostcuda/src/stream/event.h"

#include <string.h>

/* ---- getters -------------------------------------------------------------------------------------------------- */

static cudaError_t check_kind(cudaGraphNode_t node, enum hc_op_kind kind, bool has_params)
{
    return hc_handle_is(HC_NODE, node) && has_params && node->op->kind == kind ? cudaSuccess : cudaErrorInvalidValue;
}

/* The returned parameter values belong to the node and are valid as long as it exists. */
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *pNodeParams)
{
    CUDA_KERNEL_NODE_PARAMS driver;
    HC_THROUGH_DRIVER_THEN(pNodeParams, hc_kernel_params_to_runtime(&driver, pNodeParams), cuGraphKernelNodeGetParams,
                           node, &driver);
    cudaError_t error = hc_call_begin();
    if (!error)
        error = check_kind(node, HC_OP_KERNEL, pNodeParams);
    if (!error) {
        const struct hc_op *op = node->op;
        *pNodeParams = (struct cudaKernelNodeParams){
            .func = (void *)(uintptr_t)op->launch.kernel->function,
            .gridDim = op->launch.grid,
            .blockDim = op->launch.block,
            .sharedMemBytes = (unsigned)op->launch.shared_bytes,
            .kernelParams = op->launch.packed ? NULL : op->launch.arguments,
            .extra = op->launch.packed ? (void **)(uintptr_t)op->launch.extra : NULL,
        };
    }
    return hc_call_end(error);
}

/* Defines a getter. `through`: how the call is forwarded to libcuda. */
#define GETTER(name, type, op_kind, through, value)                                                                    \
    cudaError_t name(cudaGraphNode_t node, type *result)                                                               \
    {                                                                                                                  \
        through;                                                                                                       \
        cudaError_t error = hc_call_begin();                                                                           \
        if (!error)                                                                                                    \
            error = check_kind(node, op_kind, result);                                                                 \
        if (!error)                                                                                                    \
            *result = value;                                                                                           \
        return hc_call_end(error);                                                                                     \
    }
GETTER(cudaGraphMemsetNodeGetParams, struct cudaMemsetParams, HC_OP_FILL, CUDA_MEMSET_NODE_PARAMS driver;
       HC_THROUGH_DRIVER_THEN(result, hc_fill_to_runtime(&driver, result), cuGraphMemsetNodeGetParams, node, &driver),
       node->op->fill)
GETTER(cudaGraphHostNodeGetParams, struct cudaHostNodeParams, HC_OP_HOST,
       HC_THROUGH_DRIVER(cuGraphHostNodeGetParams, node, HC_SAME_AS(CUDA_HOST_NODE_PARAMS *, result)), node->op->host)
GETTER(cudaGraphMemcpyNodeGetParams, struct cudaMemcpy3DParms, HC_OP_COPY, CUDA_MEMCPY3D driver;
       HC_THROUGH_DRIVER_THEN(result, (void)hc_copy_3d_to_runtime(&driver, result), cuGraphMemcpyNodeGetParams, node,
                              &driver),
       hc_copy_to_3d(&node->op->copy))
GETTER(cudaGraphEventRecordNodeGetEvent, cudaEvent_t, HC_OP_RECORD,
       HC_THROUGH_DRIVER(cuGraphEventRecordNodeGetEvent, node, result), node->op->event)
GETTER(cudaGraphEventWaitNodeGetEvent, cudaEvent_t, HC_OP_WAIT,
       HC_THROUGH_DRIVER(cuGraphEventWaitNodeGetEvent, node, result), node->op->event)
GETTER(cudaGraphChildGraphNodeGetGraph, cudaGraph_t, HC_OP_CHILD,
       HC_THROUGH_DRIVER(cuGraphChildGraphNodeGetGraph, node, result), node->op->child)

cudaError_t cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node, struct cudaMemAllocNodeParams *params_out)
{
    HC_THROUGH_DRIVER(cuGraphMemAllocNodeGetParams, node, HC_SAME_AS(CUDA_MEM_ALLOC_NODE_PARAMS *, params_out));
    cudaError_t error = hc_call_begin();
    if (!error)
        error = check_kind(node, HC_OP_ALLOC, params_out);
    if (!error) {
        const struct hc_block *block = node->op->block;
        memset(params_out, 0, sizeof *params_out);
        params_out->poolProps.allocType = cudaMemAllocationTypePinned;
        params_out->poolProps.location.type = cudaMemLocationTypeDevice;
        params_out->poolProps.location.id = block->device;
        if (node->op->access_count)
            params_out->accessDescs = (const void *)node->op->storage; /* in the node's own storage */
        params_out->accessDescCount = node->op->access_count;
        params_out->bytesize = block->bytes;
        params_out->dptr = block->base;
    }
    return hc_call_end(error);
}

cudaError_t cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out)
{
    HC_THROUGH_DRIVER(cuGraphMemFreeNodeGetParams, node, dptr_out);
    cudaError_t error = hc_call_begin();
    if (!error)
        error = check_kind(node, HC_OP_FREE, dptr_out);
    if (!error)
        memcpy(dptr_out, &node->op->block->base, sizeof node->op->block->base);
    return hc_call_end(error);
}

static cudaError_t copy_attributes(cudaGraphNode_t to, cudaGraphNode_t from)
{
    cudaError_t error = check_kind(from, HC_OP_KERNEL, true);
    if (!error && to != from && !hc_node_attributes_copy(from->attributes, &to->attributes))
        error = cudaErrorMemoryAllocation;
    return error;
}

cudaError_t cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hDst, cudaGraphNode_t hSrc)
{
    HC_THROUGH_DRIVER(cuGraphKernelNodeCopyAttributes, hDst, hSrc);
    HC_CHECKED_CALL(check_kind(hDst, HC_OP_KERNEL, true), copy_attributes(hDst, hSrc));
}

/* The driver has the same numbers and values. */
cudaError_t cudaGraphKernelNodeSetAttribute(cudaGraphNode_t hNode, cudaLaunchAttributeID attr,
                                            const cudaLaunchAttributeValue *value)
{
    HC_THROUGH_DRIVER(cuGraphKernelNodeSetAttribute, hNode, (CUkernelNodeAttrID)attr,
                      HC_SAME_AS(const CUkernelNodeAttrValue *, value));
    HC_CHECKED_CALL(check_kind(hNode, HC_OP_KERNEL, true),
                    hc_node_attribute_set(&hNode->attributes, hNode->op->launch.grid, attr, value));
}

cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t hNode, cudaLaunchAttributeID attr,
                                            cudaLaunchAttributeValue *value)
{
    HC_THROUGH_DRIVER(cuGraphKernelNodeGetAttribute, hNode, (CUkernelNodeAttrID)attr,
                      HC_SAME_AS(CUkernelNodeAttrValue *, value));
    HC_CHECKED_CALL(check_kind(hNode, HC_OP_KERNEL, true), hc_node_attribute_get(hNode->attributes, attr, value));
}

/* ---- setters -------------------------------------------------------------------------------------------------- */

#define MORE(...) , __VA_ARGS__
/* Defines two setters, for a node of a graph and for a node of an executable graph. `more`: parameters after the node.
 * `driver`: declarations for `through` and `exec_through`, which forward the calls to libcuda. `make`: an expression
 * that sets op, or gives an error. */
#define SETTERS(graph_setter, exec_setter, more, driver, through, exec_through, make)                                  \
    cudaError_t graph_setter(cudaGraphNode_t node more)                                                                \
    {                                                                                                                  \
        struct hc_op *op = NULL;                                                                                       \
        driver;                                                                                                        \
        through;                                                                                                       \
        HC_CHECKED_CALL(make, hc_node_replace_op(node, op));                                                           \
    }                                                                                                                  \
    cudaError_t exec_setter(cudaGraphExec_t hGraphExec, cudaGraphNode_t node more)                                     \
    {                                                                                                                  \
        struct hc_op *op = NULL;                                                                                       \
        driver;                                                                                                        \
        exec_through;                                                                                                  \
        HC_CHECKED_CALL(make, hc_exec_set_node(hGraphExec, node, op));                                                 \
    }
SETTERS(cudaGraphKernelNodeSetParams, cudaGraphExecKernelNodeSetParams,
        MORE(const struct cudaKernelNodeParams *pNodeParams), CUDA_KERNEL_NODE_PARAMS driver,
        HC_THROUGH_DRIVER_IF(hc_kernel_params_to_driver(pNodeParams, &driver), cuGraphKernelNodeSetParams, node,
                             &driver),
        HC_THROUGH_DRIVER_IF(hc_kernel_params_to_driver(pNodeParams, &driver), cuGraphExecKernelNodeSetParams,
                             hGraphExec, node, &driver),
        pNodeParams ? hc_op_from_kernel_params(pNodeParams, &op) : cudaErrorInvalidValue)
SETTERS(cudaGraphMemcpyNodeSetParams, cudaGraphExecMemcpyNodeSetParams,
        MORE(const struct cudaMemcpy3DParms *pNodeParams), CUDA_MEMCPY3D driver,
        HC_THROUGH_DRIVER_IF(hc_copy_3d_to_driver(pNodeParams, &driver), cuGraphMemcpyNodeSetParams, node, &driver),
        HC_THROUGH_DRIVER_IF(hc_copy_3d_to_driver(pNodeParams, &driver), cuGraphExecMemcpyNodeSetParams, hGraphExec,
                             node, &driver, hc_context_of_thread()),
        hc_op_from_copy_3d(pNodeParams, &op))
SETTERS(cudaGraphMemcpyNodeSetParams1D, cudaGraphExecMemcpyNodeSetParams1D,
        MORE(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind), CUDA_MEMCPY3D driver,
        HC_THROUGH_DRIVER_IF(hc_copy_1d_to_driver(dst, src, count, kind, &driver), cuGraphMemcpyNodeSetParams, node,
                             &driver),
        HC_THROUGH_DRIVER_IF(hc_copy_1d_to_driver(dst, src, count, kind, &driver), cuGraphExecMemcpyNodeSetParams,
                             hGraphExec, node, &driver, hc_context_of_thread()),
        hc_op_from_copy_1d(dst, src, count, kind, &op))
SETTERS(cudaGraphMemcpyNodeSetParamsToSymbol, cudaGraphExecMemcpyNodeSetParamsToSymbol,
        MORE(const void *symbol, const void *src, size_t count, size_t offset, enum cudaMemcpyKind kind),
        CUDA_MEMCPY3D driver,
        HC_THROUGH_DRIVER_IF(hc_copy_to_symbol_to_driver(symbol, src, count, offset, kind, &driver),
                             cuGraphMemcpyNodeSetParams, node, &driver),
        HC_THROUGH_DRIVER_IF(hc_copy_to_symbol_to_driver(symbol, src, count, offset, kind, &driver),
                             cuGraphExecMemcpyNodeSetParams, hGraphExec, node, &driver, hc_context_of_thread()),
        hc_op_make_copy_to_symbol(symbol, src, count, offset, kind, &op))
SETTERS(cudaGraphMemcpyNodeSetParamsFromSymbol, cudaGraphExecMemcpyNodeSetParamsFromSymbol,
        MORE(void *dst, const void *symbol, size_t count, size_t offset, enum cudaMemcpyKind kind),
        CUDA_MEMCPY3D driver,
        HC_THROUGH_DRIVER_IF(hc_copy_from_symbol_to_driver(dst, symbol, count, offset, kind, &driver),
                             cuGraphMemcpyNodeSetParams, node, &driver),
        HC_THROUGH_DRIVER_IF(hc_copy_from_symbol_to_driver(dst, symbol, count, offset, kind, &driver),
                             cuGraphExecMemcpyNodeSetParams, hGraphExec, node, &driver, hc_context_of_thread()),
        hc_op_make_copy_from_symbol(dst, symbol, count, offset, kind, &op))
SETTERS(cudaGraphMemsetNodeSetParams, cudaGraphExecMemsetNodeSetParams,
        MORE(const struct cudaMemsetParams *pNodeParams), CUDA_MEMSET_NODE_PARAMS driver,
        HC_THROUGH_DRIVER_IF(hc_fill_to_driver(pNodeParams, &driver), cuGraphMemsetNodeSetParams, node, &driver),
        HC_THROUGH_DRIVER_IF(hc_fill_to_driver(pNodeParams, &driver), cuGraphExecMemsetNodeSetParams, hGraphExec, node,
                             &driver, hc_context_of_thread()),
        hc_op_from_fill(pNodeParams, &op))
SETTERS(cudaGraphHostNodeSetParams, cudaGraphExecHostNodeSetParams, MORE(const struct cudaHostNodeParams *pNodeParams),
        , HC_THROUGH_DRIVER(cuGraphHostNodeSetParams, node, HC_SAME_AS(const CUDA_HOST_NODE_PARAMS *, pNodeParams)),
        HC_THROUGH_DRIVER(cuGraphExecHostNodeSetParams, hGraphExec, node,
                          HC_SAME_AS(const CUDA_HOST_NODE_PARAMS *, pNodeParams)),
        hc_op_from_host(pNodeParams, &op))
SETTERS(cudaGraphEventRecordNodeSetEvent, cudaGraphExecEventRecordNodeSetEvent, MORE(cudaEvent_t event), ,
        HC_THROUGH_DRIVER(cuGraphEventRecordNodeSetEvent, node, event),
        HC_THROUGH_DRIVER(cuGraphExecEventRecordNodeSetEvent, hGraphExec, node, event),
        hc_op_from_event(HC_OP_RECORD, event, &op))
SETTERS(cudaGraphEventWaitNodeSetEvent, cudaGraphExecEventWaitNodeSetEvent, MORE(cudaEvent_t event), ,
        HC_THROUGH_DRIVER(cuGraphEventWaitNodeSetEvent, node, event),
        HC_THROUGH_DRIVER(cuGraphExecEventWaitNodeSetEvent, hGraphExec, node, event),
        hc_op_from_event(HC_OP_WAIT, event, &op))

/* ---- any node ------------------------------------------------------------------------------------------------- */

cudaError_t cudaGraphNodeSetParams(cudaGraphNode_t node, struct cudaGraphNodeParams *nodeParams)
{
    CUgraphNodeParams driver;
    HC_THROUGH_DRIVER_IF(hc_node_params_to_driver(nodeParams, &driver), cuGraphNodeSetParams, node, &driver);
    struct hc_op *op = NULL;
    HC_CHECKED_CALL(hc_op_from_node_params(nodeParams, &op), hc_node_replace_op(node, op));
}

cudaError_t cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node,
                                       struct cudaGraphNodeParams *nodeParams)
{
    CUgraphNodeParams driver;
    HC_THROUGH_DRIVER_IF(hc_node_params_to_driver(nodeParams, &driver), cuGraphExecNodeSetParams, graphExec, node,
                         &driver);
    struct hc_op *op = NULL;
    cudaError_t error = hc_call_begin();
    if (!error && nodeParams && nodeParams->type == cudaGraphNodeTypeGraph)
        return hc_call_end(hc_exec_set_child(graphExec, node, nodeParams->graph.graph));
    if (!error)
        error = hc_op_from_node_params(nodeParams, &op);
    if (!error)
        error = hc_exec_set_node(graphExec, node, op);
    return hc_call_end(error);
}
