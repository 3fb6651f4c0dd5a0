#include "comparison.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/replay.h"
#include "debug/graph/tool_state.h"
#include "debug/memory/allocate.h"

enum { REPEATS_MAX = 1000 };

/* ---- options ---- */

static bg_status copy_options(bg__shadow *s, const bg_compare_options *from)
{
    bg_compare_options *to = &s->options;
    const bg_tolerance *t = &to->tolerance;
    bg_status status = BG_OK;

    *to = (bg_compare_options)BG_COMPARE_OPTIONS_INIT;
    if (from != NULL)
        BG__TRY(bg__struct_copy_in(to, from, sizeof *to, offsetof(bg_compare_options, outputs), "options",
                                   "BG_COMPARE_OPTIONS_INIT"));
    BG__TRY(bg__ranks_copy_table(&s->ranks, to->ranks, "options.ranks"));
    if (to->repeats == 0)
        to->repeats = 1;
    if (to->repeats < 0 || to->repeats > REPEATS_MAX)
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s: options.repeats is %d; it must be 0 to %d", s->function,
                          to->repeats, REPEATS_MAX);
    else if (!(t->absolute >= 0) || !(t->relative >= 0))
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT,
                          "%s: options.tolerance is %g absolute, %g relative; it cannot be negative", s->function,
                          t->absolute, t->relative);
    else if ((to->outputs == NULL && to->outputs_count > 0) || (to->state == NULL && to->state_count > 0))
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT, "%s: options.%s is NULL, and its count is not 0", s->function,
                          to->outputs == NULL && to->outputs_count > 0 ? "outputs" : "state");
done:
    return status;
}

static bg_status snapshot_tensors(bg__shadow *s, const bg_tensor *tensors, size_t count, const char *what)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < count; i++) {
        uintptr_t begin = (uintptr_t)tensors[i].data;
        bool reached = false;
        if (bg__tensor_is_valid(&tensors[i]))
            BG__TRY(bg__tensor_is_accessible(&tensors[i], &reached));
        if (!reached)
            return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                            "%s: options.%s[%zu] is not a valid tensor in memory that the device can access",
                            s->function, what, i);
        BG__TRY(bg__snapshot_add(&s->image, begin, begin + bg_tensor_bytes(&tensors[i]), s->stream));
    }
done:
    return status;
}

/* Adds the tolerances of rules to the calls that they replace. The items of the program and of its user come behind
 * these, and so override them. */
static bg_status add_rule_tolerances(bg__shadow *s, const bg_graph *graph)
{
    bg__tolerances own = s->tolerances, *all = &s->tolerances;
    bg_status status = BG_OK;

    *all = (bg__tolerances){.base = own.base};
    for (const bg__call *run = bg__graph_root(graph)->runs; run != NULL; run = run->last_run)
        for (int i = 0; run->tolerance != NULL && i < run->member_count; i++)
            BG__TRY(bg__tolerances_add_call(all, run->members[i], run->tolerance));
    for (size_t i = 0; i < own.count; i++) {
        BG__TRY(BG__ARRAY_GROW(all->list, all->count, all->capacity, "tolerances"));
        all->list[all->count++] = own.list[i];
        own.list[i].name = NULL;
    }
done:
    bg__tolerances_free(&own);
    return status;
}

bg_status bg__shadow_create(bg__shadow *s, const char *tool, const char *function, const bg__shadow_pass *pass,
                            const bg_compare_options *options)
{
    bg_status status;

    s->function = function;
    s->stream = pass->stream;
    s->pass = *pass;
    BG__TRY(copy_options(s, options));
    s->tolerances.base = s->options.tolerance;
    BG__TRY(bg__tolerances_add(&s->tolerances, s->options.tolerances, "options.tolerances"));
    BG__TRY(bg__tolerances_add(&s->tolerances, getenv("BG_TOLERANCE"), "BG_TOLERANCE"));
    BG__TRY(bg__report_create(&s->report, tool, pass->name));
    BG__TRY(bg__device_alloc(BG__COMPARED_TOGETHER * sizeof *s->room, (void **)&s->room));
    BG__TRY(snapshot_tensors(s, s->options.outputs, s->options.outputs_count, "outputs"));
    BG__TRY(snapshot_tensors(s, s->options.state, s->options.state_count, "state"));
    BG__TRY(bg__eager_pass_create(&s->eager, pass->name, pass->forward, pass->user, &pass->captured, &s->image));
    s->references = (bg__references){.report = s->report, .tolerances = &s->tolerances, .room = s->room};
done:
    return status;
}

void bg__shadow_free(bg__shadow *s)
{
    bg__references_free(&s->references);
    bg__eager_pass_free(&s->eager);
    bg__results_free(&s->graph_results);
    bg__pass_calls_free(&s->calls);
    bg__pass_calls_free(&s->inner);
    bg__inputs_free(&s->inputs);
    bg__call_index_free(&s->graph_calls);
    bg__snapshot_free(&s->image);
    bg__snapshot_free(&s->results);
    bg__suspects_free(&s->suspects);
    bg__tolerances_free(&s->tolerances);
    bg__device_free(s->room);
    bg_report_destroy(s->report);
    free(s->outputs);
    free(s->faults);
    *s = (bg__shadow){0};
}

/* ---- the graph ---- */

bg_status bg__shadow_capture(bg__shadow *s, const bg__shadow_pass *pass, const char *eager, bg_graph **graph)
{
    bg_capture_options options = BG_CAPTURE_OPTIONS_INIT;
    bool in_tool = bg__tool_enter();
    bg_status status, restored;

    options.name = pass->name;
    options.launch_segments = false;
    options.debug = BG_DEBUG_OFF;
    options.check = BG_REPLAY_CHECK_OFF;
    options.zero_tail = pass->captured.zero_tail;
    options.ranks = bg__ranks_table(&s->ranks);
    bg__override_set_forced(eager);
    /* The capture mode of the thread decides what bodies and rules may do in a capture. */
    bg__relaxed_mode_end(s->relaxed);
    status = bg_capture_forward(graph, pass->forward, pass->user, s->stream, &options);
    if (s->relaxed.exchanged)
        s->relaxed = bg__relaxed_mode_try_begin();
    bg__override_set_forced(NULL);
    bg__tool_leave(in_tool);
    if (status != BG_OK) {
        char text[1024];
        s->ranks.parted = true; /* all ranks have failed */
        bg__error_add_location("%s, the capture", s->function);
        snprintf(text, sizeof text, "%s", bg_last_error());
        (void)bg__shadow_restore(s);
        bg__error_set_text(text);
        return status;
    }
    restored = bg__shadow_restore(s);
    if (restored != BG_OK) {
        bg_graph_destroy(*graph);
        *graph = NULL;
    }
    return restored;
}

/* An output of an inner call is a result only if its outermost call has no outputs; otherwise it is scratch. */
static bool outer_call_has_outputs(const bg__call *call)
{
    if (call->parent->op == NULL)
        return false;
    while (call->parent->op != NULL)
        call = call->parent;
    return bg__output_count(call->op) > 0;
}

static bg_status index_calls(bg__shadow *s)
{
    bg_status status = BG_OK;
    bg__call_index_clear(&s->graph_calls);
    for (const bg__call *call = bg__call_next(bg__graph_root(s->graph)); call != NULL; call = bg__call_next(call))
        BG__TRY(bg__call_index_add(&s->graph_calls, call->name, call));
done:
    return status;
}

const bg__call *bg__shadow_find_call(const bg__shadow *s, const char *name)
{
    const bg__call_key *key = bg__call_index_find_name(&s->graph_calls, name);
    return key != NULL ? key->call : NULL;
}

static bg_status list_outputs(bg__shadow *s)
{
    const bg_compare_options *o = &s->options;
    bg_status status = BG_OK;

    if (o->outputs == NULL)
        BG__TRY(bg__results_find(&s->graph_results, s->graph));
    BG__TRY(BG__ALLOCATE(s->outputs, o->outputs_count + s->graph_results.count, "outputs of a pass"));
    for (size_t i = 0; o->outputs != NULL && i < o->outputs_count; i++) {
        bg__shadow_output *out = &s->outputs[s->output_count++];
        out->tensor = &o->outputs[i];
        snprintf(out->name, sizeof out->name, "outputs[%zu]", i);
    }
    for (size_t i = 0; i < s->graph_results.count; i++) {
        const bg__result *r = &s->graph_results.list[i];
        bg__shadow_output *out = &s->outputs[s->output_count];
        if (outer_call_has_outputs(r->call))
            continue;
        s->output_count++;
        out->field = r->field;
        out->tensor = r->field.tensor;
        out->call = r->call;
        snprintf(out->name, sizeof out->name, "%.60s of %.90s", r->field.name, r->call->name);
    }
done:
    return status;
}

/* Finds the same outputs in another graph of the pass. Which calls are eager there does not change the results. */
static void find_outputs(bg__shadow *s)
{
    for (size_t i = 0; i < s->output_count; i++) {
        bg__shadow_output *out = &s->outputs[i];
        const bg__call *call = out->call != NULL ? bg__shadow_find_call(s, out->call->name) : NULL;
        bg__field_tensor t = {0};
        const void *args;
        if (out->call == NULL)
            continue;
        out->tensor = NULL;
        args = call != NULL ? bg__graph_call_args(s->graph, call) : NULL;
        while (args != NULL && bg__field_tensor_next(call->op, args, &t))
            if (strcmp(t.name, out->field.name) == 0)
                out->tensor = t.tensor;
    }
}

/* Finds each output in the kept eager run. */
static void find_expected(bg__shadow *s)
{
    for (size_t i = 0; i < s->output_count; i++) {
        bg__shadow_output *out = &s->outputs[i];
        const bg__pass_call *call = out->call ? bg__pass_calls_find(&s->calls, out->call->name) : NULL;
        uintptr_t begin;
        int place;
        out->eager = out->call == NULL ? out->tensor : NULL;
        if (call != NULL)
            out->eager = bg__pass_call_find_tensor(call, out->field.name, &place);
        begin = out->eager != NULL ? (uintptr_t)out->eager->data : 0;
        out->expected = begin != 0 ? bg__snapshot_find(&s->results, begin, begin + bg_tensor_bytes(out->eager)) : NULL;
    }
}

bg_status bg__shadow_set_graph(bg__shadow *s, bg_graph *graph)
{
    bg__footprint footprint = {0};
    bg_status status;

    s->graph = graph;
    BG__TRY(add_rule_tolerances(s, graph));
    BG__TRY(index_calls(s));
    BG__TRY(bg__footprint_compute(&footprint, graph));
    BG__TRY(bg__snapshot_add_all(&s->image, &footprint.all, s->stream));
    if (s->outputs == NULL)
        BG__TRY(list_outputs(s));
    else
        find_outputs(s);
    BG__TRY(bg__shadow_pair_calls(s));
    find_expected(s);
done:
    bg__footprint_free(&footprint);
    return status;
}

/* ---- runs ---- */

enum { OUTPUTS_SEEN = 32 }; /* outputs of one call */

/* Digests of the outputs of a call before and after a wait. */
typedef struct late_write_check {
    unsigned long long digests[OUTPUTS_SEEN];
    size_t at;
    bool waited;
    char field[96]; /* the first field that has changed */
} late_write_check;

static bg_status digest_output(void *user, const bg__pass_difference *d)
{
    late_write_check *w = user;
    if (d->shape || w->at >= OUTPUTS_SEEN)
        return BG_OK;
    if (!w->waited)
        w->digests[w->at] = d->found.digest[1];
    else if (w->digests[w->at] != d->found.digest[1] && w->field[0] == '\0')
        memcpy(w->field, d->field->name, sizeof w->field);
    w->at++;
    return BG_OK;
}

bg_status bg__shadow_wait_after_break(bg__shadow *s, const bg__call *call, const void *args, cudaStream_t stream)
{
    late_write_check w = {.at = 0};
    const bg__pass_comparison c = {&s->tolerances, s->room, stream, digest_output, &w};
    const bg__call *same = s->joins ? bg__shadow_find_call(s, call->name) : NULL;
    bg__suspect *suspect;
    bool waits;
    bg_status status = BG_OK;

    if (same == NULL || !same->eager || !bg__eager_pass_can_synchronize())
        return BG_OK;
    BG__TRY(bg__eager_pass_has_later_wait(s->graph, same, &waits));
    if (waits) {
        status = bg__wait_for_device(s->function);
        goto done;
    }
    BG__TRY(bg__pass_calls_compare(&s->calls, call, args, NULL, &c)); /* this waits for stream */
    BG__TRY(bg__wait_for_device(s->function));
    w.waited = true;
    w.at = 0;
    BG__TRY(bg__pass_calls_compare(&s->calls, call, args, NULL, &c));
    if (w.field[0] == '\0')
        goto done;
    BG__TRY(bg__suspects_find_or_add(&s->suspects, same, &suspect));
    suspect->not_joined = true;
    memcpy(suspect->field, w.field, sizeof suspect->field);
done:
    return status;
}

bg_status bg__shadow_run_eager(bg__shadow *s, bool record, bool references)
{
    s->eager.references = references ? &s->references : NULL;
    s->eager.captured = s->graph;
    if (s->graph != NULL)
        bg__graph_copy_context(s->eager.graph, s->graph);
    return bg__eager_pass_run(&s->eager, s->stream, record, s->function);
}

bg_status bg__shadow_run_replay(const bg__shadow *s)
{
    bool entered = bg__graph_get_facts(s->graph).replaying; /* this is called inside a replay of the graph */
    bg_status status, waited;

    if (!entered)
        BG__TRY(bg__replay_enter(s->graph, s->stream));
    status = bg__replay_steps(s->graph, s->stream);
    if (!entered)
        status = bg__replay_leave(s->graph, s->stream, status);
    if (status != BG_OK) {
        char text[1024];
        snprintf(text, sizeof text, "%s", bg_last_error());
        (void)bg__wait_for_stream(s->stream); /* queued work writes tensors that are restored next */
        bg__error_set_text(text);
        return status;
    }
    waited = bg__wait_for_stream(s->stream);
    if (waited != BG_OK)
        bg__error_add_location("%s, the replay", s->function);
    return waited;
done:
    return status;
}

static void swap_kept_calls(bg__pass_calls *kept, bg__pass_calls *calls)
{
    const bg__pass_calls before = *kept;
    *kept = *calls;
    *calls = before;
    calls->begun = kept->begun;
    bg__pass_calls_clear(calls);
}

static void swap_kept_inputs(bg__inputs *kept, bg__inputs *inputs)
{
    const bg__inputs before = *kept;
    *kept = *inputs;
    *inputs = before;
    bg__inputs_clear(inputs);
}

bg_status bg__shadow_keep_eager_run(bg__shadow *s)
{
    bg__spans written = {0};
    bool fits = true;
    bg_status status;

    BG__TRY(bg__eager_pass_add_outputs(&s->eager, &written));
    for (size_t i = 0; i < s->options.outputs_count; i++)
        BG__TRY(bg__spans_add_tensor(&written, &s->options.outputs[i]));
    if (s->results.count > 0)
        BG__TRY(bg__snapshot_refresh(&s->results, s->stream));
    for (size_t i = 0; i < written.count; i++)
        fits &= bg__snapshot_find(&s->results, written.list[i].begin, written.list[i].end) != NULL;
    if (!fits)
        bg__snapshot_free(&s->results);
    BG__TRY(bg__snapshot_add_all(&s->results, &written, s->stream));
    swap_kept_calls(&s->calls, &s->eager.calls);
    swap_kept_calls(&s->inner, &s->eager.inner);
    swap_kept_inputs(&s->inputs, &s->eager.inputs);
    if (s->graph != NULL)
        BG__TRY(bg__shadow_pair_calls(s));
    find_expected(s);
    BG__TRY(bg__wait_for_stream(s->stream));
done:
    bg__spans_free(&written);
    return status;
}

bg_status bg__shadow_restore(const bg__shadow *s)
{
    return bg__snapshot_restore(&s->image, NULL, s->stream);
}

bg_status bg__shadow_any_rank(bg__shadow *s, const char *what, bool *flag)
{
    char text[160];
    snprintf(text, sizeof text, "%s, whether %s", s->function, what);
    return bg__ranks_any(&s->ranks, text, flag);
}

bg_status bg__shadow_finish(bg__shadow *s, bg_status status, bg_report **report)
{
    char text[1024];
    bg_status restored = BG_OK;

    snprintf(text, sizeof text, "the end of %s", s->function);
    status = bg__ranks_barrier_after(&s->ranks, text, status);
    snprintf(text, sizeof text, "%s", bg_last_error());
    if (s->stream != NULL) /* otherwise nothing has begun */
        restored = bg__shadow_restore(s);
    if (status != BG_OK)
        bg__error_set_text(text);
    else
        status = restored;
    if (status == BG_OK) {
        *report = s->report;
        s->report = NULL;
    }
    bg__shadow_free(s);
    return status;
}
