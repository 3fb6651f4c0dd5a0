/* The outputs of a replay that differ from the eager pass, and the calls that made them differ. */
#include "mismatches.h"

#include <stdio.h>
#include <string.h>

#include "argument_findings.h"
#include "reach.h"

/* ---- findings ---- */

static bg_status record_mismatch(bg__shadow *s, bg__shadow_output *out, const bgk_difference *found)
{
    (void)s;
    out->differs = true;
    out->shape = found == NULL;
    if (found != NULL)
        out->difference = *found;
    return BG_OK;
}

/* If calls at fault have made the difference, the finding names them and is a note: the output itself is not at
 * fault. */
static void report_mismatch(bg__shadow *s, bg__shadow_output *out)
{
    static const char *const in_order =
        "no op call differs when each waits for the one before it, so a wait is missing: between two calls that a "
        "race finding names (bg_check with BG_CHECK_OVERLAP), or after work of an eager op on another stream";
    static const char *const in_work =
        "check work that is launched outside op calls, and memory that nothing has written";
    static const char *const apart =
        "no call of the other findings writes it, directly or through tensors of op calls: check work launched "
        "outside of op calls, and compare again after correcting the calls at fault";
    static const char *const nowhere = "no op call is known to be at fault: bisect the graph (bg_bisect, breakgraph "
                                       "bisect)";
    char found[400] = "it has another shape or dtype", because[340] = "";
    bool earlier = !out->caused && s->earlier[0] != '\0';
    const char *advice = out->caused                                 ? ""
                         : bg__suspects_order_is_cause(&s->suspects) ? in_order
                         : earlier                                   ? in_work
                         : bg__report_has_cause(s->report, NULL)     ? apart
                                                                     : nowhere;
    const bg_tensor rows = bg__shadow_batch_rows(out, out->tensor);

    out->reported = true;
    if (out->call != NULL &&
        bg__report_has_cause(s->report, out->call)) /* the findings on the call say that it differs */
        return;
    if (out->causes[0] != '\0')
        snprintf(because, sizeof because, ", because of %s", out->causes);
    else if (earlier)
        snprintf(because, sizeof because,
                 "; the first input that differs is %s, and no op call has made the difference", s->earlier);
    if (!out->shape)
        bg__compare_text(&rows, &out->difference, found, sizeof found);
    bg__report_add(s->report, "mismatch", out->caused ? BG_NOTE : BG_FAULT, out->call, out->tensor->data, advice,
                   "%s differs from the eager pass%s: %s", out->name, because, found);
}

static bool is_unreported(const bg__shadow_output *out)
{
    return out->differs && !out->reported && !out->varies;
}

bool bg__mismatches_any_unreported(const bg__shadow *s)
{
    for (size_t i = 0; i < s->output_count; i++)
        if (is_unreported(&s->outputs[i]))
            return true;
    return false;
}

/* ---- what an output depends on ---- */

static bool is_reached(const bg__shadow_output *out, const bg__spans *reached)
{
    uintptr_t begin = (uintptr_t)out->tensor->data;
    return bg__spans_overlap(reached, begin, begin + bg_tensor_bytes(out->tensor));
}

static void add_cause(bg__shadow_output *out, const char *name)
{
    enum { LISTED = 3 };
    size_t used = strlen(out->causes);
    out->caused = true;
    if (++out->cause_count <= LISTED)
        snprintf(out->causes + used, sizeof out->causes - used, "%s%.90s", used > 0 ? ", " : "", name);
    else if (out->cause_count == LISTED + 1)
        snprintf(out->causes + used, sizeof out->causes - used, " and others");
}

/* Adds the memory that depends on a call at fault, and on the calls that its race findings name. In a race, one call
 * reads too early what the other call writes. */
static bg_status add_dependents(bg__shadow *s, const bg__call *call, bg__spans *reached)
{
    const bg__suspects *suspects = &s->suspects;
    const bg__pass_call *eager = bg__pass_calls_find(&s->calls, call->name);
    bg_status status;

    BG__TRY(bg__reach_add(reached, s->graph, call, eager != NULL ? eager->args : NULL));
    for (size_t i = 0; i < suspects->race_count; i++)
        if (strcmp(suspects->races[i].later.call->name, call->name) == 0)
            BG__TRY(bg__reach_add(reached, s->graph, suspects->races[i].earlier.call, NULL));
done:
    return status;
}

/* A call that the graph lacks may have written any output, so it is a cause of each. */
static void add_missing_calls(bg__shadow *s)
{
    bg_finding f = BG_FINDING_INIT;
    for (int i = 0; i < bg_report_count(s->report) && bg_report_get(s->report, i, &f) == BG_OK; i++)
        for (size_t k = 0; k < s->output_count && strcmp(f.kind, "frozen-control-flow") == 0; k++)
            if (is_unreported(&s->outputs[k]) && bg__shadow_find_call(s, f.call) == NULL)
                add_cause(&s->outputs[k], f.call);
}

/* Finds the causes of outputs that differ, in the order of the pass, and whether the outputs depend on a call that
 * varies. */
static bg_status find_causes(bg__shadow *s)
{
    bg__spans reached = {0};
    bg_status status = BG_OK;

    for (size_t i = 0; i < s->output_count; i++) {
        bg__shadow_output *out = &s->outputs[i];
        out->caused = out->follows_varying = false;
        out->causes[0] = '\0';
        out->cause_count = 0;
    }
    add_missing_calls(s);
    for (const bg__call *call = bg__call_next(bg__graph_root(s->graph)); call != NULL; call = bg__call_next(call)) {
        const bg__suspect *suspect = bg__suspects_find(&s->suspects, call->name);
        bool varying = suspect != NULL && bg__suspect_varies_itself(suspect);
        bool cause = bg__report_has_cause(s->report, call);
        if (!varying && !cause)
            continue;
        BG__TRY(add_dependents(s, call, &reached));
        for (size_t i = 0; i < s->output_count; i++) {
            bg__shadow_output *out = &s->outputs[i];
            if (!is_unreported(out) || !is_reached(out, &reached))
                continue;
            out->follows_varying |= varying;
            if (cause)
                add_cause(out, call->name);
        }
        bg__spans_free(&reached);
    }
done:
    bg__spans_free(&reached);
    return status;
}

/* If all differing calls vary by themselves, an output that also varies in the eager pass is not a fault of the
 * graph. */
static bool may_vary_itself(const bg__shadow *s, const bg__shadow_output *out)
{
    return is_unreported(out) && bg__suspects_all_vary(&s->suspects);
}

static bg_status record_varying_output(bg__shadow *s, bg__shadow_output *out, const bgk_difference *found)
{
    (void)found;
    out->varies |= may_vary_itself(s, out);
    return BG_OK;
}

bg_status bg__mismatches_report(bg__shadow *s)
{
    enum { TRIES = 8 }; /* two runs may be equal by chance */
    size_t beyond;
    bg_status status = BG_OK;

    if (bg__mismatches_any_unreported(s))
        BG__TRY(find_causes(s));
    for (size_t i = 0; i < s->output_count; i++) /* an output that depends on such a call, and on no call at fault */
        s->outputs[i].varies |= is_unreported(&s->outputs[i]) && s->outputs[i].follows_varying && !s->outputs[i].caused;
    for (int i = 0; i < TRIES; i++) {
        bool again = false;
        for (size_t k = 0; k < s->output_count; k++)
            again |= may_vary_itself(s, &s->outputs[k]);
        BG__TRY(bg__shadow_any_rank(s, "outputs vary", &again));
        if (!again)
            break;
        BG__TRY(bg__shadow_run_eager(s, false, false));
        BG__TRY(bg__shadow_compare_outputs(s, true, record_varying_output, &beyond));
        BG__TRY(bg__shadow_restore(s));
    }
    for (size_t i = 0; i < s->output_count; i++)
        if (is_unreported(&s->outputs[i]))
            report_mismatch(s, &s->outputs[i]);
done:
    return status;
}

/* ---- bg_shadow ---- */

bg_status bg__mismatches_compare(bg__shadow *s, bool *differs)
{
    size_t beyond = 0;
    bg_status status;

    for (size_t i = 0; i < s->output_count; i++)
        s->outputs[i].differs = false;
    status = bg__shadow_compare_outputs(s, false, record_mismatch, &beyond);
    *differs |= beyond > 0;
    return status;
}

bg_status bg__mismatches_explain(bg__shadow *s, bool recorded, bool differs, bool *found)
{
    bg_status status;

    BG__TRY(bg__shadow_restore(s));
    if (!recorded) {
        BG__TRY(bg__shadow_run_eager(s, true, true));
        BG__TRY(bg__shadow_keep_eager_run(s));
        BG__TRY(bg__shadow_restore(s));
    }
    BG__TRY(bg__shadow_judge(s, differs, found));
    if (*found) {
        bg__suspects_report_races(&s->suspects, s->graph, s->report);
        BG__TRY(bg__shadow_compare_calls(s));
        BG__TRY(bg__suspects_report_varying_calls(&s->suspects, s->graph, s->report));
        BG__TRY(bg__shadow_restore(s));
    }
    BG__TRY(bg__mismatches_report(s));
done:
    return status;
}

bg_status bg__mismatches_report_races(bg__shadow *s)
{
    bg_status status;
    BG__TRY(bg__suspects_list_races(&s->suspects, s->graph));
    bg__suspects_report_races(&s->suspects, s->graph, s->report);
done:
    return status;
}
