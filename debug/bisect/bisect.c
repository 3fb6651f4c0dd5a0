/* Finds the op calls that must run eagerly for a mismatch to disappear. */
#include <breakgraph/bisect.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/graph/tool_state.h"
#include "debug/memory/allocate.h"
#include "debug/memory/value_text.h"
#include "debug/report/outline.h"
#include "bisect_trials.h"
#include "culprit_search.h"

static bg_status run_search_trial(void *user, const char *const *eager, size_t count, bg_verdict *verdict)
{
    return bg__trial_run(user, eager, count, "search", verdict);
}

/* ---- the calls ---- */

static bg_status list_calls(bg__bisection *b)
{
    size_t bytes = 1, count = 0;

    for (const bg__call *call = bg__call_next(bg__graph_root(b->graph)); call != NULL; call = bg__call_next(call)) {
        bytes += strlen(call->name) + 1;
        count++;
    }
    b->calls = calloc(count + 1, sizeof *b->calls);
    b->pattern = malloc(bytes);
    if (b->calls == NULL || b->pattern == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for %zu calls of a pass", count);
    for (const bg__call *call = bg__call_next(bg__graph_root(b->graph)); call != NULL; call = bg__call_next(call))
        if (!call->eager)
            b->calls[b->count++] = call->name;
    return BG_OK;
}

/* All ranks must search the same calls. */
static bg_status agree_on_calls(bg__bisection *b)
{
    char brief[600];
    bg__shorten_with_digest(bg__trial_pattern(b, b->calls, b->count), brief, sizeof brief);
    return bg__ranks_agree(&b->shadow.ranks, "bg_bisect, the captured calls", brief);
}

static const bg__call *find_call(const bg__bisection *b, const char *name)
{
    const bg__call *call = bg__call_next(bg__graph_root(b->graph));
    while (call != NULL && strcmp(call->name, name) != 0)
        call = bg__call_next(call);
    return call;
}

/* ---- mismatches that remain with all ops eager ---- */

/* Reports values that differ between calls of the graph and of the eager pass. */
static void report_frozen_values(bg__bisection *b)
{
    bg__shadow *s = &b->shadow;
    for (const bg__call *call = bg__call_next(bg__graph_root(b->graph)); call != NULL; call = bg__call_next(call)) {
        const bg__pass_call *eager = bg__pass_calls_find(&s->calls, call->name);
        const char *args = bg__graph_call_args(b->graph, call);
        for (uint32_t i = 0; eager != NULL && args != NULL && i < call->op->field_count; i++) {
            const bg_field *f = &call->op->fields[i];
            char values[2][BG__VALUE_TEXT];
            if (f->role != BG_ROLE_VALUE || memcmp(args + f->offset, (char *)eager->args + f->offset, f->size) == 0)
                continue;
            bg__report_add(
                s->report, "frozen-argument", BG_FAULT, call, NULL,
                "let the op read it from device memory that is written before each replay, or from the forward "
                "context; or change it with bg_graph_args",
                "%s of %s was frozen by the capture: %s in the graph, %s in the eager pass", f->name, call->name,
                bg__field_value_text(f, args + f->offset, values[0], sizeof values[0]),
                bg__field_value_text(f, (char *)eager->args + f->offset, values[1], sizeof values[1]));
        }
    }
}

static bg_status report_outside_of_ops(bg__bisection *b)
{
    bg__shadow *s = &b->shadow;
    bg__report_add(
        s->report, "outside-of-ops", BG_FAULT, NULL, NULL,
        "run bg_check_recapture, which names what a capture froze; put work that is launched between ops into an op (BG_OP)",
        "the fault is in work outside op calls, or in arguments that the capture has frozen: the replay differs "
        "from the eager pass even with all %zu op calls eager",
        b->count);
    report_frozen_values(b);
    return BG_OK;
}

/* ---- the search ---- */

static void report_culprits(bg__bisection *b, const size_t *culprits, size_t found, bg_verdict confirmed)
{
    static const char *const confirmations[] = {
        [BG_BAD] = "confirmed: it remains with all other calls eager",
        [BG_GOOD] = "not confirmed: it also disappears with all other calls eager, so it needs other captured calls",
        [BG_SKIP] = "not confirmed: the pass fails with all other calls eager"};

    for (size_t i = 0; i < found; i++) {
        char others[400] = "";
        size_t used = 0;
        for (size_t k = 0; k < found; k++)
            if (k != i && used < sizeof others)
                used += (size_t)snprintf(others + used, sizeof others - used, "%s%s", used ? ", " : "",
                                         b->calls[culprits[k]]);
        bg__report_add(
            b->shadow.report, "culprit", BG_FAULT, find_call(b, b->calls[culprits[i]]), NULL,
            "check what the captured op reads besides its tensors: values, host state, other streams, memory that "
            "has moved",
            "the mismatch disappears when %s runs eagerly%s%s; %s", b->calls[culprits[i]],
            found > 1 ? ", together with " : "", others, confirmations[confirmed]);
    }
}

/* Runs one trial with only the culprits captured. */
static bg_status confirm_culprits(bg__bisection *b, const size_t *culprits, size_t found, bg_verdict *confirmed)
{
    const char **eager;
    size_t count = 0, next = 0;
    bg_status status;

    BG__TRY(BG__ALLOCATE(eager, b->count, "calls of a pass"));
    for (size_t i = 0; i < b->count; i++) {
        if (next < found && culprits[next] == i) {
            next++;
            continue;
        }
        /* A call around a culprit must be captured, too. */
        if (next >= found || !bg__is_call_inside(b->calls[culprits[next]], b->calls[i]))
            eager[count++] = b->calls[i];
    }
    status = bg__trial_run(b, eager, count, "confirmation: only the culprits captured", confirmed);
done:
    free(eager);
    return status;
}

static bg_status try_culprits(bg__bisection *b, const size_t *culprits, size_t found, bg_verdict *helps)
{
    const char **eager;
    bg_status status;

    BG__TRY(BG__ALLOCATE(eager, found, "calls of a pass"));
    for (size_t i = 0; i < found; i++)
        eager[i] = b->calls[culprits[i]];
    status = bg__trial_run(b, eager, found, "the culprits once more", helps);
done:
    free(eager);
    return status;
}

/* Searches a call that is good alone, and the calls inside it. */
static bg_status search_inside(bg__bisection *b, size_t at, size_t *culprits, size_t *found)
{
    size_t count = 1;
    bg_status status;

    while (at + count < b->count && bg__is_call_inside(b->calls[at + count], b->calls[at]))
        count++;
    status = bg_search(b->calls + at, count, run_search_trial, b, culprits, found);
    for (size_t i = 0; status == BG_OK && i < *found; i++)
        culprits[i] += at;
    return status;
}

/* For passes in which some calls cannot run eagerly: every prefix that contains such a call fails. Tries each call
 * alone, then tries together all calls that did not fail. *helps: the verdict with the culprits that were found. */
static bg_status search_possible(bg__bisection *b, size_t *culprits, size_t *found, bg_verdict *helps)
{
    const char **names;
    size_t *places = NULL, count = 0;
    bg_status status;

    BG__TRY(BG__ALLOCATE(names, b->count, "calls of a pass"));
    BG__TRY(BG__ALLOCATE(places, b->count, "calls of a pass"));
    for (size_t i = 0; i < b->count; i++) {
        BG__TRY(bg__trial_run(b, &b->calls[i], 1, "search: this call alone", helps));
        if (*helps == BG_GOOD) {
            status = search_inside(b, i, culprits, found);
            goto done;
        }
        if (*helps == BG_BAD) {
            places[count] = i;
            names[count++] = b->calls[i];
        }
    }
    *helps = BG_SKIP;
    if (count < 2)
        goto done;
    BG__TRY(bg__trial_run(b, names, count, "search: together, all calls whose own trial did not fail", helps));
    if (*helps != BG_GOOD)
        goto done;
    BG__TRY(bg_search(names, count, run_search_trial, b, culprits, found));
    for (size_t i = 0; i < *found; i++)
        culprits[i] = places[culprits[i]];
done:
    free(names);
    free(places);
    return status;
}

/* unproven: the trial with all calls eager failed, so no set is known to be good. */
static bg_status search_culprits(bg__bisection *b, bool unproven)
{
    size_t *culprits, found = 0;
    bg_verdict confirmed = BG_SKIP, helps = BG_GOOD;
    bg_status status;

    BG__TRY(BG__ALLOCATE(culprits, b->count, "calls of a pass"));
    BG__TRY(bg_search(b->calls, b->count, run_search_trial, b, culprits, &found));
    if (unproven)
        BG__TRY(try_culprits(b, culprits, found, &helps));
    if (helps != BG_GOOD)
        BG__TRY(search_possible(b, culprits, &found, &helps));
    if (helps != BG_GOOD) {
        bg__report_add(b->shadow.report, "not-searched", BG_FAULT, NULL, NULL,
                       "the report's trials list the sets of eager calls with which it fails, and why; bg_shadow "
                       "compares call by call without breaks",
                       "the culprits cannot be found: the replay differs from the eager pass, but the pass fails "
                       "with the sets of eager op calls that the search needs");
        goto done;
    }
    BG__TRY(confirm_culprits(b, culprits, found, &confirmed));
    report_culprits(b, culprits, found, confirmed);
done:
    free(culprits);
    return status;
}

/* ---- bg_bisect ---- */

/* Runs the pass eagerly twice and replays it. *differs: only the replay differs, so that there is something to search
 * for. */
static bg_status compare_eager_and_replay(bg__bisection *b, bool *differs)
{
    bg__shadow *s = &b->shadow;
    double began = bg__now_ms();
    bg_verdict verdict;
    bg_status status;

    *differs = false;
    BG__TRY(bg__shadow_run_eager(s, false, false));
    BG__TRY(bg__shadow_keep_eager_run(s));
    BG__TRY(bg__trial_record(b, NULL, 0, true, "the pass run eagerly", BG_GOOD, began));
    began = bg__now_ms();
    BG__TRY(bg__shadow_capture(s, &b->pass, NULL, &b->graph));
    BG__TRY(bg__shadow_set_graph(s, b->graph));
    BG__TRY(bg__report_add_outline(s->report, b->graph));
    bg__shadow_report_flow(s);
    BG__TRY(list_calls(b));
    BG__TRY(agree_on_calls(b));
    BG__TRY(bg__trial_run_eager(b, &verdict));
    if (verdict == BG_BAD) {
        BG__TRY(bg__shadow_report_nondeterminism(s, true, true));
        goto done;
    }
    BG__TRY(bg__trial_run_replay(b, differs));
    BG__TRY(bg__trial_record(b, NULL, 0, false, "all captured", *differs ? BG_BAD : BG_GOOD, began));
done:
    return status;
}

static bg_status check_replay_repeats(bg__bisection *b, bool *agrees)
{
    bg__shadow *s = &b->shadow;
    bg__spans spans = {0};
    bg__snapshot first = {0};
    bg_status status = BG_OK;
    bool varies;

    *agrees = true;
    for (size_t i = 0; i < s->output_count; i++)
        BG__TRY(bg__spans_add_tensor(&spans, s->outputs[i].tensor));
    BG__TRY(bg__shadow_restore(s));
    BG__TRY(bg__shadow_run_replay(s));
    BG__TRY(bg__snapshot_add_all(&first, &spans, s->stream));
    BG__TRY(bg__shadow_restore(s));
    BG__TRY(bg__shadow_run_replay(s));
    for (size_t i = 0; i < s->output_count; i++) {
        const bg__shadow_output *out = &s->outputs[i];
        uintptr_t begin = (uintptr_t)out->tensor->data;
        const void *was = bg__snapshot_find(&first, begin, begin + bg_tensor_bytes(out->tensor));
        bgk_difference found;
        if (was == NULL)
            continue;
        BG__TRY(bg__compare(out->tensor, was, out->tensor->data,
                            bg__tolerances_find(&s->tolerances, out->call, out->tensor->dtype), s->room, s->stream,
                            &found));
        *agrees &= found.beyond == 0;
    }
    varies = !*agrees;
    BG__TRY(bg__shadow_any_rank(s, "the replay differs from itself", &varies));
    *agrees = !varies;
done:
    bg__snapshot_free(&first);
    bg__spans_free(&spans);
    return status;
}

/* Finds whether the difference varies from run to run. Two runs may be equal by chance, most of all if they differ only
 * in the order of sums. So several runs are compared. */
static bg_status check_determinism(bg__bisection *b, bool *varies)
{
    enum { TRIES = 8 };
    bg_verdict verdict = BG_GOOD;
    bool agrees = true;
    bg_status status = BG_OK;

    BG__TRY(bg__shadow_any_rank(&b->shadow, "it differs by more than rounding", &b->large));
    BG__TRY(check_replay_repeats(b, &agrees));
    for (int i = 0; i < TRIES && !b->large && agrees && verdict == BG_GOOD; i++) {
        BG__TRY(bg__trial_run_eager(b, &verdict));
        BG__TRY(check_replay_repeats(b, &agrees));
    }
    *varies = !agrees || verdict == BG_BAD;
    if (*varies)
        BG__TRY(bg__shadow_report_nondeterminism(&b->shadow, agrees, true));
done:
    return status;
}

static bg_status bisect_pass(bg__bisection *b)
{
    bg_verdict verdict = BG_BAD;
    bool differs, varies;
    bg_status status;

    BG__TRY(compare_eager_and_replay(b, &differs));
    if (!differs)
        goto done;
    BG__TRY(check_determinism(b, &varies));
    if (varies)
        goto done;
    if (b->count > 0)
        BG__TRY(bg__trial_run(b, b->calls, b->count, "all eager", &verdict));
    if (verdict == BG_BAD)
        BG__TRY(report_outside_of_ops(b));
    else
        BG__TRY(search_culprits(b, verdict == BG_SKIP));
done:
    return status;
}

bg_status bg_bisect(bg_forward forward, void *user, cudaStream_t stream, const bg_compare_options *options,
                    bg_report **report)
{
    bg__bisection b = {.pass = {"the forward pass", forward, user, stream, BG_CAPTURE_OPTIONS_INIT}};
    bg_status status;
    bool in_tool;

    BG__NEED(report);
    *report = NULL;
    BG__NEED(forward);
    bg__foreign_error_note();
    if (stream == NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_bisect: stream is NULL; create a stream and use that");
    BG__TRY(bg__wait_for_device("bg_bisect")); /* for work that uses the tensors, on any stream */
    BG__TRY(bg__shadow_create(&b.shadow, "bisect", "bg_bisect", &b.pass, options));
    in_tool = bg__tool_enter();
    status = bisect_pass(&b);
    bg__tool_leave(in_tool);
done:
    status = bg__shadow_finish(&b.shadow, status, report);
    bg_graph_destroy(b.graph);
    free(b.calls);
    free(b.pattern);
    return status;
}
