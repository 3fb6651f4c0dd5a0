/* Compares a graph with the eager pass, and either with itself, call by call. */
#include "comparison.h"

#include <stdio.h>
#include <string.h>

#include "capture/replay.h"
#include "argument_findings.h"
#include "debug/step/step.h"
#include "debug/trace/timing.h"
#include "replayed_inputs.h"

typedef struct graph_walk {
    bg__shadow *shadow;
    bg__pass_calls *calls, *inner; /* calls that each call is compared with, or added to */
    bool add;
    bool quiet;           /* calls that differ are recorded, and no finding is added */
    bool late;            /* the call is compared after its segment, which ran as a whole */
    const void *together; /* the last segment or run that ran as a whole; its calls are compared after all of them have
                           * run */
    bg__spans spread;     /* differing outputs in `together`, which its later calls have read */
    const bg__call *next; /* the first call that compare_idle_calls has not compared yet */
    const bg__call *varying;
    char name[200];
    bg__timer timer;
} graph_walk;

/* ---- a walk over the graph ---- */

/* If a segment runs as a whole, a later call of it may have overwritten the tensor, which then cannot be compared. */
static bool is_overwritten(const bg__call *call, const bg_tensor *tensor)
{
    const bg__call *next = call;
    while (next != NULL && next->next == NULL)
        next = next->parent;
    for (next = next != NULL ? next->next : NULL; next != NULL; next = bg__call_next(next)) {
        bg__field_tensor t = {0};
        bool has_run = !next->eager && next->kept != NULL && next->segment <= call->end_segment;
        if (!next->eager && next->segment > call->end_segment) /* this call and those after it have not run */
            break;
        while (has_run && bg__field_tensor_next(next->op, next->kept, &t))
            if (t.output && bg__tensor_overlaps(t.tensor, tensor))
                return true;
    }
    return false;
}

static bg_status walk_graph(bg__shadow *s, const bg__walk_options *options)
{
    bool entered = bg__graph_get_facts(s->graph).replaying;
    bg__walk_end end = {.early = false};
    bg_report *unused = NULL;
    bg_status status, left;

    BG__TRY(bg__report_create(&unused, "step", bg__graph_name(s->graph)));
    if (!entered)
        BG__TRY(bg__replay_enter(s->graph, s->stream));
    status = bg__walk(s->graph, s->stream, options, unused, &end);
    if (status == BG_OK && end.early) {
        status = bg__fail(end.what, "%s", end.text);
        bg__error_add_location("%s, call by call", s->function);
    }
    if (!entered) {
        left = bg__replay_leave(s->graph, s->stream, status);
        status = status != BG_OK ? status : left;
    }
done:
    bg_report_destroy(unused);
    return status;
}

/* ---- against the eager run ---- */

/* Sets the call's output to the output of the eager run, so that later calls get the same inputs. Sets it where the
 * body left it, and in the caller's tensor, since it may have been copied there already. */
static bg_status restore_output(const bg__shadow *s, const bg__pass_difference *d)
{
    const void *args = bg__graph_call_args(s->graph, d->call);
    size_t bytes = bg_tensor_bytes(d->field->tensor);
    bg__field_tensor t = {0};
    bg_status status;

    BG__TRY(bg__copy_and_wait(d->field->tensor->data, d->held, bytes, s->stream));
    while (args != NULL && bg__field_tensor_next(d->call->op, args, &t)) {
        bool reached;
        if (strcmp(t.name, d->field->name) != 0 || t.tensor->data == d->field->tensor->data)
            continue;
        BG__TRY(bg__tensor_is_accessible(t.tensor, &reached));
        if (reached)
            BG__TRY(bg__copy_and_wait(t.tensor->data, d->held, bytes, s->stream));
    }
done:
    return status;
}

static bool is_beyond_tolerance(const bg__pass_difference *d)
{
    return d->shape || d->found.beyond > 0;
}

/* Whether the call has read a differing output of an earlier call in the same segment or run, which ran as a whole: its
 * input was not restored in between. */
static bg_status follows_earlier_difference(graph_walk *w, const bg__pass_difference *d, bool *spread)
{
    const void *args = bg__graph_call_args(w->shadow->graph, d->call), *together;
    bg__field_tensor t = {0};
    bg_status status = BG_OK;

    *spread = false;
    if (!w->late && d->call->run == NULL)
        return BG_OK;
    together = w->late ? (const void *)bg__graph_segment(w->shadow->graph, d->call->end_segment) : d->call->run;
    if (w->together != together)
        bg__spans_free(&w->spread);
    w->together = together;
    while (args != NULL && bg__field_tensor_next(d->call->op, args, &t)) {
        uintptr_t begin = (uintptr_t)t.tensor->data;
        *spread |= t.input && bg__spans_overlap(&w->spread, begin, begin + bg_tensor_bytes(t.tensor));
    }
    if (is_beyond_tolerance(d))
        BG__TRY(bg__spans_add_tensor(&w->spread, d->field->tensor));
done:
    return status;
}

/* at: the call at fault if the graph is at fault. *report: a finding may be added. */
static bg_status classify_difference(graph_walk *w, const bg__call *at, const bg__pass_difference *d, bool *report)
{
    bg__suspects *suspects = &w->shadow->suspects;
    bg__suspect *suspect;
    bool spread;
    bg_status status;

    *report = false;
    BG__TRY(follows_earlier_difference(w, d, &spread));
    if (!is_beyond_tolerance(d) || spread)
        goto done;
    *report = !w->quiet && !bg__suspects_is_excused(suspects, w->shadow->graph, at);
    if (!w->quiet)
        goto done;
    BG__TRY(bg__suspects_find_or_add(suspects, at, &suspect));
    if (suspect->field[0] == '\0')
        memcpy(suspect->field, d->field->name, sizeof suspect->field);
    suspect->differs = true;
    suspect->large |= d->shape || !bg__is_rounding(d->tensor, &d->found);
    suspect->digests[suspects->walk > 0] += d->shape ? 0 : d->found.digest[1];
    suspect->counts[suspects->walk > 0] += d->shape ? 0 : d->found.beyond;
    if (!d->shape && d->found.absolute > suspect->errors[suspects->walk > 0])
        suspect->errors[suspects->walk > 0] = d->found.absolute;
done:
    return status;
}

static bg_status report_call_difference(void *user, const bg__pass_difference *d)
{
    graph_walk *w = user;
    bg__shadow *s = w->shadow;
    char what[200];
    bool report;
    bg_status status;

    BG__TRY(classify_difference(w, d->call, d, &report));
    snprintf(what, sizeof what, "%.60s of %.90s", d->field->name, d->call->name);
    if (report)
        BG__TRY(bg__call_faults_add(s, d->call, what, &d->compared, d->shape ? NULL : &d->found));
    if (d->shape)
        goto done;
    if (!s->noted)
        BG__TRY(bg__comparison_record(s->report, d->call, d->field->name, &d->compared, "eager", &d->found));
    if (d->found.differing > 0)
        BG__TRY(restore_output(s, d));
done:
    return status;
}

/* Adds a fault of the outer call, which has changed an input of an inner call. */
static bg_status report_outer_call(void *user, const bg__pass_difference *d)
{
    graph_walk *w = user;
    bg__shadow *s = w->shadow;
    char what[200];
    bool report;
    bg_status status = BG_OK;

    if (d->shape || d->found.differing == 0)
        return BG_OK;
    BG__TRY(classify_difference(w, d->call->parent, d, &report));
    snprintf(what, sizeof what, "%.60s, an input of %.90s,", d->field->name, d->call->name);
    if (report)
        BG__TRY(bg__call_faults_add(s, d->call->parent, what, &d->compared, &d->found));
    BG__TRY(restore_output(s, d));
done:
    return status;
}

/* stream: the stream of the call, which may be a side stream of the pass. */
static bg__pass_comparison make_comparison(bg__shadow *s, cudaStream_t stream,
                                           bg_status (*each)(void *user, const bg__pass_difference *d), void *user)
{
    return (bg__pass_comparison){&s->tolerances, s->room, stream, each, user};
}

static bg_status compare_call(void *user, const bg__call *call, const void *args, bool late)
{
    graph_walk *w = user;
    const bg__pass_comparison c = make_comparison(w->shadow, w->shadow->stream, report_call_difference, w);
    bg_status status = BG_OK;

    BG__TRY(bg__shadow_wait_after_break(w->shadow, call, args, w->shadow->stream));
    w->late = late;
    BG__TRY(bg__pass_calls_compare(w->calls, call, args, late ? is_overwritten : bg__run_writes_after, &c));
    w->late = false;
done:
    return status;
}

/* The walk skips calls without nodes. This compares those before `until` (NULL: all that are left), which have done
 * nothing when `until` begins. */
static bg_status compare_idle_calls(graph_walk *w, const bg__call *until)
{
    const bg__call_index *calls = &w->shadow->graph_calls;
    const bg__call_key *next = w->next != NULL ? bg__call_index_find_call(calls, w->next) : NULL;
    const bg__call_key *end = until != NULL ? bg__call_index_find_call(calls, until) : calls->keys + calls->count;
    bg_status status = BG_OK;

    if (next == NULL || end < next) /* all calls before `until` have been compared */
        return BG_OK;
    for (; w->next != until; w->next = bg__call_next(w->next))
        if (w->next->kept != NULL && bg__call_is_idle(w->next)) {
            BG__TRY(bg__inputs_compare(w->shadow, w->next, w->next->kept));
            BG__TRY(compare_call(w, w->next, w->next->kept, false));
        }
done:
    return status;
}

/* Before a call runs: its inputs must be those of the eager pass. */
static bg_status compare_before_call(void *user, const bg__call *call, const void *args)
{
    graph_walk *w = user;
    const bg__pass_comparison c = make_comparison(w->shadow, w->shadow->stream, report_outer_call, w);
    bg_status status;

    BG__TRY(compare_idle_calls(w, call));
    if (call->parent->op != NULL)
        BG__TRY(bg__pass_calls_compare(w->inner, call, args, bg__run_writes_before, &c));
    BG__TRY(bg__inputs_compare(w->shadow, call, args));
done:
    return status;
}

static bg_status record_time(void *user, const bg__step_node *node, const bg__call *call)
{
    const graph_walk *w = user;
    return bg__timing_add_node(w->shadow->times, node, call, w->timer.us);
}

static bg_status compare_calls(bg__shadow *s, bool quiet)
{
    graph_walk w = {.shadow = s,
                    .calls = &s->calls,
                    .inner = &s->inner,
                    .quiet = quiet,
                    .next = bg__call_next(bg__graph_root(s->graph))};
    bg__walk_options options = {
        .before = compare_before_call, .after = compare_call, .user = &w, .order = quiet ? s->suspects.walk : 0};
    bg_status status;

    bg__call_faults_reset(s);
    if (s->times != NULL && bg__timer_create(&w.timer) == BG_OK) {
        options.timed = record_time;
        options.timer = &w.timer;
    } else if (s->times != NULL) {
        bg__warn("BG_SHADOW: there are no times of the nodes of %s: %s", bg__graph_name(s->graph), bg_last_error());
    }
    BG__TRY(walk_graph(s, &options));
    s->times = NULL;
    BG__TRY(compare_idle_calls(&w, NULL));
    s->noted = true;
    if (!quiet)
        BG__TRY(bg__call_faults_report(s));
done:
    bg__timer_destroy(&w.timer);
    bg__spans_free(&w.spread);
    return status;
}

bg_status bg__shadow_compare_calls(bg__shadow *s)
{
    return compare_calls(s, false);
}

bg_status bg__shadow_find_suspects(bg__shadow *s)
{
    for (size_t i = 0; i < s->suspects.count; i++) {
        bg__suspect *suspect = &s->suspects.list[i];
        suspect->differs &= s->suspects.walk > 0;
        suspect->digests[s->suspects.walk > 0] = 0;
        suspect->counts[s->suspects.walk > 0] = 0;
        suspect->errors[s->suspects.walk > 0] = 0;
    }
    return compare_calls(s, true);
}

/* ---- against another run of the same side ---- */

static bg_status record_varying_call(void *user, const bg__pass_difference *d)
{
    graph_walk *w = user;
    if (w->varying == NULL && (d->shape || d->found.beyond > 0)) {
        w->varying = d->call;
        snprintf(w->name, sizeof w->name, "%.60s of %.90s", d->field->name, d->call->name);
    }
    return BG_OK;
}

static bg_status record_varying_outer_call(void *user, const bg__pass_difference *d)
{
    graph_walk *w = user;
    if (w->varying == NULL && (d->shape || d->found.beyond > 0)) {
        w->varying = d->call->parent;
        snprintf(w->name, sizeof w->name, "%.60s, an input of %.90s", d->field->name, d->call->name);
    }
    return BG_OK;
}

static bg_status add_or_compare_inputs(graph_walk *w, const bg__call *call, const void *args, cudaStream_t stream)
{
    const bg__pass_comparison c = make_comparison(w->shadow, stream, record_varying_outer_call, w);
    if (call->parent->op == NULL)
        return BG_OK;
    if (w->add)
        return bg__pass_calls_add(w->inner, call, args, true, stream);
    return bg__pass_calls_compare(w->inner, call, args, bg__run_writes_before, &c);
}

static bg_status add_or_compare_outputs(graph_walk *w, const bg__call *call, const void *args, bool late,
                                        cudaStream_t stream)
{
    const bg__pass_comparison c = make_comparison(w->shadow, stream, record_varying_call, w);
    if (w->add)
        return bg__pass_calls_add(w->calls, call, args, true, stream);
    return bg__pass_calls_compare(w->calls, call, args, late ? is_overwritten : bg__run_writes_after, &c);
}

static bg_status before_pass_call(void *user, const bg__call *call, const void *args, cudaStream_t stream)
{
    return add_or_compare_inputs(user, call, args, stream);
}

static bg_status after_pass_call(void *user, const bg__call *call, const void *args, cudaStream_t stream)
{
    return add_or_compare_outputs(user, call, args, false, stream);
}

/* The walk runs every node on the shadow's stream. */
static bg_status before_graph_call(void *user, const bg__call *call, const void *args)
{
    graph_walk *w = user;
    return add_or_compare_inputs(w, call, args, w->shadow->stream);
}

static bg_status after_graph_call(void *user, const bg__call *call, const void *args, bool late)
{
    graph_walk *w = user;
    return add_or_compare_outputs(w, call, args, late, w->shadow->stream);
}

/* Runs the eager pass or the graph once. add: adds its calls; otherwise compares them with the added calls. */
static bg_status run_and_compare(bg__shadow *s, graph_walk *w, bool eager, bool add)
{
    const bg__walk_options options = {.before = before_graph_call, .after = after_graph_call, .user = w};
    const bg__op_observer watcher = {before_pass_call, after_pass_call, w};
    bg_status status;

    w->add = add;
    s->eager.also = &watcher;
    status = eager ? bg__shadow_run_eager(s, false, false) : walk_graph(s, &options);
    s->eager.also = NULL;
    return status;
}

/* Sets w->varying to the first call whose tensors differ between two runs. */
static bg_status find_varying_call(bg__shadow *s, graph_walk *w, bool eager)
{
    bg__pass_calls calls = {0}, inner = {.begun = true};
    bg_status status;

    w->calls = &calls;
    w->inner = &inner;
    BG__TRY(run_and_compare(s, w, eager, true));
    BG__TRY(bg__shadow_restore(s));
    BG__TRY(run_and_compare(s, w, eager, false));
done:
    w->calls = w->inner = NULL;
    bg__pass_calls_free(&calls);
    bg__pass_calls_free(&inner);
    return status;
}

bg_status bg__shadow_report_nondeterminism(bg__shadow *s, bool eager, bool known)
{
    graph_walk w = {.shadow = s};
    bg_status status;

    BG__TRY(bg__shadow_restore(s));
    BG__TRY(find_varying_call(s, &w, eager));
    if (w.varying == NULL && !known)
        goto done;
    bg__report_add(s->report, "nondeterministic", BG_NOTE, w.varying, NULL,
                   "make the pass deterministic first: list in options.state what it keeps from run to run, and set "
                   "a tolerance where atomic sums differ",
                   "%s is nondeterministic: two runs from the same contents of memory differ%s%s%s",
                   eager ? "the eager pass" : "the replay", w.varying != NULL ? ", first in " : "", w.name,
                   w.varying != NULL ? ""
                                     : ", but no op call differs if the tool waits for the device after each call");
done:
    return status;
}
