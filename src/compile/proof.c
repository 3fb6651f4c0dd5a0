/* Runs the calls of a run and its op from the same memory, as graphs, and compares what they write. */
#include "compile/proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one trial ---- */

/* The graphs that a trial launches. calls NULL: the segment's own nodes. */
typedef struct trial {
    const bg__parts *parts;
    cudaGraphExec_t calls, op;
    cudaGraphExec_t again; /* the calls, captured again; NULL: not launched */
    const char *when;      /* in messages */
} trial;

static bg_status launch(bg__proof *p, const trial *t, bg__slot slot, cudaGraphExec_t exec)
{
    bool op = slot == BG__SLOT_OP;
    cudaError_t error;

    bg__fail_forget_cause();
    if (exec == NULL)
        return bg__parts_launch(t->parts, p->run->first, p->run->end);
    error = cudaGraphLaunch(exec, p->stream);
    if (error == cudaSuccess)
        return BG_OK;
    return bg__proof_judge_failure(p, bg__fail_cuda(error, "cudaGraphLaunch"), false,
                                   op ? "it cannot be launched" : "the calls cannot be launched");
}

/* Fills memory with the trial's contents, launches exec, and queues the comparison. exec NULL: the segment's own nodes.
 */
static bg_status run(bg__proof *p, const trial *t, bg__slot slot, cudaGraphExec_t exec)
{
    bg_status status;

    BG__TRY(bg__held_prepare(p));
    if (slot == BG__SLOT_OP)
        BG__TRY(bg__held_fill_scratch(p));
    BG__TRY(launch(p, t, slot, exec));
    BG__TRY(slot == BG__SLOT_CALLS ? bg__held_expect(p) : bg__proof_compare(p, slot));
    BG__TRY(bg__proof_probe(p, slot));
done:
    return status;
}

/* What the device has found wrong in a slot; state APPLIED: nothing. */
static bg__finding judge(const bg__proof *p, const trial *t, bg__slot slot)
{
    const bgk_difference *difference;
    const bg__held *differing = bg__proof_differing(p, slot, &difference), *changed = bg__proof_changed(p, slot);
    const bool op = slot == BG__SLOT_OP;
    bg__finding found = {.state = BG_FUSION_APPLIED};
    char text[240];

    if (differing != NULL) {
        bg__debug_hooks.describe(&differing->tensor, difference, text, sizeof text);
        bg__finding_set(&found, BG_FUSION_DIFFERS, "%s of %s differs from the calls' %s%s: %s", differing->field->name,
                        differing->call->name, differing->field->name, op ? t->when : "", text);
    } else if (changed != NULL) {
        bg__finding_set(&found, op ? BG_FUSION_DIFFERS : BG_FUSION_UNPROVEN, "%s %s of %s, which %s",
                        op ? "it changes" : "the calls change", changed->field->name, changed->call->name,
                        op ? "the calls only read" : "they say that they only read; other work may write it");
    }
    return found;
}

static void set_found(bg__proof *p, const bg__finding *found)
{
    if (found->state != BG_FUSION_APPLIED && bg__proof_is_open(p))
        bg__finding_set(p->finding, found->state, "%s", found->why);
}

/* Runs the calls and the op a second time. If the calls' own results vary, for example because other work writes their
 * memory, the trial says nothing about the rule. If only one of the two runs differs, the op or such work may be the
 * cause: the rule stays unproven, and is not tried again. */
static bg_status confirm(bg__proof *p, const trial *t, const bg__finding *first)
{
    bool differs = first->state != BG_FUSION_APPLIED;
    bg__finding again;
    bg_status status;

    BG__TRY(bg__proof_begin_trial(p));
    BG__TRY(run(p, t, BG__SLOT_AGAIN, t->calls));
    BG__TRY(run(p, t, BG__SLOT_OP, t->op));
    BG__TRY(bg__proof_end_trial(p));
    again = judge(p, t, BG__SLOT_OP);
    if (judge(p, t, BG__SLOT_AGAIN).state != BG_FUSION_APPLIED) {
        bg__finding_set(p->finding, BG_FUSION_UNPROVEN,
                        "the calls give another result when they run again; other work may write their memory: %.240s",
                        differs ? first->why : again.why);
    } else if (differs != (again.state != BG_FUSION_APPLIED)) {
        bg__finding_set(p->finding, BG_FUSION_UNPROVEN,
                        "once of twice, as other work that writes its memory may have made it: %.240s",
                        differs ? first->why : again.why);
        p->finding->known = true;
    } else {
        set_found(p, first);
    }
done:
    return status;
}

static bg_status judge_op(bg__proof *p, const trial *t)
{
    const bg__finding found = judge(p, t, BG__SLOT_OP);
    bool differs = found.state != BG_FUSION_APPLIED;
    bg_status status;

    BG__TRY(bg__ranks_any(&p->piece->capture->graph->ranks, p->run->name, &differs));
    if (differs)
        BG__TRY(confirm(p, t, &found));
    BG__TRY(bg__proof_stop_together(p));
done:
    return status;
}

/* Later trials capture the calls again. Bodies that do something else each time say nothing about the rule. */
static void judge_calls(bg__proof *p, const trial *t)
{
    const bg__finding calls = judge(p, t, BG__SLOT_CALLS);
    bg__finding again = judge(p, t, BG__SLOT_AGAIN);
    char why[sizeof again.why];

    if (again.state == BG_FUSION_DIFFERS) {
        memcpy(why, again.why, sizeof why);
        bg__finding_set(&again, BG_FUSION_UNPROVEN, "the calls give another result when they run again: %.240s", why);
    }
    set_found(p, &calls);
    set_found(p, &again);
}

/* Queues all work, and waits once for the results. */
static bg_status run_trial(bg__proof *p, const trial *t)
{
    bg_status status;

    BG__TRY(bg__proof_begin_trial(p));
    BG__TRY(run(p, t, BG__SLOT_CALLS, t->calls));
    if (t->again != NULL && bg__proof_is_open(p))
        BG__TRY(run(p, t, BG__SLOT_AGAIN, t->again));
    BG__TRY(bg__proof_stop_together(p));
    if (bg__proof_is_open(p))
        BG__TRY(run(p, t, BG__SLOT_OP, t->op));
    BG__TRY(bg__proof_end_trial(p));
    judge_calls(p, t);
    BG__TRY(bg__proof_stop_together(p));
    if (bg__proof_is_open(p))
        BG__TRY(judge_op(p, t));
    BG__TRY(bg__held_restore(p));
done:
    return status;
}

/* ---- all trials ---- */

static void close_trial(const trial *t)
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
static bg_status try_as_captured(bg__proof *p, const bg__parts *parts)
{
    trial t = {.parts = parts, .when = " where outputs held a pattern before"};
    bg_status status;

    p->contents = BG__CONTENTS_PATTERN;
    BG__TRY(bg__proof_capture(p, false, 1, &t.again));
    if (!bg__proof_is_open(p))
        goto done;
    BG__TRY(bg__proof_capture(p, true, 1, &t.op));
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
    close_trial(&t);
    return status;
}

/* Captures the calls and the op again, with copies in place of the inputs whose contents this trial changes. */
static bg_status try_others(bg__proof *p, bg__contents contents, const char *when)
{
    trial t = {.when = when};
    bg_status status = BG_OK;

    if (!bg__proof_is_open(p))
        return BG_OK;
    p->contents = contents;
    BG__TRY(bg__proof_capture(p, false, 1, &t.calls));
    if (!bg__proof_is_open(p))
        goto done;
    BG__TRY(bg__proof_capture(p, true, 1, &t.op));
    if (bg__proof_is_open(p))
        BG__TRY(run_trial(p, &t));
done:
    close_trial(&t);
    return status;
}

static bg_status try_all(bg__proof *p, const bg__parts *parts)
{
    bg_status status;

    BG__TRY(try_as_captured(p, parts));
    if (p->run->rows > 1)
        BG__TRY(try_others(p, BG__CONTENTS_PADDED, " where the last rows are zero, as padding may be"));
    if (p->any_constant)
        BG__TRY(try_others(p, BG__CONTENTS_RANDOM, " where inputs that held one value are random (seed 1)"));
    if (bg__proof_is_open(p) && !bg__proof_tells(p))
        bg__finding_set(
            p->finding, BG_FUSION_UNPROVEN,
            "all that it reads holds one value, which tells no op from another; fill the inputs before the capture");
    BG__TRY(bg__proof_stop_together(p));
    BG__TRY(bg__proof_compare_times(p));
    BG__TRY_CUDA(cudaStreamSynchronize(p->stream)); /* the op's memory is freed next */
    BG__TRY(bg__proof_stop_together(p));
done:
    return status;
}

static bg_status prove(bg__proof *p, const bg__parts *parts)
{
    bool begun = false;
    char text[1024];
    bg_status status;

    BG__TRY(bg__held_list(p));
    if (bg__proof_is_open(p))
        BG__TRY(bg__proof_find_constants(p));
    if (bg__proof_is_open(p))
        BG__TRY(bg__held_keep(p));
    begun = bg__proof_is_open(p);
    BG__TRY(bg__proof_stop_together(p));
    if (!bg__proof_is_open(p))
        goto done;
    BG__TRY(bg__ranks_any(&p->piece->capture->graph->ranks, p->run->name, &p->any_constant));
    BG__TRY(try_all(p, parts));
done:
    if (status == BG_OK)
        return BG_OK;
    snprintf(text, sizeof text, "%s", bg_last_error());
    bg__proof_part(p);
    p->failed = true;
    if (begun)
        (void)bg__held_restore(p);
    bg__fail_restore(text);
    return status;
}

bg_status bg__referee_prove_run(const bg__piece *piece, const bg__run *run, const bg__parts *parts,
                                bg__finding *finding)
{
    bg__proof p = {.piece = piece,
                   .run = run,
                   .stream = piece->capture->origin,
                   .finding = finding,
                   .op = {.op = run->rule->op,
                          .site = run->calls[0]->site,
                          .recorded = true,
                          .zero_tail = run->calls[0]->zero_tail,
                          .index = (unsigned)run->number,
                          .name = run->name}};
    char hidden = bg__fail_hide();
    bg_status status;

    p.op.memory = &p.op.own;
    status = prove(&p, parts);
    if (status != BG_OK)
        bg__ignore(cudaStreamSynchronize(p.stream));
    else
        bg__fail_unhide(hidden);
    bg__call_clear(&p.op);
    for (int i = 0; i < p.args_count; i++)
        free(p.args[i]);
    free(p.args);
    free(p.list);
    free(p.memory);
    return status;
}
