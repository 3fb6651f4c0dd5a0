/* The same inputs eagerly and by replay. */
#include <breakgraph/shadow.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "poison.h"
#include "results.h"
#include "shadow.h"
#include "step.h"

enum { REPEATS_MAX = 1000 };

/* What is compared. */
typedef struct output {
    bg_tensor tensor;
    char name[160];       /* "outputs[0]", "y of scale#3" */
    const bg__call *call; /* NULL: the program's own */
    void *eager;          /* device: what the eager run left */
    bool told, varies;
} output;

/* What an op call left in the eager walk. */
typedef struct record {
    char *call;
    char name[96];
    bg_tensor shape;
    void *held; /* host */
} record;

typedef struct shadow {
    const bg__twice_pass *pass;
    cudaStream_t stream;
    bg_compare_options options;
    bg_report *report;
    bg_graph *graph, *eager; /* eager: every op is a break */
    bg__footprint footprint;
    bg__image image;
    bgk_difference *room; /* device */
    output *outputs;
    size_t output_count;
    record *records;
    size_t record_count, record_capacity, next;
    size_t calls_that_differ;
    bool playing; /* the captured walk: compare, and do not record */
} shadow;

/* ---- what is asked for ---- */

static bg_status take_options(bg_compare_options *to, const bg_compare_options *from)
{
    const bg_tolerance *t = &to->tolerance;
    bg_status status = BG_OK;

    *to = (bg_compare_options)BG_COMPARE_OPTIONS_INIT;
    if (from != NULL)
        BG__TRY(bg__sized_take(to, from, sizeof *to, offsetof(bg_compare_options, outputs), "options",
                               "BG_COMPARE_OPTIONS_INIT"));
    if (to->repeats == 0)
        to->repeats = 1;
    if (to->repeats < 0 || to->repeats > REPEATS_MAX)
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_shadow: options.repeats is %d; allowed are 0 to %d",
                          to->repeats, REPEATS_MAX);
    else if (!(t->absolute >= 0) || !(t->relative >= 0))
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT,
                          "bg_shadow: options.tolerance is %g absolute, %g relative; it cannot be negative",
                          t->absolute, t->relative);
    else if ((to->outputs == NULL && to->outputs_count > 0) || (to->state == NULL && to->state_count > 0))
        status = bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_shadow: options.%s is NULL, and its count is not 0",
                          to->outputs == NULL && to->outputs_count > 0 ? "outputs" : "state");
done:
    return status;
}

static bg_status check_tensors(const bg_tensor *tensors, size_t count, const char *what)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < count; i++) {
        bool reached = false;
        if (bg__tensor_is_valid(&tensors[i]))
            BG__TRY(bg__tensor_reach(&tensors[i], &reached));
        if (!reached)
            return bg__fail(BG_ERROR_INVALID_ARGUMENT,
                            "bg_shadow: options.%s[%zu] is no valid tensor in memory that the device reaches", what, i);
    }
done:
    return status;
}

/* ---- the two graphs ---- */

static bg_status capture(const shadow *s, bg_graph **graph, bg_debug debug)
{
    bg_capture_options options = s->pass->options;
    options.name = debug == BG_DEBUG_OPS ? "the eager pass" : "the captured pass";
    options.launch_segments = false;
    options.debug = debug;
    options.check = BG_REPLAY_CHECK_OFF;
    return bg_capture_forward(graph, s->pass->forward, s->pass->user, s->stream, &options);
}

static bool is_own(const bg_graph *graph, const bg_tensor *tensor)
{
    for (const bg__call *call = bg__call_next(&graph->root); call != NULL; call = bg__call_next(call))
        for (int i = 0; i < call->own.count; i++)
            if ((uintptr_t)tensor->data - (uintptr_t)call->own.blocks[i].ptr < call->own.blocks[i].bytes)
                return true;
    return false;
}

static bg_status list_outputs(shadow *s)
{
    const bg_compare_options *o = &s->options;
    bg__results results = {0};
    bg_status status = BG_OK;

    if (o->outputs == NULL)
        BG__TRY(bg__results_take(&results, s->graph));
    s->outputs = calloc(o->outputs_count + results.count + 1, sizeof *s->outputs);
    if (s->outputs == NULL) {
        status = bg__fail(BG_ERROR_OUT_OF_MEMORY, "no host memory for the outputs of a pass");
        goto done;
    }
    for (size_t i = 0; o->outputs != NULL && i < o->outputs_count; i++) {
        output *out = &s->outputs[s->output_count++];
        out->tensor = o->outputs[i];
        snprintf(out->name, sizeof out->name, "outputs[%zu]", i);
    }
    for (size_t i = 0; i < results.count; i++) {
        const bg__result *r = &results.list[i];
        output *out = &s->outputs[s->output_count];
        if (is_own(s->graph, r->field.tensor)) /* an eager run has none of the graph's memory */
            continue;
        out->tensor = *r->field.tensor;
        out->call = r->call;
        snprintf(out->name, sizeof out->name, "%.60s of %.90s", r->field.name, r->call->name);
        s->output_count++;
    }
done:
    bg__results_free(&results);
    return status;
}

static bg_status add_spans(bg__spans *spans, const bg_tensor *tensors, size_t count)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < count; i++)
        BG__TRY(bg__spans_add(spans, (uintptr_t)tensors[i].data,
                              (uintptr_t)tensors[i].data + bg_tensor_bytes(&tensors[i])));
done:
    return status;
}

/* What either way may write, as it is now. */
static bg_status take_image(shadow *s)
{
    bg__footprint eager = {0};
    bg_status status;

    BG__TRY(bg__footprint_take(&s->footprint, s->graph));
    BG__TRY(bg__footprint_take(&eager, s->eager));
    BG__TRY(bg__spans_add_all(&s->footprint.all, &eager.all));
    for (size_t i = 0; i < s->output_count; i++)
        BG__TRY(add_spans(&s->footprint.all, &s->outputs[i].tensor, 1));
    BG__TRY(add_spans(&s->footprint.all, s->options.state, s->options.state_count));
    BG__TRY(bg__image_take(&s->image, &s->footprint.all, s->stream));
done:
    bg__footprint_free(&eager);
    return status;
}

/* ---- both ways, as a whole ---- */

static bg_status run_eagerly(const shadow *s)
{
    bg_status status;
    BG__TRY(bg__image_restore(&s->image, NULL, s->stream));
    status = s->pass->forward(s->pass->user, s->stream);
    bg__pending_note(); /* it may have left an error of its own */
    if (status != BG_OK) {
        if (bg_last_error()[0] == '\0')
            bg__fail(status, "the forward pass returned %s (%s)", bg_status_name(status), bg_status_text(status));
        bg__fail_where("bg_shadow, eagerly");
        goto done;
    }
    BG__TRY(bg__wait_for_device("bg_shadow"));
done:
    return status;
}

static bg_status run_replay(const shadow *s)
{
    bg_status status;
    BG__TRY(bg__image_restore(&s->image, NULL, s->stream));
    BG__TRY(bg_replay(s->graph, s->stream));
    BG__TRY(bg__wait_for_device("bg_shadow"));
done:
    return status;
}

static bg_status keep_outputs(shadow *s, bool first)
{
    static const bg_tolerance bits = {0, 0, 0};
    bg_status status = BG_OK;

    for (size_t i = 0; i < s->output_count; i++) {
        output *out = &s->outputs[i];
        size_t bytes = bg_tensor_bytes(&out->tensor);
        bgk_difference found;
        if (first) {
            BG__TRY(bg__device_alloc(bytes, &out->eager));
            BG__TRY_CUDA(cudaMemcpyAsync(out->eager, out->tensor.data, bytes, cudaMemcpyDefault, s->stream));
            BG__TRY_CUDA(cudaStreamSynchronize(s->stream));
            continue;
        }
        BG__TRY(bg__compare(&out->tensor, out->eager, out->tensor.data, &bits, s->room, s->stream, &found));
        if (found.differing == 0 || out->varies)
            continue;
        out->varies = true;
        bg__report_add(s->report, "not-repeatable", BG_NOTE, out->call, out->tensor.data,
                       "give what the pass keeps from run to run as options.state; sums by atomics may also differ",
                       "%s differs in %llu elements between two eager runs that begin alike", out->name,
                       found.differing);
    }
done:
    return status;
}

static bg_status compare_outputs(shadow *s)
{
    bg_status status = BG_OK;
    char text[800];

    for (size_t i = 0; i < s->output_count; i++) {
        output *out = &s->outputs[i];
        bgk_difference found;
        BG__TRY(
            bg__compare(&out->tensor, out->eager, out->tensor.data, &s->options.tolerance, s->room, s->stream, &found));
        if (found.beyond == 0 || out->told)
            continue;
        out->told = true;
        bg__report_add(s->report, "mismatch", BG_FAULT, out->call, out->tensor.data,
                       "the finding \"mismatch-born\" tells where it begins, as far as single op calls show it",
                       "%s: %s", out->name, bg__compare_text(&out->tensor, &found, text, sizeof text));
    }
done:
    return status;
}

static bg_status compare_ways(shadow *s)
{
    bg_status status = BG_OK;
    for (int i = 0; i < s->options.repeats; i++) {
        BG__TRY(run_eagerly(s));
        BG__TRY(keep_outputs(s, i == 0));
        BG__TRY(run_replay(s));
        BG__TRY(compare_outputs(s));
    }
done:
    return status;
}

/* ---- call by call ---- */

static bg_status keep_record(shadow *s, const bg__call *call, const bg__field_tensor *t)
{
    size_t bytes = bg_tensor_bytes(t->tensor);
    record r = {.shape = *t->tensor};
    bg_status status = BG_OK;

    if (s->record_count == s->record_capacity) {
        size_t capacity = 2 * s->record_capacity + 64;
        record *larger = realloc(s->records, capacity * sizeof *larger);
        if (larger == NULL)
            return bg__fail(BG_ERROR_OUT_OF_MEMORY, "no host memory for %zu outputs of calls", capacity);
        s->records = larger;
        s->record_capacity = capacity;
    }
    memcpy(r.name, t->name, sizeof r.name);
    r.call = strdup(call->name);
    r.held = malloc(bytes);
    s->records[s->record_count++] = r;
    if (r.call == NULL || r.held == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "no host memory for %zu bytes of an output", bytes);
    BG__TRY_CUDA(cudaMemcpyAsync(r.held, t->tensor->data, bytes, cudaMemcpyDefault, s->stream));
    BG__TRY_CUDA(cudaStreamSynchronize(s->stream));
done:
    return status;
}

/* The calls come in the same order, but for those inside of others. */
static const record *find_record(shadow *s, const bg__call *call, const char *name)
{
    for (size_t i = 0; i < s->record_count; i++) {
        size_t at = (s->next + i) % s->record_count;
        if (strcmp(s->records[at].call, call->name) != 0 || strcmp(s->records[at].name, name) != 0)
            continue;
        s->next = at + 1;
        return &s->records[at];
    }
    return NULL;
}

static bg_status compare_record(shadow *s, const bg__call *call, const bg__field_tensor *t)
{
    const record *r = find_record(s, call, t->name);
    size_t bytes = bg_tensor_bytes(t->tensor);
    bgk_difference found;
    void *expected = NULL;
    char text[800];
    bg_status status = BG_OK;

    if (r == NULL || !bg__tensor_has_shape(&r->shape, t->tensor))
        return BG_OK;
    BG__TRY(bg__device_alloc(bytes, &expected));
    BG__TRY_CUDA(cudaMemcpyAsync(expected, r->held, bytes, cudaMemcpyDefault, s->stream));
    BG__TRY(bg__compare(t->tensor, expected, t->tensor->data, &s->options.tolerance, s->room, s->stream, &found));
    if (found.beyond > 0 && s->calls_that_differ++ == 0)
        bg__report_add(s->report, "mismatch-born", BG_FAULT, call, t->tensor->data,
                       "look at what this call reads beside its tensors: values, host state, other streams; "
                       "bg_check_twice names what a capture has frozen",
                       "%s of %s is the first output of a call that differs when both ways go call by call: %s",
                       t->name, call->name, bg__compare_text(t->tensor, &found, text, sizeof text));
done:
    bg__device_free(expected);
    return status;
}

static bg_status look_at_call(void *user, const bg__call *call, const void *args)
{
    shadow *s = user;
    bg__field_tensor t = {0};
    bg_status status = BG_OK;

    while (bg__field_tensor_next(call->op, args, &t)) {
        bool reached;
        if (!t.output)
            continue;
        BG__TRY(bg__tensor_reach(t.tensor, &reached));
        if (reached)
            BG__TRY(s->playing ? compare_record(s, call, &t) : keep_record(s, call, &t));
    }
done:
    return status;
}

static bg_status walk(shadow *s, bg_graph *graph, bool playing)
{
    const bg__walk_options options = {.after = look_at_call, .user = s};
    bg__walk_end end = {.early = false};
    bg_report *unused = NULL;
    bg_status status;

    s->playing = playing;
    BG__TRY(bg__report_create(&unused, "step", graph->name));
    BG__TRY(bg__image_restore(&s->image, NULL, s->stream));
    BG__TRY(bg__replay_enter(graph, s->stream));
    status = bg__walk(graph, s->stream, &options, unused, &end);
    if (status == BG_OK && end.early)
        status = bg__fail(end.what, "bg_shadow, call by call (each by cudaGraphLaunch and cudaStreamSynchronize): %s",
                          end.text);
    status = bg__replay_leave(graph, s->stream, status);
done:
    bg_report_destroy(unused);
    return status;
}

/* ---- the whole ---- */

static void dispose(shadow *s)
{
    for (size_t i = 0; i < s->record_count; i++) {
        free(s->records[i].call);
        free(s->records[i].held);
    }
    for (size_t i = 0; i < s->output_count; i++)
        bg__device_free(s->outputs[i].eager);
    free(s->records);
    free(s->outputs);
    bg__image_free(&s->image);
    bg__footprint_free(&s->footprint);
    bg__device_free(s->room);
    bg_graph_destroy(s->graph);
    bg_graph_destroy(s->eager);
    bg_report_destroy(s->report);
}

static bg_status run(shadow *s)
{
    bg_status status;
    BG__TRY(check_tensors(s->options.outputs, s->options.outputs_count, "outputs"));
    BG__TRY(check_tensors(s->options.state, s->options.state_count, "state"));
    BG__TRY(bg__wait_for_device("bg_shadow")); /* what uses the tensors, on any stream */
    BG__TRY(bg__report_create(&s->report, "shadow", "the forward pass"));
    BG__TRY(bg__device_alloc(sizeof *s->room, (void **)&s->room));
    BG__TRY(capture(s, &s->graph, BG_DEBUG_OFF));
    BG__TRY(capture(s, &s->eager, BG_DEBUG_OPS));
    BG__TRY(list_outputs(s));
    BG__TRY(take_image(s));
    BG__TRY(compare_ways(s));
    BG__TRY(walk(s, s->eager, false));
    BG__TRY(walk(s, s->graph, true));
done:
    return status;
}

bg_status bg__shadow(const bg__twice_pass *pass, const bg_compare_options *options, bg_report **report)
{
    shadow s = {.pass = pass, .stream = pass->stream};
    bg_status status, restored;
    char text[1024];

    BG__TRY(take_options(&s.options, options));
    BG__TRY(run(&s));
done:
    snprintf(text, sizeof text, "%s", bg_last_error());
    restored = bg__image_restore(&s.image, NULL, s.stream);
    if (status == BG_OK)
        status = restored;
    else
        bg__fail_restore(text);
    if (status == BG_OK) {
        *report = s.report;
        s.report = NULL;
    }
    dispose(&s);
    return status;
}

bg_status bg_shadow(bg_forward forward, void *user, cudaStream_t stream, const bg_compare_options *options,
                    bg_report **report)
{
    const bg__twice_pass pass = {forward, user, stream, BG_CAPTURE_OPTIONS_INIT};

    BG__NEED(report);
    *report = NULL;
    BG__NEED(forward);
    bg__pending_note();
    if (stream == NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_shadow: stream is NULL; create a stream and use that");
    return bg__shadow(&pass, options, report);
}
