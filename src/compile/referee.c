/* Launches a segment in parts, so that each run that is to be proven finds the memory that it has in the pass. */
#include "compile/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which runs ---- */

static bool is_proven_by(const bg__run *runs, int count, const bg__verdict *verdict)
{
    for (int i = 0; i < count; i++)
        if (runs[i].verdict == verdict && runs[i].found != NULL)
            return true;
    return false;
}

/* BG_COMPILE_PROVE=always: once in each capture. */
static bool needs_proof(const bg__compiled *compiled, int index)
{
    const bg__run *run = &compiled->runs[index];
    if (!bg__run_is_open(run) || is_proven_by(compiled->runs, index, run->verdict))
        return false;
    return compiled->prove == BG__PROVE_ALWAYS || !bg__verdict_read(run->verdict).known;
}

static int compare_runs(const void *a, const void *b)
{
    const bg__run *x = *(bg__run *const *)a, *y = *(bg__run *const *)b;
    return (x->first > y->first) - (x->first < y->first);
}

static bg_status list_runs(const bg__piece *piece, bg__run ***list, size_t *count)
{
    bg__compiled *compiled = piece->compiled;

    *count = 0;
    *list = calloc((size_t)(compiled->run_count - piece->first_run) + 1, sizeof **list);
    if (*list == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the proofs of rules");
    for (int i = piece->first_run; i < compiled->run_count; i++)
        if (needs_proof(compiled, i)) {
            bg__run *run = &compiled->runs[i];
            run->found = calloc(1, sizeof *run->found);
            if (run->found == NULL)
                return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the proof of %s", run->name);
            (*list)[(*count)++] = run;
        }
    if (*count > 0)
        qsort(*list, *count, sizeof **list, compare_runs);
    return BG_OK;
}

/* ---- parts ---- */

/* The segment as it was captured, of which each launch runs a part. */
typedef struct parts {
    const bg__piece *piece;
    cudaGraphExec_t exec;
    bool whole; /* not all of its nodes can be disabled: parts are copies of the graph */
} parts;

static bool can_disable(enum cudaGraphNodeType type)
{
    return type == cudaGraphNodeTypeKernel || type == cudaGraphNodeTypeMemcpy || type == cudaGraphNodeTypeMemset;
}

static bg_status enable(const parts *p, size_t from, size_t end, bool on)
{
    bg_status status = BG_OK;
    for (size_t i = from; i < end; i++)
        BG__TRY_CUDA(cudaGraphNodeSetEnabled(p->exec, p->piece->nodes[i], on));
done:
    return status;
}

static bg_status open_parts(parts *p)
{
    cudaError_t error;
    bg_status status = BG_OK;

    for (size_t i = 0; i < p->piece->count; i++) {
        enum cudaGraphNodeType type;
        BG__TRY_CUDA(cudaGraphNodeGetType(p->piece->nodes[i], &type));
        p->whole |= !can_disable(type);
    }
    if (p->whole)
        goto done;
    error = bg__instantiate(p->piece->segment->graph, &p->exec);
    if (error != cudaSuccess)
        BG__TRY(bg__fail_cuda(error, "cudaGraphInstantiate"));
    BG__TRY(enable(p, 0, p->piece->count, false));
done:
    return status;
}

/* CUDA keeps what a launch in flight needs. */
static void close_parts(const parts *p)
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
static bg_status launch_part(const parts *p, size_t from, size_t end)
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

/* ---- ranks ---- */

/* All ranks prove the same runs, in the same order, or each would wait for the collectives of the others. */
static bg_status agree_on_runs(const bg__piece *piece, bg__run **list, size_t count)
{
    bg__ranks *ranks = &piece->capture->graph->ranks;
    char brief[600], *text = NULL;
    size_t bytes;
    FILE *out;
    bg_status status;

    if (!ranks->there)
        return BG_OK;
    out = open_memstream(&text, &bytes);
    for (size_t i = 0; out != NULL && i < count; i++)
        fprintf(out, "%s%s", i > 0 ? ", " : "", list[i]->name);
    if (out == NULL || fclose(out) != 0) {
        status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the runs of calls of %zu rules", count);
        goto done;
    }
    bg__ranks_shorten(text, brief, sizeof brief);
    status = bg__ranks_agree(ranks, "the runs of calls that rules stand for", brief);
done:
    free(text);
    return status;
}

/* ---- all of them ---- */

static bg_status prove_each(const bg__piece *piece, bg__run **list, size_t count)
{
    parts p = {.piece = piece};
    size_t at = 0;
    bg_status status;

    BG__TRY(open_parts(&p));
    for (size_t i = 0; i < count; i++) {
        bg__finding *finding = list[i]->found;
        finding->state = BG_FUSION_APPLIED;
        BG__TRY(launch_part(&p, at, list[i]->first));
        at = list[i]->first;
        status = bg__referee_prove_run(piece, list[i], finding);
        if (status != BG_OK) {
            bg__fail_where("the proof of %s", list[i]->name);
            goto done;
        }
        /* all ranks know the same rules, so that all prove the same ones next */
        finding->known |= finding->state != BG_FUSION_UNPROVEN || piece->capture->graph->ranks.there;
        bg__verdict_set(list[i]->verdict, finding);
        piece->compiled->info.proofs++;
    }
    BG__TRY(launch_part(&p, at, piece->count));
done:
    close_parts(&p);
    return status;
}

bg_status bg__referee_prove(const bg__piece *piece)
{
    double began = bg__now_ms();
    bg__run **list = NULL;
    size_t count = 0;
    bg__relaxed relaxed;
    bg_status status;

    BG__TRY(list_runs(piece, &list, &count));
    BG__TRY(agree_on_runs(piece, list, count));
    if (count == 0)
        goto done;
    *piece->launched = true;
    BG__TRY(bg__relax_begin(&relaxed)); /* other captures may be running */
    status = prove_each(piece, list, count);
    bg__relax_end(relaxed);
    piece->compiled->info.proof_ms += bg__now_ms() - began;
done:
    free(list);
    return status;
}
