/* Launches a segment in parts, so that each run is proven with the memory contents that it has in the pass. A part is a
 * graph of its own, not the segment's graph with the other nodes disabled: with a disabled memset node, nodes of a
 * launch run before work that was queued earlier, and out of order (CUDA 13.0, driver 580, H200; disabled kernel and
 * memcpy nodes do not cause this). */
#include <cudaTypedefs.h>
#include <stdlib.h>

#include "compile/compile.h"

/* ---- copies of nodes ---- */

/* A range of the nodes of a piece that becomes a graph. Driver functions copy kernel nodes, since the runtime does not
 * know the kernels of libraries. */
typedef struct part {
    const bg__piece *piece;
    size_t from, end;
    cudaGraph_t graph;
    cudaGraphNode_t *made; /* by node: its copy */
    PFN_cuGraphKernelNodeGetParams_v12000 get_params;
    PFN_cuGraphAddKernelNode_v12000 add_kernel;
} part;

static bg_status copy_kernel_node(const part *p, cudaGraphNode_t node, cudaGraphNode_t *made)
{
    CUDA_KERNEL_NODE_PARAMS params;
    bg_status status = BG_OK;

    BG__TRY_DRIVER("cuGraphKernelNodeGetParams", p->get_params(node, &params));
    BG__TRY_DRIVER("cuGraphAddKernelNode", p->add_kernel(made, p->graph, NULL, 0, &params));
    BG__TRY_CUDA(cudaGraphKernelNodeCopyAttributes(*made, node));
done:
    return status;
}

static bool can_copy_node(enum cudaGraphNodeType type)
{
    return type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeMemcpy || type == cudaGraphNodeTypeMemset ||
           type == cudaGraphNodeTypeEmpty;
}

static bg_status copy_node(const part *p, cudaGraphNode_t node, cudaGraphNode_t *made)
{
    struct cudaMemcpy3DParms copy;
    struct cudaMemsetParams fill;
    enum cudaGraphNodeType type;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaGraphNodeGetType(node, &type));
    if (type == cudaGraphNodeTypeKernel) {
        BG__TRY(copy_kernel_node(p, node, made));
    } else if (type == cudaGraphNodeTypeMemcpy) {
        BG__TRY_CUDA(cudaGraphMemcpyNodeGetParams(node, &copy));
        BG__TRY_CUDA(cudaGraphAddMemcpyNode(made, p->graph, NULL, 0, &copy));
    } else if (type == cudaGraphNodeTypeMemset) {
        BG__TRY_CUDA(cudaGraphMemsetNodeGetParams(node, &fill));
        BG__TRY_CUDA(cudaGraphAddMemsetNode(made, p->graph, NULL, 0, &fill));
    } else {
        BG__TRY_CUDA(cudaGraphAddEmptyNode(made, p->graph, NULL, 0));
    }
done:
    return status;
}

/* Nodes before the part have already run, and need no edge. */
static bg_status add_dependency(const part *p, size_t place, size_t before)
{
    bg_status status = BG_OK;
    if (before >= p->from)
        BG__TRY_CUDA(
            cudaGraphAddDependencies(p->graph, &p->made[before - p->from], &p->made[place - p->from], NULL, 1));
done:
    return status;
}

static bg_status add_dependencies(const part *p, size_t place)
{
    const bg__piece *piece = p->piece;
    bg_status status = BG_OK;

    if (piece->before[place] == 1)
        return add_dependency(p, place, piece->previous[place]);
    for (size_t i = 0; piece->before[place] > 1 && i < piece->edges.count; i++)
        if (piece->edges.to[i] == piece->nodes[place])
            BG__TRY(add_dependency(p, place, bg__piece_find_node(piece, piece->edges.from[i])));
done:
    return status;
}

static bg_status copy_nodes(part *p)
{
    bg_status status = BG_OK;

    BG__TRY(bg__driver_get_entry_point("cuGraphKernelNodeGetParams", 12000, (void *)&p->get_params));
    BG__TRY(bg__driver_get_entry_point("cuGraphAddKernelNode", 12000, (void *)&p->add_kernel));
    p->made = calloc(p->end - p->from, sizeof *p->made);
    if (p->made == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu nodes", p->end - p->from);
    BG__TRY_CUDA(cudaGraphCreate(&p->graph, 0));
    for (size_t i = p->from; i < p->end; i++) {
        BG__TRY(copy_node(p, p->piece->nodes[i], &p->made[i - p->from]));
        BG__TRY(add_dependencies(p, i));
    }
done:
    free(p->made);
    return status;
}

/* ---- copies of the graph ---- */

static bg_status copy_graph(part *p)
{
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaGraphClone(&p->graph, p->piece->segment->graph));
    for (size_t i = 0; i < p->piece->count; i++) {
        cudaGraphNode_t node;
        if (i >= p->from && i < p->end)
            continue;
        BG__TRY_CUDA(cudaGraphNodeFindInClone(&node, p->piece->nodes[i], p->graph));
        BG__TRY_CUDA(cudaGraphDestroyNode(node));
    }
done:
    return status;
}

/* ---- parts ---- */

/* CUDA cannot clone graphs with some kinds of nodes: tries it once here. */
bg_status bg__segment_parts_init(bg__segment_parts *p)
{
    cudaGraph_t copy = NULL;
    bg_status status = BG_OK;

    if (p->piece->unordered)
        BG__FAIL(BG_ERROR_UNSUPPORTED, "a node waits for one that was added to the graph later");
    for (size_t i = 0; i < p->piece->count; i++) {
        enum cudaGraphNodeType type;
        BG__TRY_CUDA(cudaGraphNodeGetType(p->piece->nodes[i], &type));
        p->whole |= !can_copy_node(type);
    }
    if (p->whole) {
        BG__TRY_CUDA(cudaGraphClone(&copy, p->piece->segment->graph));
        BG__RELEASE(cudaGraphDestroy(copy));
    }
done:
    return status;
}

bg_status bg__segment_parts_launch(const bg__segment_parts *parts, size_t from, size_t end)
{
    part p = {.piece = parts->piece, .from = from, .end = end};
    cudaGraphExec_t exec = NULL;
    cudaError_t error;
    bg_status status = BG_OK;

    if (from >= end)
        return BG_OK;
    BG__TRY(parts->whole ? copy_graph(&p) : copy_nodes(&p));
    error = bg__instantiate_graph(p.graph, &exec);
    if (error != cudaSuccess)
        BG__TRY(bg__fail_cuda(error, "cudaGraphInstantiate"));
    BG__TRY_CUDA(cudaGraphLaunch(exec, parts->piece->capture->origin));
done: /* CUDA keeps what a launch in flight needs */
    if (exec != NULL)
        BG__RELEASE(cudaGraphExecDestroy(exec));
    if (p.graph != NULL)
        BG__RELEASE(cudaGraphDestroy(p.graph));
    return status;
}
