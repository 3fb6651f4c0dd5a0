/* Proves the runs of a segment between launches of its parts, each at its place in the pass. */
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

/* BG_COMPILE_PROVE=always proves each verdict once in each capture. */
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

/* All ranks prove the same runs in the same order, or each would wait for the collectives of the others. */
static bg_status find_needed(const bg__piece *piece, int index, bool *needed)
{
    bg__ranks *ranks = &piece->capture->graph->ranks;
    bg__run *run = &piece->compiled->runs[index];
    bg_status status;

    *needed = needs_proof(piece->compiled, index);
    BG__TRY(bg__ranks_any(ranks, run->name, needed));
    if (*needed && bg__run_is_open(run) && piece->compiled->prove != BG__PROVE_ALWAYS)
        BG__TRY(bg__run_drop_known(run)); /* another rank may not know it */
    if (*needed)
        BG__TRY(bg__run_close_together(ranks, run));
    *needed &= bg__run_is_open(run);
done:
    return status;
}

static bg_status list_runs(const bg__piece *piece, bg__run ***list, size_t *count)
{
    bg__compiled *compiled = piece->compiled;
    bool needed;
    bg_status status = BG_OK;

    *count = 0;
    *list = calloc((size_t)(compiled->run_count - piece->first_run) + 1, sizeof **list);
    if (*list == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the proofs of rules");
    for (int i = piece->first_run; i < compiled->run_count; i++) {
        bg__run *run = &compiled->runs[i];
        BG__TRY(find_needed(piece, i, &needed));
        if (!needed)
            continue;
        run->found = calloc(1, sizeof *run->found);
        if (run->found == NULL)
            BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the proof of %s", run->name);
        (*list)[(*count)++] = run;
    }
    if (*count > 0)
        qsort(*list, *count, sizeof **list, compare_runs);
done:
    return status;
}

/* ---- ranks ---- */

/* Before each proof the ranks exchange failures of the last one, and of the launch of a part. */
static bg_status agree_on_proof(const bg__piece *piece, const bg__run *run)
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
static bg_status excuse(const bg__piece *piece, bg_status status, const char *what, bg__finding *finding)
{
    if (status == BG_OK || piece->capture->graph->ranks.there || bg__device_is_gone(bg__fail_cause()))
        return status;
    bg__ignore(cudaPeekAtLastError());
    bg__finding_set(finding, BG_FUSION_UNPROVEN, "%s: %s", what, bg_last_error());
    return BG_OK;
}

static bg_status prove_run(const bg__parts *p, bg__run *run)
{
    const bg__piece *piece = p->piece;
    bg__finding *finding = run->found;
    bg_status status;

    BG__TRY(agree_on_proof(piece, run));
    finding->state = BG_FUSION_APPLIED;
    bg__fail_forget_cause();
    status = excuse(piece, bg__referee_prove_run(piece, run, p, finding), "the proof cannot be made", finding);
    if (status != BG_OK) {
        bg__fail_where("the proof of %s", run->name);
        goto done;
    }
    finding->known |= finding->state != BG_FUSION_UNPROVEN;
    bg__verdict_set(run->verdict, finding);
    piece->compiled->info.proofs++;
done:
    return status;
}

/* Sets the finding of the remaining runs, which nothing proves. */
static void set_all(const bg__piece *piece, bg__run **list, size_t count, const bg__finding *finding)
{
    for (size_t i = 0; i < count; i++)
        *list[i]->found = *finding;
    piece->compiled->info.proofs += (int)count;
}

/* If a part cannot be launched, the rest of the segment is launched as one part. */
static bg_status prove_each(const bg__parts *p, bg__run **list, size_t count)
{
    bg__finding none = {.state = BG_FUSION_APPLIED};
    size_t at = 0;
    bg_status status = BG_OK;

    for (size_t i = 0; i < count && none.state == BG_FUSION_APPLIED; i++) {
        bg__fail_forget_cause();
        BG__TRY(excuse(p->piece, bg__parts_launch(p, at, list[i]->first), "a part of the segment cannot be launched",
                       &none));
        if (none.state != BG_FUSION_APPLIED) {
            set_all(p->piece, list + i, count - i, &none);
        } else {
            at = list[i]->first;
            BG__TRY(prove_run(p, list[i]));
        }
    }
    BG__TRY(bg__parts_launch(p, at, p->piece->count));
done:
    return status;
}

static bg_status prove_in_parts(const bg__piece *piece, bg__run **list, size_t count)
{
    bg__parts p = {.piece = piece};
    bg__finding none = {.state = BG_FUSION_APPLIED};
    bg_status status;

    bg__fail_forget_cause();
    BG__TRY(excuse(piece, bg__parts_open(&p), "the segment cannot be launched in parts", &none));
    if (none.state != BG_FUSION_APPLIED) {
        set_all(piece, list, count, &none);
        goto done;
    }
    *piece->launched = true;
    BG__TRY(prove_each(&p, list, count));
done:
    bg__device_free(piece->compiled->room); /* the segment may need the memory */
    piece->compiled->room = NULL;
    piece->compiled->room_bytes = 0;
    return status;
}

bg_status bg__referee_prove(bg__piece *piece)
{
    double began = bg__now_ms();
    bg__run **list = NULL;
    size_t count = 0;
    bg__relaxed relaxed;
    bg_status status;

    BG__TRY(bg__runs_agree(piece));
    BG__TRY(list_runs(piece, &list, &count));
    if (count == 0)
        goto done;
    BG__TRY(bg__relax_begin(&relaxed)); /* other captures may be running */
    status = prove_in_parts(piece, list, count);
    bg__relax_end(relaxed);
    piece->compiled->info.proof_ms += bg__now_ms() - began;
done:
    free(list);
    return status;
}
