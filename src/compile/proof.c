/* Runs the calls of a run and its op from the same memory, as graphs, and compares what they write. */
#include "compile/proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one trial ---- */

/* What the calls, and the op, are in this trial. calls: NULL: the segment's own nodes. */
typedef struct trial {
    const bg__parts *parts;
    cudaGraphExec_t calls, op;
    cudaGraphExec_t again; /* the calls, captured again; NULL: as calls */
    const char *when;      /* in messages */
} trial;

static bg_status launch(bg__proof *p, const trial *t, bool op)
{
    cudaError_t error = cudaSuccess;
    bg_status status = BG_OK;

    bg__fail_forget_cause();
    if (!op && t->calls == NULL)
        return bg__parts_launch(t->parts, p->run->first, p->run->end);
    error = cudaGraphLaunch(op ? t->op : t->calls, p->stream);
    if (error != cudaSuccess)
        status = bg__proof_judge_failure(p, bg__fail_cuda(error, "cudaGraphLaunch"), op,
                                         op ? "it cannot be launched" : "the calls cannot be launched");
    return status;
}

/* Of integers, such as indices, only what the rule says of their type. */
static const char *tolerance_of(const bg__proof *p, const bg_tensor *tensor)
{
    const char *text = p->run->rule->attributes_.tolerance;
    return bg__tensor_is_float(tensor) || (text != NULL && strstr(text, bg_dtype_name(tensor->dtype)) != NULL) ? text
                                                                                                               : NULL;
}

static bg_status compare_all(bg__proof *p, const char *when)
{
    char difference[240];
    bg_status status = BG_OK;

    p->differs = false;
    for (int i = 0; i < p->count && bg__proof_is_open(p); i++) {
        const bg__held *h = &p->list[i];
        if (!h->written || h->field == NULL)
            continue;
        BG__TRY(bg__debug_hooks.compare(&h->tensor, h->expected, &p->op, tolerance_of(p, &h->tensor),
                                        p->piece->compiled->room, p->stream, difference, sizeof difference));
        if (difference[0] == '\0')
            continue;
        p->differs = true;
        bg__finding_set(p->finding, BG_FUSION_DIFFERS, "%s of %s differs from the calls' %s%s: %s", h->field->name,
                        h->call->name, h->field->name, when, difference);
    }
done:
    return status;
}

static bg_status check_read(bg__proof *p, bool op)
{
    const bg__held *changed;
    bg_status status;

    BG__TRY(bg__held_check_read(p, false, &changed));
    if (changed == NULL || !bg__proof_is_open(p))
        goto done;
    p->differs = op;
    bg__finding_set(p->finding, op ? BG_FUSION_DIFFERS : BG_FUSION_UNPROVEN, "%s %s of %s, which %s",
                    op ? "it changes" : "the calls change", changed->field->name, changed->call->name,
                    op ? "the calls only read" : "they say that they only read; other work may write it");
done:
    return status;
}

/* From the memory that the trial begins with. */
static bg_status run_and_compare(bg__proof *p, const trial *t, bool op)
{
    bg_status status;

    BG__TRY(bg__held_prepare(p));
    BG__TRY(launch(p, t, op));
    BG__TRY(compare_all(p, t->when));
    BG__TRY(check_read(p, op));
done:
    return status;
}

/* Runs the calls and the op once more. Calls whose results vary, such as where other work writes their memory
 * meanwhile, say nothing about the rule. A difference that shows once of twice may be the op's, or such work's: nobody
 * is blamed, and the rule is not tried again. */
static bg_status confirm(bg__proof *p, const trial *t)
{
    const bg__finding first = *p->finding;
    bg__finding again;
    bool calls_vary, differs = first.state != BG_FUSION_APPLIED;
    bg_status status;

    p->finding->state = BG_FUSION_APPLIED;
    BG__TRY(run_and_compare(p, t, false));
    calls_vary = !bg__proof_is_open(p);
    p->finding->state = BG_FUSION_APPLIED;
    BG__TRY(run_and_compare(p, t, true));
    again = *p->finding;
    *p->finding = first;
    if (calls_vary) {
        bg__finding_set(p->finding, BG_FUSION_UNPROVEN,
                        "the calls give another result when they run again; other work may write their memory: %.240s",
                        differs ? first.why : again.why);
    } else if (differs != (again.state != BG_FUSION_APPLIED)) {
        bg__finding_set(p->finding, BG_FUSION_UNPROVEN,
                        "once of twice, as other work that writes its memory may have made it: %.240s",
                        differs ? first.why : again.why);
        p->finding->known = true;
    }
done:
    return status;
}

static bg_status judge_op(bg__proof *p, const trial *t)
{
    bool differs;
    bg_status status;

    p->differs = false;
    BG__TRY(run_and_compare(p, t, true));
    differs = p->differs;
    BG__TRY(bg__ranks_any(&p->piece->capture->graph->ranks, p->run->name, &differs));
    if (differs)
        BG__TRY(confirm(p, t));
    BG__TRY(bg__proof_stop_together(p));
done:
    return status;
}

/* Other trials capture the calls again: bodies that do something else each time say nothing about the rule. */
static bg_status check_again(bg__proof *p, const trial *t)
{
    const trial again = {.calls = t->again, .when = ""};
    bg__finding found;
    bg_status status;

    BG__TRY(run_and_compare(p, &again, false));
    found = *p->finding;
    if (found.state == BG_FUSION_DIFFERS)
        bg__finding_set(p->finding, BG_FUSION_UNPROVEN, "the calls give another result when they run again: %.240s",
                        found.why);
done:
    return status;
}

static bg_status run_trial(bg__proof *p, const trial *t)
{
    const bg__held *none;
    bg_status status = BG_OK;

    BG__TRY(bg__held_prepare(p));
    BG__TRY(bg__held_check_read(p, true, &none));
    BG__TRY(launch(p, t, false));
    BG__TRY(bg__held_expect(p));
    BG__TRY(check_read(p, false));
    if (t->again != NULL)
        BG__TRY(check_again(p, t));
    BG__TRY(bg__proof_stop_together(p));
    if (bg__proof_is_open(p))
        BG__TRY(judge_op(p, t));
    BG__TRY(bg__held_restore(p));
done:
    return status;
}

/* ---- all of them ---- */

static void close_trial(const trial *t)
{
    if (t->calls != NULL)
        BG__RELEASE(cudaGraphExecDestroy(t->calls));
    if (t->op != NULL)
        BG__RELEASE(cudaGraphExecDestroy(t->op));
    if (t->again != NULL)
        BG__RELEASE(cudaGraphExecDestroy(t->again));
}

/* The segment's own nodes, and the op as the splice will capture it. */
static bg_status try_as_captured(bg__proof *p, const bg__parts *parts)
{
    trial t = {.parts = parts, .when = ""};
    bg_status status;

    BG__TRY(bg__proof_capture(p, false, 1, &t.again));
    if (!bg__proof_is_open(p))
        goto done;
    BG__TRY(bg__proof_capture(p, true, 1, &t.op));
    if (!bg__proof_is_open(p))
        goto done;
    BG__TRY(run_trial(p, &t));
    p->contents = BG__CONTENTS_PATTERN;
    t.when = " where outputs held a pattern before";
    if (bg__proof_is_open(p))
        BG__TRY(run_trial(p, &t));
done:
    close_trial(&t);
    return status;
}

/* Both captured again, with copies of what they only read. */
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
    if (bg__proof_is_open(p) && !bg__held_tells(p))
        bg__finding_set(
            p->finding, BG_FUSION_UNPROVEN,
            "all that it reads holds one value, which tells no op from another; fill the inputs before the capture");
    BG__TRY(bg__proof_stop_together(p));
    BG__TRY(bg__proof_compare_times(p));
    BG__TRY_CUDA(cudaStreamSynchronize(p->stream)); /* the op's memory is freed next */
done:
    return status;
}

static bg_status prove(bg__proof *p, const bg__parts *parts)
{
    bool begun = false;
    char text[1024];
    bg_status status;

    BG__TRY(bg__held_begin(p));
    begun = bg__proof_is_open(p);
    BG__TRY(bg__ranks_any(&p->piece->capture->graph->ranks, p->run->name, &p->any_constant));
    BG__TRY(bg__proof_stop_together(p));
    if (bg__proof_is_open(p))
        BG__TRY(try_all(p, parts));
done:
    if (status != BG_OK && begun) {
        p->failed = true;
        snprintf(text, sizeof text, "%s", bg_last_error());
        (void)bg__held_restore(p);
        bg__fail_restore(text);
    }
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
    return status;
}
