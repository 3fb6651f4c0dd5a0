/* Launches a captured segment part by part. Before the part that follows a run of calls, this proves that the rule
 * gives the same result as the calls, with memory as it is at that place in the pass. */
#include "compile/compile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which runs ---- */

static bool is_proven_earlier(const bg__fusion *runs, int count, const bg__verdict *verdict)
{
    for (int i = 0; i < count; i++)
        if (runs[i].verdict == verdict && runs[i].found != NULL)
            return true;
    return false;
}

/* BG_COMPILE_PROVE=always proves each verdict once in each capture. */
static bool needs_proof(const bg__compiled *compiled, int index)
{
    const bg__fusion *run = &compiled->runs[index];
    if (!bg__fusion_is_candidate(run) || is_proven_earlier(compiled->runs, index, run->verdict))
        return false;
    return compiled->prove == BG__PROVE_ALWAYS || !bg__verdict_read(run->verdict).known;
}

static int compare_fusions(const void *a, const void *b)
{
    const bg__fusion *x = *(bg__fusion *const *)a, *y = *(bg__fusion *const *)b;
    return (x->first > y->first) - (x->first < y->first);
}

/* All ranks prove the same runs in the same order, or each would wait for the collectives of the others. */
static bg_status needs_proof_on_any_rank(const bg__piece *piece, int index, bool *needed)
{
    bg__ranks *ranks = &piece->capture->graph->ranks;
    bg__fusion *run = &piece->compiled->runs[index];
    bg_status status;

    *needed = needs_proof(piece->compiled, index);
    BG__TRY(bg__ranks_any(ranks, run->name, needed));
    if (*needed && bg__fusion_is_candidate(run) && piece->compiled->prove != BG__PROVE_ALWAYS)
        BG__TRY(bg__fusion_drop_known(run)); /* another rank may not know it */
    if (*needed)
        BG__TRY(bg__fusion_agree_on_use(ranks, run));
    *needed &= bg__fusion_is_candidate(run);
done:
    return status;
}

static bg_status list_fusions_to_prove(const bg__piece *piece, bg__fusion ***list, size_t *count)
{
    bg__compiled *compiled = piece->compiled;
    bool needed;
    bg_status status = BG_OK;

    *count = 0;
    *list = calloc((size_t)(compiled->run_count - piece->first_run) + 1, sizeof **list);
    if (*list == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the proofs of rules");
    for (int i = piece->first_run; i < compiled->run_count; i++) {
        bg__fusion *run = &compiled->runs[i];
        BG__TRY(needs_proof_on_any_rank(piece, i, &needed));
        if (!needed)
            continue;
        run->found = calloc(1, sizeof *run->found);
        if (run->found == NULL)
            BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the proof of %s", run->name);
        (*list)[(*count)++] = run;
    }
    if (*count > 0)
        qsort(*list, *count, sizeof **list, compare_fusions);
done:
    return status;
}

/* ---- ranks ---- */

/* Before each proof the ranks exchange failures of the last one, and of the launch of a part. */
static bg_status agree_on_proof(const bg__piece *piece, const bg__fusion *run)
{
    char text[600];

    if (!piece->capture->graph->ranks.there)
        return BG_OK;
    snprintf(text, sizeof text, "the proof of %.500s", run->name);
    return bg__capture_agree(piece->capture, text);
}

/* ---- all proofs ---- */

/* Turns a failure into UNPROVEN, so that the capture goes on with the calls. With ranks it stays a failure: the others
 * wait for this one. */
static bg_status turn_into_unproven(const bg__piece *piece, bg_status status, const char *what,
                                    bg__proof_outcome *finding)
{
    if (status == BG_OK || piece->capture->graph->ranks.there || bg__device_is_gone(bg__error_cuda_cause()))
        return status;
    bg__clear_cuda_error(cudaPeekAtLastError());
    bg__proof_outcome_set(finding, BG_FUSION_UNPROVEN, "%s: %s", what, bg_last_error());
    return BG_OK;
}

static bg_status prove_fusion(const bg__segment_parts *p, bg__fusion *run)
{
    const bg__piece *piece = p->piece;
    bg__proof_outcome *finding = run->found;
    bg_status status;

    BG__TRY(agree_on_proof(piece, run));
    finding->state = BG_FUSION_APPLIED;
    bg__error_clear_cuda_cause();
    status = turn_into_unproven(piece, bg__fusion_prove(piece, run, p, finding), "the proof cannot be made", finding);
    if (status != BG_OK) {
        bg__error_add_location("the proof of %s", run->name);
        goto done;
    }
    finding->known |= finding->state != BG_FUSION_UNPROVEN;
    bg__verdict_store(run->verdict, finding);
    piece->compiled->info.proofs++;
done:
    return status;
}

/* Sets the finding of the remaining runs, which nothing proves. */
static void set_outcomes(const bg__piece *piece, bg__fusion **list, size_t count, const bg__proof_outcome *finding)
{
    for (size_t i = 0; i < count; i++)
        *list[i]->found = *finding;
    piece->compiled->info.proofs += (int)count;
}

/* If a part cannot be launched, the rest of the segment is launched as one part. */
static bg_status prove_fusions(const bg__segment_parts *p, bg__fusion **list, size_t count)
{
    bg__proof_outcome none = {.state = BG_FUSION_APPLIED};
    size_t at = 0;
    bg_status status = BG_OK;

    for (size_t i = 0; i < count && none.state == BG_FUSION_APPLIED; i++) {
        bg__error_clear_cuda_cause();
        BG__TRY(turn_into_unproven(p->piece, bg__segment_parts_launch(p, at, list[i]->first),
                                   "a part of the segment cannot be launched", &none));
        if (none.state != BG_FUSION_APPLIED) {
            set_outcomes(p->piece, list + i, count - i, &none);
        } else {
            at = list[i]->first;
            BG__TRY(prove_fusion(p, list[i]));
        }
    }
    BG__TRY(bg__segment_parts_launch(p, at, p->piece->count));
done:
    return status;
}

static bg_status prove_in_parts(const bg__piece *piece, bg__fusion **list, size_t count)
{
    bg__segment_parts p = {.piece = piece};
    bg__proof_outcome none = {.state = BG_FUSION_APPLIED};
    bg_status status;

    bg__error_clear_cuda_cause();
    BG__TRY(turn_into_unproven(piece, bg__segment_parts_init(&p), "the segment cannot be launched in parts", &none));
    if (none.state != BG_FUSION_APPLIED) {
        set_outcomes(piece, list, count, &none);
        goto done;
    }
    *piece->launched = true;
    BG__TRY(prove_fusions(&p, list, count));
done:
    bg__device_free(piece->compiled->room); /* the segment may need the memory */
    piece->compiled->room = NULL;
    piece->compiled->room_bytes = 0;
    return status;
}

bg_status bg__fusions_prove(bg__piece *piece)
{
    double began = bg__now_ms();
    bg__fusion **list = NULL;
    size_t count = 0;
    bg__relaxed_mode relaxed;
    bg_status status;

    BG__TRY(bg__fusions_agree(piece));
    BG__TRY(list_fusions_to_prove(piece, &list, &count));
    if (count == 0)
        goto done;
    BG__TRY(bg__relaxed_mode_begin(&relaxed)); /* other captures may be running */
    status = prove_in_parts(piece, list, count);
    bg__relaxed_mode_end(relaxed);
    piece->compiled->info.proof_ms += bg__now_ms() - began;
done:
    free(list);
    return status;
}
