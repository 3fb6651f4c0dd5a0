/* One node in a graph of its own. */
#include "step_nodes.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <stdio.h>
#include <string.h>

/* ---- kernels: through the driver, since the runtime does not know those of libraries ---- */

static bg_status kernel_params(cudaGraphNode_t node, CUDA_KERNEL_NODE_PARAMS *params)
{
    PFN_cuGraphKernelNodeGetParams_v12000 get_params = NULL;
    bg_status status;
    BG__TRY(bg__driver_entry("cuGraphKernelNodeGetParams", 12000, (void *)&get_params));
    BG__TRY_DRIVER("cuGraphKernelNodeGetParams", get_params(node, params));
done:
    return status;
}

static bg_status kernel_name(const CUDA_KERNEL_NODE_PARAMS *params, char *text, size_t bytes)
{
    PFN_cuFuncGetName_v12030 function_name = NULL;
    PFN_cuKernelGetName_v12030 kernel_name = NULL;
    const char *name = "";
    bg_status status;

    if (params->func != NULL) {
        BG__TRY(bg__driver_entry("cuFuncGetName", 12030, (void *)&function_name));
        BG__TRY_DRIVER("cuFuncGetName", function_name(&name, params->func));
    } else {
        BG__TRY(bg__driver_entry("cuKernelGetName", 12030, (void *)&kernel_name));
        BG__TRY_DRIVER("cuKernelGetName", kernel_name(&name, params->kern));
    }
    snprintf(text, bytes, "%s", name);
done:
    return status;
}

static void add_part(bg__step_kernel *kernel, size_t offset, const void *from, size_t bytes)
{
    size_t used = 0, left;

    for (int i = 0; i < kernel->parts; i++)
        used += kernel->part[i].bytes;
    left = sizeof kernel->bytes - used;
    if (bytes > left || kernel->parts == BG__STEP_PARTS_MAX)
        kernel->more = true;
    if (left == 0 || kernel->parts == BG__STEP_PARTS_MAX)
        return;
    kernel->part[kernel->parts].offset = offset;
    kernel->part[kernel->parts++].bytes = bytes < left ? bytes : left;
    memcpy(kernel->bytes + used, from, bytes < left ? bytes : left);
}

/* A struct's padding may hold anything, which nobody is told of but after a fault. */
const char *bg__step_words(const bg__step_kernel *kernel, char *text, size_t bytes)
{
    const unsigned char *from = kernel->bytes;
    size_t used = 0;

    snprintf(text, bytes, "%s", kernel->parts > 0 ? "" : "unknown");
    for (int i = 0; i < kernel->parts; from += kernel->part[i++].bytes) {
        for (size_t at = 0; at < kernel->part[i].bytes && used < bytes; at += sizeof(uint64_t)) {
            size_t left = kernel->part[i].bytes - at < sizeof(uint64_t) ? kernel->part[i].bytes - at : sizeof(uint64_t);
            uint64_t word = 0;
            memcpy(&word, from + at, left);
            used += (size_t)snprintf(text + used, bytes - used, "%s+%zu 0x%0*llx", used > 0 ? ", " : "",
                                     kernel->part[i].offset + at, 2 * (int)left, (unsigned long long)word);
        }
    }
    if (kernel->more && used < bytes)
        snprintf(text + used, bytes - used, ", ...");
    return text;
}

/* One buffer with all parameters; cuBLAS launches so. */
static void add_packed(void **extra, bg__step_kernel *kernel)
{
    const void *buffer = NULL;
    size_t size = 0;
    for (size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer = extra[i + 1];
        else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE)
            size = *(const size_t *)extra[i + 1];
        else
            return;
    }
    if (buffer != NULL)
        add_part(kernel, 0, buffer, size);
}

static bg_status kernel_parameters(const CUDA_KERNEL_NODE_PARAMS *params, bg__step_kernel *kernel)
{
    PFN_cuFuncGetParamInfo_v12040 function_info = NULL;
    PFN_cuKernelGetParamInfo_v12040 kernel_info = NULL;
    bg_status status = BG_OK;

    if (params->kernelParams == NULL) {
        if (params->extra != NULL)
            add_packed(params->extra, kernel);
        return BG_OK;
    }
    if (params->func != NULL)
        BG__TRY(bg__driver_entry("cuFuncGetParamInfo", 12040, (void *)&function_info));
    else
        BG__TRY(bg__driver_entry("cuKernelGetParamInfo", 12040, (void *)&kernel_info));
    for (size_t i = 0;; i++) {
        size_t offset, size;
        CUresult result = params->func != NULL ? function_info(params->func, i, &offset, &size)
                                               : kernel_info(params->kern, i, &offset, &size);
        if (result != CUDA_SUCCESS) /* there is no such parameter */
            break;
        add_part(kernel, offset, params->kernelParams[i], size);
    }
done:
    return status;
}

bg_status bg__step_describe(const bg__step_node *node, bg__step_kernel *kernel)
{
    CUDA_KERNEL_NODE_PARAMS params = {0};
    bg_status status = BG_OK;

    *kernel = (bg__step_kernel){.name = ""};
    if (node->type != cudaGraphNodeTypeKernel)
        return BG_OK;
    BG__TRY(kernel_params(node->node, &params));
    kernel->grid[0] = params.gridDimX;
    kernel->grid[1] = params.gridDimY;
    kernel->grid[2] = params.gridDimZ;
    kernel->block[0] = params.blockDimX;
    kernel->block[1] = params.blockDimY;
    kernel->block[2] = params.blockDimZ;
    BG__TRY(kernel_name(&params, kernel->name, sizeof kernel->name));
    BG__TRY(kernel_parameters(&params, kernel));
done:
    return status;
}

/* ---- a copy of a node ---- */

static bg_status copy_kernel(cudaGraphNode_t from, cudaGraph_t graph)
{
    PFN_cuGraphAddKernelNode_v12000 add = NULL;
    CUDA_KERNEL_NODE_PARAMS params = {0};
    cudaGraphNode_t node;
    bg_status status;

    BG__TRY(kernel_params(from, &params));
    BG__TRY(bg__driver_entry("cuGraphAddKernelNode", 12000, (void *)&add));
    BG__TRY_DRIVER("cuGraphAddKernelNode", add(&node, graph, NULL, 0, &params));
    BG__TRY_CUDA(cudaGraphKernelNodeCopyAttributes(node, from));
done:
    return status;
}

static bg_status copy_copy(cudaGraphNode_t from, cudaGraph_t graph)
{
    struct cudaMemcpy3DParms params;
    cudaGraphNode_t node;
    bg_status status = BG_OK;
    BG__TRY_CUDA(cudaGraphMemcpyNodeGetParams(from, &params));
    BG__TRY_CUDA(cudaGraphAddMemcpyNode(&node, graph, NULL, 0, &params));
done:
    return status;
}

static bg_status copy_fill(cudaGraphNode_t from, cudaGraph_t graph)
{
    struct cudaMemsetParams params;
    cudaGraphNode_t node;
    bg_status status = BG_OK;
    BG__TRY_CUDA(cudaGraphMemsetNodeGetParams(from, &params));
    BG__TRY_CUDA(cudaGraphAddMemsetNode(&node, graph, NULL, 0, &params));
done:
    return status;
}

static bg_status copy_host(cudaGraphNode_t from, cudaGraph_t graph)
{
    struct cudaHostNodeParams params;
    cudaGraphNode_t node;
    bg_status status = BG_OK;
    BG__TRY_CUDA(cudaGraphHostNodeGetParams(from, &params));
    BG__TRY_CUDA(cudaGraphAddHostNode(&node, graph, NULL, 0, &params));
done:
    return status;
}

/* The event may be gone, or a library's own (NCCL's): then only the graph itself can name it, in which its nodes are
 * ordered already. *empty: there is no node. */
static bg_status copy_event(cudaGraphNode_t from, bool record, cudaGraph_t graph, bool *empty)
{
    cudaGraphNode_t node;
    cudaEvent_t event;
    cudaError_t error;
    bg_status status = BG_OK;

    if (record)
        BG__TRY_CUDA(cudaGraphEventRecordNodeGetEvent(from, &event));
    else
        BG__TRY_CUDA(cudaGraphEventWaitNodeGetEvent(from, &event));
    error = record ? cudaGraphAddEventRecordNode(&node, graph, NULL, 0, event)
                   : cudaGraphAddEventWaitNode(&node, graph, NULL, 0, event);
    *empty = error == cudaErrorInvalidResourceHandle;
    if (*empty)
        bg__ignore(error);
    else
        BG__TRY_CUDA(error);
done:
    return status;
}

static bg_status copy_node(const bg__step_node *node, cudaGraph_t graph, bool *empty)
{
    switch (node->type) {
    case cudaGraphNodeTypeKernel: return copy_kernel(node->node, graph);
    case cudaGraphNodeTypeMemcpy: return copy_copy(node->node, graph);
    case cudaGraphNodeTypeMemset: return copy_fill(node->node, graph);
    case cudaGraphNodeTypeHost: return copy_host(node->node, graph);
    case cudaGraphNodeTypeEventRecord: return copy_event(node->node, true, graph, empty);
    case cudaGraphNodeTypeWaitEvent: return copy_event(node->node, false, graph, empty);
    default: return bg__fail(BG_ERROR_UNSUPPORTED, "a %s cannot run without its graph", bg__step_type_name(node->type));
    }
}

bg_status bg__step_run_alone(const bg__step_node *node, cudaStream_t stream, cudaError_t *fault)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    bg__relaxed relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg_status status = BG_OK;
    bool empty = false;

    *fault = cudaSuccess;
    if (node->type == cudaGraphNodeTypeEmpty)
        return BG_OK;
    BG__TRY(bg__relax_begin(&relaxed)); /* a capture of this thread may be open, on another stream */
    BG__TRY_CUDA(cudaGraphCreate(&graph, 0));
    BG__TRY(copy_node(node, graph, &empty));
    if (empty)
        goto done;
    BG__TRY_CUDA(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    *fault = cudaGraphLaunch(exec, stream);
    if (*fault == cudaSuccess)
        *fault = cudaStreamSynchronize(stream);
    bg__ignore(*fault); /* told of in the report */
done:
    if (exec != NULL)
        BG__RELEASE(cudaGraphExecDestroy(exec));
    if (graph != NULL)
        BG__RELEASE(cudaGraphDestroy(graph));
    bg__relax_end(relaxed);
    return status;
}
