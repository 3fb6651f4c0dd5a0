/* Reports why a call of the graph is at fault. Its arguments are compared with those in the eager pass first. If they
 * do not explain the fault, the pass is captured once more and the nodes are compared. */
#include "argument_findings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/check/recapture.h"
#include "debug/memory/value_text.h"
#include "replayed_inputs.h"

/* ---- faults ---- */

void bg__call_faults_reset(bg__shadow *s)
{
    bg__inputs_reset(&s->inputs);
    s->fault_count = 0;
}

static bool is_reported_call(const bg__shadow *s, const bg__call *call)
{
    static const char *const kinds[] = {"frozen-value", "unstable-pointer", "frozen-control-flow", "mismatch-origin"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (bg__report_has_finding(s->report, kinds[i], call->name) ||
            (call->run != NULL && bg__report_has_finding(s->report, kinds[i], call->run->name)))
            return true;
    for (size_t i = 0; i < s->fault_count; i++)
        if (strcmp(s->faults[i].call->name, call->name) == 0)
            return true;
    return false;
}

/* The arguments that the call had in the eager pass. The graph has the arguments of a captured call from the end of its
 * body, and those of an eager call from its beginning. NULL: the eager pass did not call it. */
static const void *find_eager_args(bg__shadow *s, const bg__call *call)
{
    const bg__call_inputs *began = call->eager ? bg__inputs_find(&s->inputs, call->name) : NULL;
    const bg__pass_call *ended = call->eager ? NULL : bg__pass_calls_find(&s->calls, call->name);
    const bg__call *found = began != NULL ? began->call : ended != NULL ? ended->call : NULL;

    if (found == NULL || found->op != call->op)
        return NULL;
    return began != NULL ? began->args : ended->args;
}

/* Iterates over the BG_VALUE fields that differ. */
static const bg_field *next_differing_value(bg__shadow *s, const bg__call *call, uint32_t *at, const char **graph,
                                            const char **eager)
{
    const char *a = bg__graph_call_args(s->graph, call), *b = find_eager_args(s, call);

    while (a != NULL && b != NULL && *at < call->op->field_count) {
        const bg_field *field = &call->op->fields[(*at)++];
        if (field->role != BG_ROLE_VALUE || bg__field_values_equal(field, a + field->offset, b + field->offset))
            continue;
        *graph = a + field->offset;
        *eager = b + field->offset;
        return field;
    }
    return NULL;
}

/* Whether a differing value explains differing outputs. Padding of a struct may have any value, and a pointer may point
 * to memory of the pass. A value that the program may have changed by bg_graph_args always counts. */
static bool explains_output(bg__shadow *s, const bg__call *call, const bg_field *field, const char *graph,
                            const char *eager)
{
    return bg__call_is_exposed(s->graph, call) || bg__field_values_differ_surely(field, graph, eager);
}

/* "p (12 bytes) at offset 8 is 2 in the graph, 1 in the eager pass" */
static void value_text(const bg_field *field, const char *graph, const char *eager, char *text, size_t bytes)
{
    char where[160], values[2][BG__VALUE_TEXT];
    bg__field_difference_text(field, graph, eager, where, sizeof where, values);
    snprintf(text, bytes, "%s is %s in the graph, %s in the eager pass", where, values[0], values[1]);
}

/* Iterates over the inputs that differ: in address or shape, or (same) in their contents. */
static const bg_tensor *next_differing_input(bg__shadow *s, const bg__call *call, bool same, bg__field_tensor *t,
                                             int *number, const bg_tensor **eager)
{
    const bg__call_inputs *inputs = bg__inputs_find(&s->inputs, call->name);
    const void *args = bg__graph_call_args(s->graph, call);

    if (inputs == NULL || args == NULL || inputs->call->op != call->op)
        return NULL;
    while (bg__field_tensor_next(call->op, args, t)) {
        bool differs = t->input && (inputs->differ >> *number & 1) != 0;
        *number += t->input;
        if (!t->input)
            continue;
        *eager = bg__eager_input_find(inputs, t->name);
        if (*eager == NULL)
            continue;
        if (inputs->state == BG__INPUTS_UNKNOWN) /* memory that a call of the pass writes may differ from run to run */
            differs = !bg__tensors_are_same(t->tensor, *eager) && !bg__eager_input_is_written(s, inputs, *eager);
        if (differs && bg__tensors_are_same(t->tensor, *eager) == same)
            return t->tensor;
    }
    return NULL;
}

/* Finds the first input that differs although its address is the same: an earlier call made the difference. */
static bool find_earlier_difference(bg__shadow *s, const bg__call *call, bg__field_tensor *found)
{
    const bg_tensor *eager;
    int number = 0;
    *found = (bg__field_tensor){0};
    return next_differing_input(s, call, true, found, &number, &eager) != NULL;
}

static bool has_other_arguments(bg__shadow *s, const bg__call *call)
{
    const char *a, *b;
    const bg_tensor *eager;
    const bg_field *field;
    bg__field_tensor t = {0};
    int number = 0;
    uint32_t at = 0;

    while ((field = next_differing_value(s, call, &at, &a, &b)) != NULL)
        if (explains_output(s, call, field, a, b))
            return true;
    return next_differing_input(s, call, false, &t, &number, &eager) != NULL;
}

/* Finds the outermost call with other arguments, among the call and its parents. That call may have passed these
 * arguments on. NULL: none. */
static const bg__call *find_cause_call(bg__shadow *s, const bg__call *call)
{
    const bg__call *found = NULL;
    for (; call->op != NULL; call = call->parent)
        if (has_other_arguments(s, call))
            found = call;
    return found;
}

bg_status bg__call_faults_add(bg__shadow *s, const bg__call *call, const char *what, const bg_tensor *tensor,
                              const bgk_difference *found)
{
    bg__field_tensor earlier;
    bg__call_fault *fault;
    bg_status status;

    if (is_reported_call(s, call))
        return BG_OK;
    if (find_earlier_difference(s, call, &earlier) && find_cause_call(s, call) == NULL) {
        if (s->earlier[0] == '\0')
            snprintf(s->earlier, sizeof s->earlier, "%.60s of %.90s", earlier.name, call->name);
        return BG_OK;
    }
    BG__TRY(BG__ARRAY_GROW(s->faults, s->fault_count, s->fault_capacity, "calls at fault"));
    fault = &s->faults[s->fault_count++];
    *fault = (bg__call_fault){.call = call, .address = tensor->data};
    snprintf(fault->what, sizeof fault->what, "%s", what);
    if (found != NULL)
        bg__compare_text(tensor, found, fault->difference, sizeof fault->difference);
done:
    return status;
}

/* ---- its arguments ---- */

static void effect_text(const bg__call_fault *fault, char *text, size_t bytes)
{
    if (fault->difference[0] == '\0')
        snprintf(text, bytes, ", and so %s has another shape or dtype", fault->what);
    else
        snprintf(text, bytes, ", and so %s differs: %s", fault->what, fault->difference);
}

static void append_text(char *text, size_t bytes, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, bytes - used, "%s%s", used > 0 ? "; " : "", more);
}

static bool report_values(bg__shadow *s, const bg__call *at, const char *effect)
{
    bool exposed = bg__call_is_exposed(s->graph, at);
    char text[500] = "";
    const char *graph, *eager;
    const bg_field *field;

    for (uint32_t i = 0; (field = next_differing_value(s, at, &i, &graph, &eager)) != NULL;) {
        char one[360];
        if (!explains_output(s, at, field, graph, eager))
            continue;
        value_text(field, graph, eager, one, sizeof one);
        append_text(text, sizeof text, one);
    }
    if (text[0] != '\0')
        bg__report_add(s->report, "frozen-value", exposed ? BG_NOTE : BG_FAULT, at, NULL,
                       exposed ? bg__exposed_args_advice : bg__value_advice, "%s%s%s", text,
                       exposed ? " (bg_graph_args may have changed it)" : "", effect);
    return text[0] != '\0';
}

/* Reports values that may differ without being the cause. Returns whether there are any. text gets those that are not
 * pointers, which the finding on an eager call names itself. */
static bool report_unsure_values(bg__shadow *s, const bg__call *call, char *text, size_t bytes)
{
    const char *graph, *eager;
    const bg_field *field;
    bool any = false;

    text[0] = '\0';
    for (uint32_t i = 0; (field = next_differing_value(s, call, &i, &graph, &eager)) != NULL;) {
        char one[360];
        any = true;
        value_text(field, graph, eager, one, sizeof one);
        if (bg__field_is_pointer(field))
            bg__report_add(s->report, "unstable-pointer", BG_WARNING, call, NULL, bg__pointer_advice, "%s", one);
        else if (call->eager)
            append_text(text, bytes, one);
        else
            bg__report_add(s->report, "frozen-value", BG_WARNING, call, NULL, bg__value_advice, "%s" BG__MAYBE_PADDING,
                           one);
    }
    return any;
}

/* "f32 [4, 8]" */
static void shape_text(const bg_tensor *tensor, char *text, size_t bytes)
{
    size_t used = (size_t)snprintf(text, bytes, "%s [", bg_dtype_name(tensor->dtype));
    for (int i = 0; i < tensor->rank && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%lld", i > 0 ? ", " : "", (long long)tensor->dim[i]);
    if (used < bytes)
        snprintf(text + used, bytes - used, "]");
}

static bool report_tensors(bg__shadow *s, const bg__call *at, const char *effect)
{
    char shapes[500] = "", addresses[500] = "";
    bool exposed = bg__call_is_exposed(s->graph, at);
    const char *changed = exposed ? " (bg_graph_args may have changed it)" : "";
    bg_severity severity = exposed ? BG_NOTE : BG_FAULT;
    const void *address = NULL;
    const bg_tensor *graph, *eager;
    bg__field_tensor t = {0};

    for (int number = 0; (graph = next_differing_input(s, at, false, &t, &number, &eager)) != NULL;) {
        char one[460], text[2][120];
        shape_text(graph, text[0], sizeof text[0]);
        shape_text(eager, text[1], sizeof text[1]);
        snprintf(one, sizeof one, "%s is %s in the graph, %s in the eager pass%s", t.name, text[0], text[1], changed);
        if (!bg__tensors_have_same_shape(graph, eager))
            append_text(shapes, sizeof shapes, one);
        if (graph->data == eager->data)
            continue;
        snprintf(one, sizeof one, "%s is at %p in the graph, at %p in the eager pass%s", t.name, graph->data,
                 eager->data, changed);
        append_text(addresses, sizeof addresses, one);
        address = address == NULL ? graph->data : address;
    }
    if (shapes[0] != '\0')
        bg__report_add(s->report, "frozen-value", severity, at, NULL,
                       exposed ? bg__exposed_args_advice : bg__value_advice, "%s%s", shapes, effect);
    if (addresses[0] != '\0')
        bg__report_add(s->report, "unstable-pointer", severity, at, address,
                       exposed ? bg__exposed_args_advice : bg__pointer_advice, "%s%s", addresses, effect);
    return shapes[0] != '\0' || addresses[0] != '\0';
}

static bool report_arguments(bg__shadow *s, const bg__call_fault *fault)
{
    const bg__call *at = find_cause_call(s, fault->call);
    char effect[600];
    bool values, tensors;

    if (at == NULL)
        return false;
    if (bg__report_has_finding(s->report, "frozen-value", at->name) ||
        bg__report_has_finding(s->report, "unstable-pointer", at->name))
        return true; /* that call has passed the same arguments on to another call */
    effect_text(fault, effect, sizeof effect);
    values = report_values(s, at, effect);
    tensors = report_tensors(s, at, values ? "" : effect);
    return values || tensors;
}

/* ---- its nodes ---- */

/* Makes a pattern of BG_EAGER_OPS that keeps the same calls eager as in the graph. */
static bg_status list_eager_calls(const bg_graph *graph, char **list)
{
    size_t bytes = sizeof "!*";
    char *end;

    for (const bg__call *call = bg__call_next(bg__graph_root(graph)); call != NULL; call = bg__call_next(call))
        bytes += call->eager ? strlen(call->name) + 1 : 0;
    *list = malloc(bytes);
    if (*list == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the eager calls of a graph");
    end = stpcpy(*list, "!*");
    for (const bg__call *call = bg__call_next(bg__graph_root(graph)); call != NULL; call = bg__call_next(call))
        if (call->eager)
            end = stpcpy(stpcpy(end, ","), call->name);
    return BG_OK;
}

/* Sets the call of each explained fault to NULL. */
static bg_status compare_nodes(bg__shadow *s, bg_graph *second)
{
    static const bg__recapture_labels words = {
        "the graph and a new capture", {"the graph", "the new capture"}, {"the graph's capture", "the new capture"}};
    bg__recapture recapture = {.report = s->report, .words = &words};
    bg_status status;

    BG__TRY(bg__recapture_read_graphs(&recapture, s->graph, second));
    for (size_t i = 0; i < s->fault_count; i++) {
        bg__call_fault *fault = &s->faults[i];
        char effect[600];
        if (fault->call == NULL)
            continue;
        effect_text(fault, effect, sizeof effect);
        recapture.effect = effect;
        recapture.faults = recapture.doubts = 0;
        BG__TRY(bg__recapture_report_call(&recapture, fault->call));
        if (recapture.faults > 0)
            fault->call = NULL;
        fault->unsure = recapture.doubts > 0;
    }
done:
    bg__recapture_free(&recapture);
    return status;
}

/* Only warns if the pass cannot be captured now: the comparison has not failed. */
static bg_status capture_again(bg__shadow *s)
{
    bg_graph *second = NULL;
    char *eager = NULL;
    bg_status status;

    BG__TRY(list_eager_calls(s->graph, &eager));
    BG__TRY(bg__shadow_restore(s));
    if (bg__shadow_capture(s, &s->pass, eager, &second) != BG_OK) {
        bg__warn("%s: %s", s->function, bg_last_error());
        goto done;
    }
    s->recaptured = true;
    BG__TRY(compare_nodes(s, second));
done:
    bg_graph_destroy(second);
    free(eager);
    return status;
}

/* ---- findings ---- */

static void report_origin(bg__shadow *s, const bg__call_fault *fault)
{
    const bg__call_inputs *inputs = bg__inputs_find(&s->inputs, fault->call->name);
    static const char *const how[] = {[BG__INPUTS_UNKNOWN] = "",
                                      [BG__INPUTS_EQUAL] = " on the same inputs",
                                      [BG__INPUTS_PARTLY] = " on the same inputs (those in host memory are not known)",
                                      [BG__INPUTS_DIFFER] = ""};
    const char *same = how[inputs != NULL ? inputs->state : BG__INPUTS_UNKNOWN];
    char values[500];
    bool unsure = report_unsure_values(s, fault->call, values, sizeof values);
    const char *alike = !s->recaptured || fault->call->eager || fault->unsure ? ""
                        : unsure                                              ? ", with the same nodes"
                                                                              : ", with the same arguments and nodes";
    const char *advice =
        fault->call->run != NULL
            ? "BG_COMPILE=0 runs the calls without rules: if the result is right then, breakgraph bisect --compiled "
              "names the rule; if not, check what the call reads besides its tensors"
        : fault->call->eager && unsure
            ? "the body ran in the replay with the arguments of the graph: if they differ in more than padding and "
              "addresses whose contents are equal, that is the cause; otherwise check what the body reads besides its "
              "tensors, such as host state"
        : fault->call->eager
            ? "the body ran in the replay with the arguments of the pass: check what it reads besides its tensors, "
              "such as host state that each run changes"
        : s->recaptured ? "check whether the body does something else while it is captured, and what its kernels "
                          "read besides its tensors: memory by other pointers, host memory, other streams"
                        : "check what this call reads besides its tensors: values, host state, other streams; "
                          "bg_check_recapture names what a capture froze";

    if (values[0] != '\0')
        append_text(values, sizeof values, "those bytes may be padding; ");
    if (fault->difference[0] == '\0')
        bg__report_add(s->report, "mismatch-origin", BG_FAULT, fault->call, fault->address, advice,
                       "%s%s has another shape or dtype in the graph than in the eager pass", values, fault->what);
    else
        bg__report_add(s->report, "mismatch-origin", BG_FAULT, fault->call, fault->address, advice,
                       "%s%s differs from the eager pass%s%s: %s", values, fault->what, same, alike, fault->difference);
}

bg_status bg__call_faults_report(bg__shadow *s)
{
    bool unexplained = false;
    bg_status status;

    for (size_t i = 0; i < s->fault_count; i++) {
        if (report_arguments(s, &s->faults[i]))
            s->faults[i].call = NULL;
        else
            unexplained = unexplained || !s->faults[i].call->eager;
    }
    unexplained = unexplained && !s->captured_again;
    BG__TRY(bg__shadow_any_rank(s, "a call's arguments do not explain its outputs", &unexplained));
    if (unexplained) {
        s->captured_again = true;
        BG__TRY(capture_again(s));
    }
    for (size_t i = 0; i < s->fault_count; i++)
        if (s->faults[i].call != NULL)
            report_origin(s, &s->faults[i]);
done:
    s->fault_count = 0;
    s->recaptured = false;
    return status;
}

/* Notes on arguments that the program may have changed are causes, too. */
static bool is_cause_finding(const bg_finding *f)
{
    if (f->severity == BG_NOTE)
        return f->advice != NULL && strcmp(f->advice, bg__exposed_args_advice) == 0;
    return f->severity == BG_FAULT &&
           (strcmp(f->kind, "frozen-value") == 0 || strcmp(f->kind, "unstable-pointer") == 0 ||
            strcmp(f->kind, "frozen-control-flow") == 0 || strcmp(f->kind, "mismatch-origin") == 0 ||
            strcmp(f->kind, "race") == 0);
}

/* Whether the finding is on the call, or on the run that a rule has put in its place. */
static bool is_finding_of_call(const bg_finding *f, const bg__call *call)
{
    return strcmp(f->call, call->name) == 0 || (call->run != NULL && strcmp(f->call, call->run->name) == 0);
}

bool bg__report_has_cause(const bg_report *report, const bg__call *call)
{
    bg_finding f = BG_FINDING_INIT;
    for (int i = 0; i < bg_report_count(report) && bg_report_get(report, i, &f) == BG_OK; i++)
        if (is_cause_finding(&f) && (call == NULL || is_finding_of_call(&f, call)))
            return true;
    return false;
}

bool bg__report_is_explained(const bg_report *report)
{
    bg_finding f = BG_FINDING_INIT;
    bool any = false;
    for (int i = 0; i < bg_report_count(report) && bg_report_get(report, i, &f) == BG_OK; i++) {
        if (f.severity == BG_FAULT && (!is_cause_finding(&f) || strcmp(f.kind, "mismatch-origin") == 0))
            return false;
        any |= is_cause_finding(&f);
    }
    return any;
}
