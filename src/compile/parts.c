/* Launches a segment in parts, so that each run that is to be proven finds the memory that it has in the pass. */
#include "compile/compile.h"

static bool can_disable(enum cudaGraphNodeType type)
{
    return type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeMemcpy || type == cudaGraphNodeTypeMemset;
}

static bg_status enable(const bg__parts *p, size_t from, size_t end, bool on)
{
    bg_status status = BG_OK;
    for (size_t i = from; i < end; i++)
        BG__TRY_CUDA(cudaGraphNodeSetEnabled(p->exec, p->piece->nodes[i], on));
done:
    return status;
}

/* CUDA copies no graphs with some kinds of nodes. */
static bg_status try_copy(const bg__piece *piece)
{
    cudaGraph_t copy = NULL;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaGraphClone(&copy, piece->segment->graph));
    BG__RELEASE(cudaGraphDestroy(copy));
done:
    return status;
}

bg_status bg__parts_open(bg__parts *p)
{
    cudaError_t error;
    bg_status status = BG_OK;

    for (size_t i = 0; i < p->piece->count; i++) {
        enum cudaGraphNodeType type;
        BG__TRY_CUDA(cudaGraphNodeGetType(p->piece->nodes[i], &type));
        p->whole |= !can_disable(type);
    }
    if (p->whole) {
        BG__TRY(try_copy(p->piece));
        goto done;
    }
    error = bg__instantiate(p->piece->segment->graph, &p->exec);
    if (error != cudaSuccess)
        BG__TRY(bg__fail_cuda(error, "cudaGraphInstantiate"));
    BG__TRY(enable(p, 0, p->piece->count, false));
done:
    return status;
}

/* CUDA keeps what a launch in flight needs. */
void bg__parts_close(const bg__parts *p)
{
    if (p->exec != NULL)
        BG__RELEASE(cudaGraphExecDestroy(p->exec));
}

static bg_status keep_part(const bg__piece *piece, cudaGraph_t copy, size_t from, size_t end)
{
    bg_status status = BG_OK;

    for (size_t i = 0; i < piece->count; i++) {
        cudaGraphNode_t node;
        if (i >= from && i < end)
            continue;
        BG__TRY_CUDA(cudaGraphNodeFindInClone(&node, piece->nodes[i], copy));
        BG__TRY_CUDA(cudaGraphDestroyNode(node));
    }
done:
    return status;
}

static bg_status launch_copy(const bg__piece *piece, size_t from, size_t end)
{
    cudaGraphExec_t exec = NULL;
    cudaGraph_t copy = NULL;
    cudaError_t error;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaGraphClone(&copy, piece->segment->graph));
    BG__TRY(keep_part(piece, copy, from, end));
    error = bg__instantiate(copy, &exec);
    if (error != cudaSuccess)
        BG__TRY(bg__fail_cuda(error, "cudaGraphInstantiate"));
    BG__TRY_CUDA(cudaGraphLaunch(exec, piece->capture->origin));
done:
    if (exec != NULL)
        BG__RELEASE(cudaGraphExecDestroy(exec));
    if (copy != NULL)
        BG__RELEASE(cudaGraphDestroy(copy));
    return status;
}

/* The nodes are in order of creation: none waits for a later one. */
bg_status bg__parts_launch(const bg__parts *p, size_t from, size_t end)
{
    bg_status status = BG_OK;

    if (from >= end)
        return BG_OK;
    if (p->whole)
        return launch_copy(p->piece, from, end);
    BG__TRY(enable(p, from, end, true));
    BG__TRY_CUDA(cudaGraphLaunch(p->exec, p->piece->capture->origin));
    BG__TRY(enable(p, from, end, false));
done:
    return status;
}
