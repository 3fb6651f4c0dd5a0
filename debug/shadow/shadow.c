/* bg_shadow, and BG_SHADOW, which compares every replay of a graph with the eager pass. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/report/outline.h"
#include "debug/report/process_report.h"
#include "argument_findings.h"
#include "reach.h"
#include "shadow.h"
#include "debug/trace/timing.h"
#include "debug/graph/tools.h"

/* ---- findings ---- */

static bg_status note_mismatch(bg__shadow *s, bg__shadow_output *out, const bgk_difference *found)
{
    (void)s;
    out->differs = true;
    out->shape = found == NULL;
    if (found != NULL)
        out->difference = *found;
    return BG_OK;
}

/* Where calls at fault have made the difference, they are the cause: they come first, and the output is no fault of its
 * own. */
static void tell_mismatch(bg__shadow *s, bg__shadow_output *out)
{
    static const char *const in_order =
        "no op call differs when each waits for the one before it: look for a wait that is missing, between the calls "
        "of race findings (bg_check with BG_CHECK_OVERLAP), or after work of an eager op on another stream";
    static const char *const in_work =
        "look at work that is launched outside of op calls, and at memory that nothing has written";
    static const char *const apart =
        "no call of the other findings leads to it by the tensors of op calls: look at work that is launched outside "
        "of op calls, and compare again when the calls at fault are mended";
    static const char *const nowhere = "no op call is known to be at fault: bisect the graph (bg_bisect, breakgraph "
                                       "bisect)";
    char found[400] = "it has another shape or dtype", because[340] = "";
    bool earlier = !out->caused && s->earlier[0] != '\0';
    const char *advice = out->caused                              ? ""
                         : bg__suspects_blame_order(&s->suspects) ? in_order
                         : earlier                                ? in_work
                         : bg__faults_known(s->report, NULL)      ? apart
                                                                  : nowhere;
    const bg_tensor rows = bg__shadow_rows(out, out->tensor);

    out->told = true;
    if (out->call != NULL && bg__faults_known(s->report, out->call)) /* whose findings say that it differs */
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

static bool is_untold(const bg__shadow_output *out)
{
    return out->differs && !out->told && !out->varies;
}

static bool any_untold(const bg__shadow *s)
{
    for (size_t i = 0; i < s->output_count; i++)
        if (is_untold(&s->outputs[i]))
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

/* A call at fault, and those that its race findings name: what the one reads too early, the other writes. */
static bg_status add_reach(bg__shadow *s, const bg__call *call, bg__spans *reached)
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

/* A call that the graph lacks would have written what nobody can follow in the graph. */
static void add_lacking_calls(bg__shadow *s)
{
    bg_finding f = BG_FINDING_INIT;
    for (int i = 0; i < bg_report_count(s->report) && bg_report_get(s->report, i, &f) == BG_OK; i++)
        for (size_t k = 0; k < s->output_count && strcmp(f.kind, "frozen-control-flow") == 0; k++)
            if (is_untold(&s->outputs[k]) && bg__shadow_call(s, f.call) == NULL)
                add_cause(&s->outputs[k], f.call);
}

/* Fills in the causes of outputs that differ, in the order of the pass, and whether they follow what varies. */
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
    add_lacking_calls(s);
    for (const bg__call *call = bg__call_next(bg__graph_root(s->graph)); call != NULL; call = bg__call_next(call)) {
        const bg__suspect *suspect = bg__suspects_find(&s->suspects, call->name);
        bool varying = suspect != NULL && bg__suspect_varies_itself(suspect);
        bool cause = bg__faults_known(s->report, call);
        if (!varying && !cause)
            continue;
        BG__TRY(add_reach(s, call, &reached));
        for (size_t i = 0; i < s->output_count; i++) {
            bg__shadow_output *out = &s->outputs[i];
            if (!is_untold(out) || !is_reached(out, &reached))
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

/* Where only calls differ that vary by themselves, an output that varies in the eager pass, too, is not the graph's
 * fault. */
static bool may_vary(const bg__shadow *s, const bg__shadow_output *out)
{
    return is_untold(out) && bg__suspects_only_vary(&s->suspects);
}

static bg_status note_varying(bg__shadow *s, bg__shadow_output *out, const bgk_difference *found)
{
    (void)found;
    out->varies |= may_vary(s, out);
    return BG_OK;
}

/* Adds the outputs that differ. */
static bg_status tell_mismatches(bg__shadow *s)
{
    enum { TRIES = 8 }; /* two runs may be equal by chance */
    size_t beyond;
    bg_status status = BG_OK;

    if (any_untold(s))
        BG__TRY(find_causes(s));
    for (size_t i = 0; i < s->output_count; i++) /* one that follows such a call, and no call at fault */
        s->outputs[i].varies |= is_untold(&s->outputs[i]) && s->outputs[i].follows_varying && !s->outputs[i].caused;
    for (int i = 0; i < TRIES; i++) {
        bool again = false;
        for (size_t k = 0; k < s->output_count; k++)
            again |= may_vary(s, &s->outputs[k]);
        BG__TRY(bg__shadow_any(s, "outputs vary", &again));
        if (!again)
            break;
        BG__TRY(bg__shadow_run_eager(s, false, false));
        BG__TRY(bg__shadow_compare(s, true, note_varying, &beyond));
        BG__TRY(bg__shadow_restore(s));
    }
    for (size_t i = 0; i < s->output_count; i++)
        if (is_untold(&s->outputs[i]))
            tell_mismatch(s, &s->outputs[i]);
done:
    return status;
}

static bg_status tell_varying(bg__shadow *s, bg__shadow_output *out, const bgk_difference *found)
{
    static const char *const advice =
        "list what the pass keeps from run to run in options.state; sums by atomics may also differ";

    if (found == NULL)
        bg__report_add(s->report, "not-repeatable", BG_NOTE, out->call, out->tensor->data, advice,
                       "%s has another shape or dtype in the second of two eager runs from the same contents of memory",
                       out->name);
    else
        bg__report_add(s->report, "not-repeatable", BG_NOTE, out->call, out->tensor->data, advice,
                       "%s differs in %llu elements between two eager runs from the same contents of memory", out->name,
                       found->differing);
    return BG_OK;
}

/* ---- bg_shadow ---- */

static bg_status compare_outputs(bg__shadow *s, bool *differs)
{
    size_t beyond = 0;
    bg_status status;

    for (size_t i = 0; i < s->output_count; i++)
        s->outputs[i].differs = false;
    status = bg__shadow_compare(s, false, note_mismatch, &beyond);
    *differs |= beyond > 0;
    return status;
}

static bg_status replay_and_compare(bg__shadow *s, bool *differs)
{
    bg_status status;

    BG__TRY(bg__shadow_restore(s));
    BG__TRY(bg__shadow_run_replay(s));
    BG__TRY(compare_outputs(s, differs));
    BG__TRY(bg__shadow_any(s, "the replay differs", differs));
done:
    return status;
}

static bg_status repeat_passes(bg__shadow *s, bool *differs)
{
    bg_status status = BG_OK;
    size_t beyond;

    for (int i = 1; i < s->options.repeats; i++) {
        BG__TRY(bg__shadow_restore(s));
        BG__TRY(bg__shadow_run_eager(s, false, false));
        BG__TRY(bg__shadow_compare(s, true, tell_varying, &beyond));
        BG__TRY(replay_and_compare(s, differs));
        BG__TRY(bg__shadow_restore(s));
        BG__TRY(tell_mismatches(s));
    }
done:
    return status;
}

/* Finds the calls that differ, and tells causes before what follows of them: those that lie between calls, those in
 * calls, and which outputs differ. *found: some calls were told. Restores memory. */
static bg_status judge_calls(bg__shadow *s, bool recorded, bool differs, bool *found)
{
    bg_status status;

    BG__TRY(bg__shadow_restore(s));
    if (!recorded) {
        BG__TRY(bg__shadow_run_eager(s, true, true));
        BG__TRY(bg__shadow_keep(s));
        BG__TRY(bg__shadow_restore(s));
    }
    BG__TRY(bg__shadow_judge(s, differs, found));
    if (*found) {
        bg__suspects_tell_order(&s->suspects, s->graph, s->report);
        BG__TRY(bg__shadow_compare_calls(s));
        BG__TRY(bg__suspects_tell_repeats(&s->suspects, s->graph, s->report));
        BG__TRY(bg__shadow_restore(s));
    }
    BG__TRY(tell_mismatches(s));
done:
    return status;
}

/* Also where nothing differs: the eager pass that the replay was compared with may have the race as well. */
static bg_status tell_races(bg__shadow *s)
{
    bg_status status;
    BG__TRY(bg__suspects_list_races(&s->suspects, s->graph));
    bg__suspects_tell_order(&s->suspects, s->graph, s->report);
done:
    return status;
}

static bg_status shadow(bg__shadow *s, const bg__shadow_pass *pass, bg_graph **graph)
{
    bool every_call = !s->options.outputs_only, differs = false, found = false, judged;
    bg_status status;

    BG__TRY(bg__shadow_run_eager(s, every_call, every_call));
    BG__TRY(bg__shadow_keep(s));
    BG__TRY(bg__shadow_capture(s, pass, NULL, graph));
    BG__TRY(bg__shadow_set_graph(s, *graph));
    BG__TRY(bg__outline_note(s->report, *graph));
    bg__shadow_tell_flow(s);
    BG__TRY(replay_and_compare(s, &differs));
    judged = every_call || differs;
    if (judged)
        BG__TRY(judge_calls(s, every_call, differs, &found));
    BG__TRY(tell_races(s));
    BG__TRY(repeat_passes(s, &differs));
    if (!judged && differs) /* only in a repetition */
        BG__TRY(judge_calls(s, false, true, &found));
done:
    return status;
}

bg_status bg_shadow(bg_forward forward, void *user, cudaStream_t stream, const bg_compare_options *options,
                    bg_report **report)
{
    const bg__shadow_pass pass = {"the forward pass", forward, user, stream, BG_CAPTURE_OPTIONS_INIT};
    bg__shadow s = {0};
    bg_graph *graph = NULL;
    bg_status status;
    bool in_tool;

    BG__NEED(report);
    *report = NULL;
    BG__NEED(forward);
    bg__pending_note();
    if (stream == NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_shadow: stream is NULL; create a stream and use that");
    BG__TRY(bg__wait_for_device("bg_shadow")); /* what uses the tensors, on any stream */
    BG__TRY(bg__shadow_create(&s, "shadow", "bg_shadow", &pass, options));
    in_tool = bg__tool_enter();
    status = shadow(&s, &pass, &graph);
    bg__tool_leave(in_tool);
done:
    status = bg__shadow_finish(&s, status, report);
    bg_graph_destroy(graph);
    return status;
}

/* ---- BG_SHADOW ---- */

struct bg__replay_shadow {
    bg__shadow shadow;
    bg__spans state;    /* options.state of the capture */
    bool every_call;    /* BG_SHADOW=calls */
    bool begun;         /* a replay has been shadowed */
    bool known;         /* the image holds memory as it was before the replay */
    bool timed, varied; /* times were taken; what varies between eager passes was told */
    bg__timing nodes;   /* the times of nodes, of the first walk */
};

enum { NOT_SHADOWED, WHOLE_PASSES, CALL_BY_CALL }; /* the choices of BG_SHADOW */

bg_status bg__shadow_env_check(void)
{
    bg__tolerances tolerances = {0};
    bg_status status;
    int mode = NOT_SHADOWED;

    BG__TRY(bg__env_choice("BG_SHADOW", &mode));
    if (mode != NOT_SHADOWED)
        status = bg__tolerances_add(&tolerances, getenv("BG_TOLERANCE"), "BG_TOLERANCE");
done:
    bg__tolerances_free(&tolerances);
    return status;
}

bg_status bg__shadow_attach(bg_graph *graph, bg_forward forward, void *user, const bg_capture_options *options)
{
    struct bg__replay_shadow *shadowing = NULL;
    bg__shadow_pass pass = {bg__graph_name(graph), forward, user, NULL, *options};
    bg_compare_options compared = BG_COMPARE_OPTIONS_INIT;
    bg__tools *tools = bg__tools_find(graph);
    bg_status status;
    int mode = NOT_SHADOWED;

    BG__TRY(bg__env_choice("BG_SHADOW", &mode));
    if (mode == NOT_SHADOWED || (tools != NULL && tools->stepping != NULL))
        goto done;
    bg__process_report_shadow_graph(forward != NULL);
    if (forward == NULL)
        goto done;
    BG__TRY(bg__tools_get(graph, &tools));
    shadowing = calloc(1, sizeof *shadowing);
    if (shadowing == NULL) {
        status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for BG_SHADOW");
        goto done;
    }
    shadowing->every_call = mode == CALL_BY_CALL;
    for (size_t i = 0; i < options->state_count; i++)
        BG__TRY(bg__spans_add_tensor(&shadowing->state, &options->state[i]));
    compared.ranks = bg__ranks_table(bg__graph_ranks(graph));
    BG__TRY(bg__shadow_create(&shadowing->shadow, "shadow", "BG_SHADOW", &pass, &compared));
    shadowing->shadow.graph = graph;
    tools->shadowing = shadowing;
    shadowing = NULL;
done:
    bg__shadow_detach(shadowing);
    return status;
}

void bg__shadow_detach(struct bg__replay_shadow *shadowing)
{
    if (shadowing == NULL)
        return;
    bg__shadow_free(&shadowing->shadow);
    bg__spans_free(&shadowing->state);
    bg__timing_free(&shadowing->nodes);
    free(shadowing);
}

/* Lets the replay's stream wait for what the program has queued on the default stream and on streams that wait for
 * that: such work on tensors of the graph would run at some time between the runs, and differ in one of them. A
 * capture on one of these streams forbids it, which says so; one on any other is not disturbed, unlike by a wait for
 * the device. */
static bg_status wait_for_default_stream(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    cudaError_t error = cudaStreamIsCapturing(cudaStreamLegacy, &capturing);
    cudaEvent_t event = NULL;
    bg_status status = BG_OK;

    bg__ignore(error);
    if (error != cudaSuccess || capturing != cudaStreamCaptureStatusNone)
        return BG_OK;
    BG__TRY_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    BG__TRY_CUDA(cudaEventRecord(event, cudaStreamLegacy));
    BG__TRY_CUDA(cudaStreamWaitEvent(stream, event, 0));
done:
    if (event != NULL)
        BG__RELEASE(cudaEventDestroy(event));
    return status;
}

/* Keeps memory as it is now, from which both runs begin. bg_graph_args may have changed what the graph writes since the
 * last replay. */
static bg_status take_image(struct bg__replay_shadow *g, const bg_graph *graph)
{
    bg__shadow *s = &g->shadow;
    bg__footprint footprint = {0};
    bg_status status;

    BG__TRY(wait_for_default_stream(s->stream));
    BG__TRY(bg__snapshot_refresh(&s->image, s->stream));
    BG__TRY(bg__footprint_take(&footprint, graph));
    BG__TRY(bg__snapshot_add_all(&s->image, &footprint.all, s->stream));
    BG__TRY(bg__snapshot_add_all(&s->image, &g->state, s->stream));
done:
    bg__footprint_free(&footprint);
    return status;
}

/* Shares a failure with all ranks, so that none continues alone. */
static bg_status share(bg__shadow *s, const char *what, bg_status status)
{
    char text[200];
    snprintf(text, sizeof text, "BG_SHADOW, %s of %.120s", what, bg__graph_name(s->graph));
    return bg__ranks_share(&s->ranks, text, status);
}

/* The last replay; once with times, for the report. That times cannot be taken is no failure of the replay: it runs
 * again without, on all ranks. */
static bg_status run_last_replay(struct bg__replay_shadow *g, bg_graph *graph)
{
    bg__shadow *s = &g->shadow;
    cJSON *timings = g->timed ? NULL : bg__report_part(s->report, "timings");
    bg_status status;

    g->timed = true;
    if (timings != NULL) {
        bg__timing_sort_nodes(&g->nodes);
        status = share(s, "a replay with times", bg__timings_take(graph, s->stream, &g->nodes, timings));
        bg__timing_free(&g->nodes);
        if (status == BG_OK)
            return BG_OK;
        bg__warn("BG_SHADOW: there are no times of a replay of %s: %s", bg__graph_name(graph), bg_last_error());
        BG__TRY(bg__wait_for_stream(s->stream)); /* queued work writes tensors that are restored next */
        BG__TRY(bg__shadow_restore(s));
    }
    status = bg__shadow_run_replay(s);
done:
    return status;
}

/* Runs the pass eagerly from the current memory, and restores memory. */
static bg_status run_eager(struct bg__replay_shadow *g, bg_graph *graph)
{
    bg__shadow *s = &g->shadow;
    bg_status status;

    g->known = false;
    BG__TRY(take_image(g, graph));
    g->known = true;
    BG__TRY(bg__shadow_run_eager(s, g->every_call, g->every_call));
    BG__TRY(bg__shadow_keep(s));
    BG__TRY(bg__shadow_restore(s));
    if (!g->begun) {
        BG__TRY(bg__shadow_set_graph(s, graph));
        BG__TRY(bg__outline_note(s->report, graph));
        g->begun = true;
    }
    bg__shadow_tell_flow(s);
done:
    return status;
}

/* *differs: outputs of the replay do; *fresh: some of them that have not been told. On any rank. */
static bg_status compare_replay(bg__shadow *s, bool *differs, bool *fresh)
{
    bg_status status;

    *differs = false;
    BG__TRY(share(s, "the comparison", compare_outputs(s, differs)));
    *fresh = any_untold(s);
    BG__TRY(bg__shadow_any(s, "the replay differs", differs));
    BG__TRY(bg__shadow_any(s, "new outputs differ", fresh));
done:
    return status;
}

/* Compares call by call, and tells who is at fault. */
static bg_status explain(struct bg__replay_shadow *g, bool differs)
{
    bg__shadow *s = &g->shadow;
    bool found = false;
    bg_status status;

    s->times = g->timed ? NULL : &g->nodes;
    status = judge_calls(s, g->every_call, differs, &found);
    s->times = NULL;
    BG__TRY(share(s, "the walk", status));
    if (found) {
        if (!g->varied && s->earlier[0] == '\0' && !bg__faults_explained(s->report)) /* else that is the cause */
            BG__TRY(bg__suspects_tell_varying(&s->suspects, s->graph, s->report));
        g->varied = true;
        BG__TRY(share(s, "the restoration", bg__shadow_restore(s)));
    }
done:
    return status;
}

/* Leaves memory as after a replay. *replayed: the status of the replay. */
static bg_status shadow_replay(struct bg__replay_shadow *g, bg_graph *graph, bg_status *replayed)
{
    bg__shadow *s = &g->shadow;
    bool differs, fresh;
    bg_status status;

    BG__TRY(share(s, "the eager pass", run_eager(g, graph)));
    *replayed = share(s, "a replay", bg__shadow_run_replay(s));
    if (*replayed != BG_OK)
        return BG_OK;
    BG__TRY(compare_replay(s, &differs, &fresh));
    if (g->every_call || fresh) {
        BG__TRY(explain(g, differs));
        *replayed = run_last_replay(g, graph);
    }
    BG__TRY(share(s, "the races", tell_races(s)));
done:
    return status;
}

bool bg__shadow_undo_replay(const bg_graph *graph)
{
    const struct bg__replay_shadow *g = bg__tools_find(graph)->shadowing;
    if (!g->known)
        return false;
    if (bg__shadow_restore(&g->shadow) == BG_OK)
        return true;
    bg__warn("BG_TRACE: %s", bg_last_error());
    return false;
}

/* No op call has an output: what the nodes write is neither compared nor restored. */
static bool compared_nothing(const bg__shadow *s)
{
    return s->output_count == 0 && bg_report_count(s->report) == 0;
}

bg_status bg__shadow_replay(bg_graph *graph, cudaStream_t stream)
{
    struct bg__replay_shadow *g = bg__tools_find(graph)->shadowing;
    bg__relaxed relaxed = {cudaStreamCaptureModeRelaxed, false};
    bool in_tool = bg__tool_enter();
    char hidden = bg__fail_hide();
    bg_status status, replayed = BG_OK;

    g->shadow.stream = stream;
    BG__TRY(bg__relax_begin(&relaxed)); /* other captures may be running */
    status = shadow_replay(g, graph, &replayed);
done:
    bg__relax_end(relaxed);
    bg__tool_leave(in_tool);
    bg__process_report_shadow_replay(status == BG_OK && replayed == BG_OK && !compared_nothing(&g->shadow));
    if (status != BG_OK) {
        bg__warn("BG_SHADOW: a replay of %s could not be compared with the pass: %s", bg__graph_name(graph),
                 bg_last_error());
        if (g->known && bg__shadow_restore(&g->shadow) != BG_OK)
            bg__warn("BG_SHADOW: %s", bg_last_error());
        replayed = bg__shadow_run_replay(&g->shadow);
    }
    if (bg__report_print_new(g->shadow.report, stderr))
        bg__process_report_add(g->shadow.report);
    if (replayed == BG_OK)
        bg__fail_unhide(hidden);
    return replayed;
}
