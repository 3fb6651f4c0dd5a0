/* The passes over a piece: print, no-op removal, rules. */
#include "compile/compile.h"

#include <stdio.h>
#include <stdlib.h>

bg_status bg_passes_run(const bg_pass *const *passes, int count, bg_piece *piece)
{
    bg_status status = BG_OK;

    BG__NEED(piece);
    BG__NEED(passes);
    for (int i = 0; i < count; i++) {
        BG__NEED(passes[i]);
        BG__NEED(passes[i]->name);
        BG__NEED(passes[i]->run);
        if (passes[i]->applies != NULL && !passes[i]->applies(bg_piece_rows(piece)))
            continue;
        status = passes[i]->run(piece);
        if (status != BG_OK) {
            bg__error_add_location("the pass %s", passes[i]->name);
            break;
        }
    }
    return status;
}

/* ---- print ---- */

static const bg__fusion *find_applied_fusion(const bg_piece *piece, const bg__call *call)
{
    const bg__compiled *compiled = piece->compiled;
    for (int i = piece->first_run; i < compiled->run_count; i++) {
        const bg__fusion *run = &compiled->runs[i];
        for (int k = 0; run->state == BG_FUSION_APPLIED && k < run->rule->count; k++)
            if (run->calls[k] == call)
                return run;
    }
    return NULL;
}

static bg_status print_piece(bg_piece *piece)
{
    const bg__fusion *last = NULL;
    bool wanted = false;
    bg_status status;

    BG__TRY(bg__env_flag("BG_COMPILE_PRINT", &wanted));
    if (!wanted)
        goto done;
    fprintf(stderr, "%s: %d calls, %zu nodes, %d rows\n", piece->name, bg_piece_calls(piece), bg_piece_nodes(piece),
            bg_piece_rows(piece));
    for (int i = 0; i < piece->capture->inlined_count; i++) {
        const bg__fusion *run = find_applied_fusion(piece, piece->capture->inlined[i]);
        if (run == NULL)
            fprintf(stderr, "  %s\n", piece->capture->inlined[i]->name);
        else if (run != last)
            fprintf(stderr, "  %s\n", run->name);
        last = run;
    }
done:
    return status;
}

const bg_pass bg_pass_print = {"print", NULL, print_piece};

/* ---- no-op removal ---- */

static bg_status is_self_copy(cudaGraphNode_t node, bool *is)
{
    struct cudaMemcpy3DParms copy;
    bg_status status = BG_OK;

    BG__TRY_CUDA(cudaGraphMemcpyNodeGetParams(node, &copy));
    *is = copy.srcArray == NULL && copy.dstArray == NULL && copy.srcPtr.ptr == copy.dstPtr.ptr &&
          copy.srcPtr.pitch == copy.dstPtr.pitch && copy.srcPos.x == copy.dstPos.x && copy.srcPos.y == copy.dstPos.y &&
          copy.srcPos.z == copy.dstPos.z;
done:
    return status;
}

static bg_status mark_no_ops(bg_piece *piece)
{
    bg_status status = BG_OK;

    if (piece->capture->level < BG_LEVEL_ONCE)
        return BG_OK;
    BG__TRY(bg__piece_read_graph(piece));
    for (size_t i = 0; i < piece->count && !piece->memory; i++) {
        enum cudaGraphNodeType type;
        BG__TRY_CUDA(cudaGraphNodeGetType(piece->nodes[i], &type));
        piece->no_op[i] = type == cudaGraphNodeTypeEmpty;
        if (type == cudaGraphNodeTypeMemcpy)
            BG__TRY(is_self_copy(piece->nodes[i], &piece->no_op[i]));
    }
done:
    return status;
}

const bg_pass bg_pass_no_ops = {"no-op removal", NULL, mark_no_ops};

/* ---- rules ---- */

static bg_status apply_rules(bg_piece *piece)
{
    const bg_capture *capture = piece->capture;
    const bg__compiled *compiled = piece->compiled;
    bg__relaxed_mode relaxed;
    bg_status status;

    if (piece->ruled)
        return BG_OK;
    piece->ruled = true;
    BG__TRY(bg__fusions_find(piece));
    if (compiled->run_count == piece->first_run)
        goto done;
    BG__TRY(bg__relaxed_mode_begin(&relaxed)); /* called only to read the thread's capture mode */
    piece->mode = relaxed.before;
    bg__relaxed_mode_end(relaxed);
    BG__TRY(bg__piece_read_graph(piece));
    BG__TRY(bg__fusions_check(piece));
    if (capture->level == BG_LEVEL_AS_IS)
        goto done;
    if (compiled->prove != BG__PROVE_OFF && capture->options.launch_segments)
        BG__TRY(bg__fusions_prove(piece));
    BG__TRY(bg__fusions_agree(piece));
    BG__TRY(bg__fusions_choose(piece));
done:
    return status;
}

const bg_pass bg_pass_rules = {"rules", NULL, apply_rules};
