/* Runs the calls of a run and its op from the same memory, as graphs, and compares what they write. */
#include "compile/proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one trial ---- */

/* The graphs that a trial launches. calls NULL: the segment's own nodes. */
typedef struct trial {
    const bg__segment_parts *parts;
    cudaGraphExec_t calls, op;
    cudaGraphExec_t again; /* the calls, captured again; NULL: not launched */
    const char *when;      /* in messages */
} trial;

static bg_status launch_slot(bg__proof *p, const trial *t, bg__trial_slot slot, cudaGraphExec_t exec)
{
    bool op = slot == BG__SLOT_OP;
    cudaError_t error;

    bg__error_clear_cuda_cause();
    if (exec == NULL)
        return bg__segment_parts_launch(t->parts, p->run->first, p->run->end);
    error = cudaGraphLaunch(exec, p->stream);
    if (error == cudaSuccess)
        return BG_OK;
    return bg__proof_classify_failure(p, bg__fail_cuda(error, "cudaGraphLaunch"), false,
                                      op ? "it cannot be launched" : "the calls cannot be launched");
}

/* Fills memory with the trial's contents, launches exec, and queues the comparison. exec NULL: the segment's own nodes.
 */
static bg_status run_slot(bg__proof *p, const trial *t, bg__trial_slot slot, cudaGraphExec_t exec)
{
    bg_status status;

    BG__TRY(bg__proof_tensors_fill(p));
    if (slot == BG__SLOT_OP)
        BG__TRY(bg__proof_fill_scratch(p));
    BG__TRY(launch_slot(p, t, slot, exec));
    BG__TRY(slot == BG__SLOT_CALLS ? bg__proof_save_expected(p) : bg__proof_compare_outputs(p, slot));
    BG__TRY(bg__proof_digest_inputs(p, slot));
done:
    return status;
}

/* What the device has found wrong in a slot; state APPLIED: nothing. */
static bg__proof_outcome judge_slot(const bg__proof *p, const trial *t, bg__trial_slot slot)
{
    const bgk_difference *difference;
    const bg__proof_tensor *differing = bg__proof_find_differing(p, slot, &difference),
                           *changed = bg__proof_find_changed_input(p, slot);
    const bool op = slot == BG__SLOT_OP;
    bg__proof_outcome found = {.state = BG_FUSION_APPLIED};
    char text[240];

    if (differing != NULL) {
        bg__debug_hooks.describe(&differing->tensor, difference, text, sizeof text);
        bg__proof_outcome_set(&found, BG_FUSION_DIFFERS, "%s of %s differs from the calls' %s%s: %s",
                              differing->field->name, differing->call->name, differing->field->name, op ? t->when : "",
                              text);
    } else if (changed != NULL) {
        bg__proof_outcome_set(&found, op ? BG_FUSION_DIFFERS : BG_FUSION_UNPROVEN, "%s %s of %s, which %s",
                              op ? "it changes" : "the calls change", changed->field->name, changed->call->name,
                              op ? "the calls only read" : "their ops declare as an input; other work may write it");
    }
    return found;
}

static void record_outcome(bg__proof *p, const bg__proof_outcome *found)
{
    if (found->state != BG_FUSION_APPLIED && bg__proof_is_open(p))
        bg__proof_outcome_set(p->finding, found->state, "%s", found->why);
}

/* Runs the calls and the op a second time. If the calls' own results vary, for example because other work writes their
 * memory, the trial says nothing about the rule. If only one of the two runs differs, the op or such work may be the
 * cause: the rule stays unproven, and is not tried again. */
static bg_status confirm_difference(bg__proof *p, const trial *t, const bg__proof_outcome *first)
{
    bool differs = first->state != BG_FUSION_APPLIED;
    bg__proof_outcome again;
    bg_status status;

    BG__TRY(bg__proof_begin_trial(p));
    BG__TRY(run_slot(p, t, BG__SLOT_AGAIN, t->calls));
    BG__TRY(run_slot(p, t, BG__SLOT_OP, t->op));
    BG__TRY(bg__proof_end_trial(p));
    again = judge_slot(p, t, BG__SLOT_OP);
    if (judge_slot(p, t, BG__SLOT_AGAIN).state != BG_FUSION_APPLIED) {
        bg__proof_outcome_set(
            p->finding, BG_FUSION_UNPROVEN,
            "the calls give another result when they run again; other work may write their memory: %.240s",
            differs ? first->why : again.why);
    } else if (differs != (again.state != BG_FUSION_APPLIED)) {
        bg__proof_outcome_set(p->finding, BG_FUSION_UNPROVEN,
                              "only one of two runs differs; other work may write their memory: %.240s",
                              differs ? first->why : again.why);
        p->finding->known = true;
    } else {
        record_outcome(p, first);
    }
done:
    return status;
}

static bg_status compare_op(bg__proof *p, const trial *t)
{
    const bg__proof_outcome found = judge_slot(p, t, BG__SLOT_OP);
    bool differs = found.state != BG_FUSION_APPLIED;
    bg_status status;

    BG__TRY(bg__ranks_any(&p->piece->capture->graph->ranks, p->run->name, &differs));
    if (differs)
        BG__TRY(confirm_difference(p, t, &found));
    BG__TRY(bg__proof_agree_to_stop(p));
done:
    return status;
}

/* Later trials capture the calls again. Bodies that do something else each time say nothing about the rule. */
static void compare_calls(bg__proof *p, const trial *t)
{
    const bg__proof_outcome calls = judge_slot(p, t, BG__SLOT_CALLS);
    bg__proof_outcome again = judge_slot(p, t, BG__SLOT_AGAIN);
    char why[sizeof again.why];

    if (again.state == BG_FUSION_DIFFERS) {
        memcpy(why, again.why, sizeof why);
        bg__proof_outcome_set(&again, BG_FUSION_UNPROVEN, "the calls give another result when they run again: %.240s",
                              why);
    }
    record_outcome(p, &calls);
    record_outcome(p, &again);
}

/* Queues all work, and waits once for the results. */
static bg_status run_trial(bg__proof *p, const trial *t)
{
    bg_status status;

    BG__TRY(bg__proof_begin_trial(p));
    BG__TRY(run_slot(p, t, BG__SLOT_CALLS, t->calls));
    if (t->again != NULL && bg__proof_is_open(p))
        BG__TRY(run_slot(p, t, BG__SLOT_AGAIN, t->again));
    BG__TRY(bg__proof_agree_to_stop(p));
    if (bg__proof_is_open(p))
        BG__TRY(run_slot(p, t, BG__SLOT_OP, t->op));
    BG__TRY(bg__proof_end_trial(p));
    compare_calls(p, t);
    BG__TRY(bg__proof_agree_to_stop(p));
    if (bg__proof_is_open(p))
        BG__TRY(compare_op(p, t));
    BG__TRY(bg__proof_tensors_restore(p));
done:
    return status;
}

/* ---- all trials ---- */

static void destroy_trial_graphs(const trial *t)
{
    if (t->calls != NULL)
        BG__RELEASE(cudaGraphExecDestroy(t->calls));
    if (t->op != NULL)
        BG__RELEASE(cudaGraphExecDestroy(t->op));
    if (t->again != NULL)
        BG__RELEASE(cudaGraphExecDestroy(t->again));
}

/* Runs the segment's own nodes, the calls captured again (as later trials run them), and the op as the splice will
 * capture it. */
static bg_status run_captured_trials(bg__proof *p, const bg__segment_parts *parts)
{
    trial t = {.parts = parts, .when = " when outputs are first filled with a pattern"};
    bg_status status;

    p->contents = BG__CONTENTS_PATTERN;
    BG__TRY(bg__proof_capture_graph(p, false, 1, &t.again));
    if (!bg__proof_is_open(p))
        goto done;
    BG__TRY(bg__proof_capture_graph(p, true, 1, &t.op));
    if (!bg__proof_is_open(p))
        goto done;
    BG__TRY(run_trial(p, &t));
    if (!bg__proof_is_open(p))
        goto done;
    p->contents = BG__CONTENTS_REAL;
    t.when = "";
    t.calls = t.again;
    t.again = NULL;
    BG__TRY(run_trial(p, &t));
done:
    destroy_trial_graphs(&t);
    return status;
}

/* Captures the calls and the op again, with copies in place of the inputs whose contents this trial changes. */
static bg_status run_altered_trial(bg__proof *p, bg__trial_contents contents, const char *when)
{
    trial t = {.when = when};
    bg_status status = BG_OK;

    if (!bg__proof_is_open(p))
        return BG_OK;
    p->contents = contents;
    BG__TRY(bg__proof_capture_graph(p, false, 1, &t.calls));
    if (!bg__proof_is_open(p))
        goto done;
    BG__TRY(bg__proof_capture_graph(p, true, 1, &t.op));
    if (bg__proof_is_open(p))
        BG__TRY(run_trial(p, &t));
done:
    destroy_trial_graphs(&t);
    return status;
}

static bg_status run_trials(bg__proof *p, const bg__segment_parts *parts)
{
    bg_status status;

    BG__TRY(run_captured_trials(p, parts));
    if (p->run->rows > 1)
        BG__TRY(run_altered_trial(p, BG__CONTENTS_PADDED, " when the last rows are zero, as padding may be"));
    if (p->any_constant)
        BG__TRY(
            run_altered_trial(p, BG__CONTENTS_RANDOM, " when constant inputs are filled with random numbers (seed 1)"));
    if (bg__proof_is_open(p) && !bg__proof_is_conclusive(p))
        bg__proof_outcome_set(
            p->finding, BG_FUSION_UNPROVEN,
            "all inputs hold one value, so a wrong op would not show; fill the inputs before the capture");
    BG__TRY(bg__proof_agree_to_stop(p));
    BG__TRY(bg__proof_compare_times(p));
    BG__TRY_CUDA(cudaStreamSynchronize(p->stream)); /* the op's memory is freed next */
    BG__TRY(bg__proof_agree_to_stop(p));
done:
    return status;
}

static bg_status prove_fusion(bg__proof *p, const bg__segment_parts *parts)
{
    bool begun = false;
    char text[1024];
    bg_status status;

    BG__TRY(bg__proof_tensors_collect(p));
    if (bg__proof_is_open(p))
        BG__TRY(bg__proof_find_constants(p));
    if (bg__proof_is_open(p))
        BG__TRY(bg__proof_tensors_save(p));
    begun = bg__proof_is_open(p);
    BG__TRY(bg__proof_agree_to_stop(p));
    if (!bg__proof_is_open(p))
        goto done;
    BG__TRY(bg__ranks_any(&p->piece->capture->graph->ranks, p->run->name, &p->any_constant));
    BG__TRY(run_trials(p, parts));
done:
    if (status == BG_OK)
        return BG_OK;
    snprintf(text, sizeof text, "%s", bg_last_error());
    bg__proof_leave_ranks(p);
    p->failed = true;
    if (begun)
        (void)bg__proof_tensors_restore(p);
    bg__error_set_text(text);
    return status;
}

bg_status bg__fusion_prove(const bg__piece *piece, const bg__fusion *run_slot, const bg__segment_parts *parts,
                           bg__proof_outcome *finding)
{
    bg__proof p = {.piece = piece,
                   .run = run_slot,
                   .stream = piece->capture->origin,
                   .finding = finding,
                   .op = {.op = run_slot->rule->op,
                          .site = run_slot->calls[0]->site,
                          .recorded = true,
                          .zero_tail = run_slot->calls[0]->zero_tail,
                          .index = (unsigned)run_slot->number,
                          .name = run_slot->name}};
    char hidden = bg__error_set_aside();
    bg_status status;

    p.op.memory = &p.op.own;
    status = prove_fusion(&p, parts);
    if (status != BG_OK)
        bg__clear_cuda_error(cudaStreamSynchronize(p.stream));
    else
        bg__error_restore(hidden);
    bg__call_clear(&p.op);
    for (int i = 0; i < p.args_count; i++)
        free(p.args[i]);
    free(p.args);
    free(p.list);
    free(p.memory);
    return status;
}
