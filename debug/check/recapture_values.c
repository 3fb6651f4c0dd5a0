/* Compares the nodes and arguments of one call in two captures. */
#include <stdio.h>
#include <string.h>

#include "recapture.h"
#include "debug/graph/node_values.h"
#include "debug/memory/value_text.h"

const char *const bg__value_advice =
    "pass the value in device memory, or read it in the body of an eager op, or capture one graph for each value";
const char *const bg__pointer_advice = "use the same memory in each pass: allocate it before, or from the graph's pool";

/* ---- which field ---- */

typedef struct difference {
    bg__recapture *recapture;
    const bg__recapture_call *calls[2];
    const bg__node *nodes[2]; /* NULL: the difference is in the arguments */
    const bg_field *field;    /* the argument; NULL: the difference is in a node */
    const char *what;         /* "kernel parameter 2", "the node's source" */
    int kind;                 /* bg__node_value.kind; BG__VALUE_NUMBER for an argument */
    bool pointer, sure;       /* sure: the bytes are not padding */
    size_t bytes;             /* size of each value */
    const void *values[2];
} difference;

static uint64_t read_word(const void *value, size_t bytes)
{
    uint64_t word = 0;
    memcpy(&word, value, bytes < sizeof word ? bytes : sizeof word);
    return word;
}

static bool is_tensor_field(const bg_field *field)
{
    return bg__field_has_tensors(field);
}

static bool tensor_moved(const bg__recapture *recapture, const bg_tensor *x, const bg_tensor *y)
{
    bg__meaning first = bg__word_meaning(&recapture->side[0], (uintptr_t)x->data);
    bg__meaning second = bg__word_meaning(&recapture->side[1], (uintptr_t)y->data);
    return !bg__is_same_meaning(recapture, &first, &second);
}

/* Compares only addresses and shapes. Dimensions beyond the rank have no meaning. */
static bool tensor_differs(const bg__recapture *recapture, const bg_tensor *x, const bg_tensor *y)
{
    return !bg__tensors_have_same_shape(x, y) || tensor_moved(recapture, x, y);
}

static bool field_differs(const bg__recapture *recapture, const bg_field *field, const void *a, const void *b)
{
    const bg_tensor *x = a, *y = b;
    if (!is_tensor_field(field))
        return !bg__field_values_equal(field, a, b);
    for (size_t i = 0; i < field->size / sizeof *x; i++)
        if (tensor_differs(recapture, &x[i], &y[i]))
            return true;
    return false;
}

/* Whether the node's value equals the field's value in both captures. */
static bool field_has_value(const difference *d, const bg_field *field)
{
    size_t bytes = is_tensor_field(field) ? sizeof(void *) : field->size;
    for (int i = 0; i < 2; i++) {
        const char *args = d->calls[i]->args;
        if (bytes > d->bytes || d->values[i] == NULL || memcmp(args + field->offset, d->values[i], bytes) != 0)
            return false;
    }
    return true;
}

/* Finds the differing field that has the value (*exact). If there is none, returns the first field that differs; NULL:
 * none differs. */
static const bg_field *find_field(const difference *d, bool *exact)
{
    const char *a = d->calls[0]->args, *b = d->calls[1]->args;
    const bg_field *found = NULL;

    *exact = d->field != NULL;
    if (d->field != NULL)
        return d->field;
    if (d->calls[0]->call == NULL || a == NULL || b == NULL || d->kind == BG__VALUE_SCHEDULING)
        return NULL;
    for (uint32_t i = 0; i < d->calls[0]->call->op->field_count; i++) {
        const bg_field *field = &d->calls[0]->call->op->fields[i];
        if (!field_differs(d->recapture, field, a + field->offset, b + field->offset))
            continue;
        if (field_has_value(d, field)) {
            *exact = true;
            return field;
        }
        if (found == NULL)
            found = field;
    }
    return found;
}

/* ---- findings ---- */

const char *bg__recapture_count_fault(bg__recapture *recapture)
{
    const char *effect = recapture->effect;
    recapture->faults++;
    recapture->effect = NULL;
    return effect != NULL ? effect : "";
}

/* Ends the message of a finding that is in doubt. A host address may differ while the contents at the address are the
 * same. */
static const char *doubt_text(const difference *d, const bg_field *field, bg_severity severity)
{
    if (severity == BG_FAULT)
        return "";
    if (d->kind == BG__VALUE_SCHEDULING)
        return "; each replay uses that of the capture, which changes no result";
    return field != NULL && bg__field_is_pointer(field) ? "; the contents may be the same" : BG__MAYBE_PADDING;
}

static void report_field_difference(const difference *d, const char *kind, bg_severity severity, const char *advice,
                                    const bg_field *field, const char *effect)
{
    const bg__recapture_labels *words = d->recapture->words;
    char values[2][BG__VALUE_TEXT], where[160];

    if (is_tensor_field(field)) {
        snprintf(where, sizeof where, "%.90s", field->name);
        for (int i = 0; i < 2; i++)
            bg__value_text(d->values[i], sizeof(void *), true, values[i], sizeof values[i]);
    } else {
        bg__field_difference_text(field, d->values[0], d->values[1], where, sizeof where, values);
    }
    bg__report_add(d->recapture->report, kind, severity, d->calls[0]->call, NULL, advice,
                   "field %s differs between %s: %s in %s, %s in %s; a replay uses the captured value%s%s", where,
                   words->both, values[0], words->side[0], values[1], words->side[1], doubt_text(d, field, severity),
                   effect);
}

/* Whether the field certainly has another value in the second capture: the difference is not only padding. */
static bool field_differs_surely(const difference *d, const bg_field *field)
{
    const char *a = d->calls[0]->args, *b = d->calls[1]->args;
    return is_tensor_field(field) || bg__field_values_differ_surely(field, a + field->offset, b + field->offset);
}

static void report_node_difference(const difference *d, const char *kind, bg_severity severity, const char *advice,
                                   const bg_field *field, const char *effect)
{
    const bg__recapture_labels *words = d->recapture->words;
    char values[2][BG__VALUE_TEXT], label[512] = "the arguments";
    bool unsure = field != NULL && !bg__field_is_pointer(field) && !field_differs_surely(d, field);

    for (int i = 0; i < 2; i++)
        bg__value_text(d->values[i], d->bytes, d->pointer, values[i], sizeof values[i]);
    if (d->nodes[0] != NULL)
        bg__node_label(&d->recapture->side[0].nodes, d->nodes[0], label, sizeof label);
    bg__report_add(d->recapture->report, kind, severity, d->calls[0]->call, NULL, advice,
                   "%s differs between %s: %s in %s, %s in %s; %s%s%s%s%s%s%s", d->what, words->both, values[0],
                   words->side[0], values[1], words->side[1], label, field != NULL ? "; field " : "",
                   field != NULL ? field->name : "", field != NULL ? " of the call differs, too" : "",
                   unsure && severity == BG_FAULT ? ", unless that is padding" : "", doubt_text(d, NULL, severity),
                   effect);
}

/* If `exact` is set, the value is the field's value, so the field's type decides. An address is never padding. */
static bool is_sure_difference(const difference *d, const bg_field *field, bool exact)
{
    if (exact)
        return d->pointer || (d->nodes[0] != NULL && bg__field_is_pointer(field)) || field_differs_surely(d, field);
    return d->sure || (field != NULL && field_differs_surely(d, field));
}

static void report(const difference *d)
{
    bool exact, pointer = d->pointer || (d->field != NULL && bg__field_is_pointer(d->field));
    const char *kind = pointer ? "unstable-pointer" : "frozen-value";
    const char *advice = pointer ? bg__pointer_advice : bg__value_advice;
    const bg_field *field = find_field(d, &exact);
    /* bodies seldom leave padding of parameters unset */
    bg_severity unsure = d->field != NULL || d->kind == BG__VALUE_SCHEDULING ? BG_NOTE : BG_WARNING;
    bg_severity severity = is_sure_difference(d, field, exact) ? BG_FAULT : unsure;
    const char *effect = severity == BG_FAULT ? bg__recapture_count_fault(d->recapture) : "";

    d->recapture->doubts += severity != BG_FAULT;
    if (exact)
        report_field_difference(d, kind, severity, advice, field, effect);
    else
        report_node_difference(d, kind, severity, advice, field, effect);
}

static void report_value_difference(const difference *d, const void *a, const void *b, size_t bytes, bool pointer)
{
    difference found = *d;
    found.values[0] = a;
    found.values[1] = b;
    found.bytes = bytes;
    found.pointer = pointer;
    report(&found);
}

static void compare_bytes(const difference *d, const void *a, const void *b, size_t bytes)
{
    if (memcmp(a, b, bytes) != 0)
        report_value_difference(d, a, b, bytes, false);
}

/* Compares words that may be pointers. address: the words are known to be pointers. */
static void compare_word(const difference *d, const void *a, const void *b, bool address)
{
    bg__meaning first = bg__word_meaning(&d->recapture->side[0], read_word(a, sizeof(uint64_t)));
    bg__meaning second = bg__word_meaning(&d->recapture->side[1], read_word(b, sizeof(uint64_t)));

    if (!bg__is_same_meaning(d->recapture, &first, &second))
        report_value_difference(d, a, b, sizeof(uint64_t),
                                address || first.kind != BG__NUMBER || second.kind != BG__NUMBER);
}

/* ---- nodes ---- */

/* An empty struct is a parameter of one byte that is never set. If the byte is neither 0 nor 1, it counts only if a
 * field of the call differs, too. */
static bool is_unset_byte(const difference *d, const bg__node_value *a, const bg__node_value *b)
{
    const bg_field *field;
    bool exact;
    if (a->bytes != 1 || (read_word(a->value, 1) <= 1 && read_word(b->value, 1) <= 1))
        return false;
    field = find_field(d, &exact);
    return field == NULL || !field_differs_surely(d, field);
}

static void compare_parameter(const difference *of, const bg__node_value *a, const bg__node_value *b)
{
    difference d = *of;
    char text[64];
    size_t at = 0, step;

    if (is_unset_byte(of, a, b))
        return;
    d.what = text;
    d.sure = a->bytes <= sizeof(uint64_t);
    for (; at < a->bytes && at < b->bytes; at += step) {
        size_t rest = a->bytes - at, to_word = sizeof(uint64_t) - (a->offset + at) % sizeof(uint64_t);
        step = rest < to_word ? rest : to_word;
        if (a->bytes > sizeof(uint64_t))
            snprintf(text, sizeof text, "kernel parameter %d, offset %zu,", a->index, at);
        else
            snprintf(text, sizeof text, "kernel parameter %d", a->index);
        if (step == sizeof(uint64_t))
            compare_word(&d, (const char *)a->value + at, (const char *)b->value + at, false);
        else
            compare_bytes(&d, (const char *)a->value + at, (const char *)b->value + at, step);
    }
}

static void compare_node_value(const difference *of, const bg__node_value *a, const bg__node_value *b)
{
    difference d = *of;

    if (a->kind == BG__VALUE_EVENT || a->bytes == 0 || a->bytes != b->bytes) /* a pass may make an event of its own */
        return;
    d.what = a->name;
    d.kind = (int)a->kind;
    d.sure = a->kind == BG__VALUE_NUMBER || a->kind == BG__VALUE_ADDRESS;
    if (a->kind == BG__VALUE_ADDRESS)
        compare_word(&d, a->value, b->value, true);
    else
        compare_bytes(&d, a->value, b->value, a->bytes);
}

static bg_status compare_nodes(const difference *d)
{
    bg__node_values values[2];
    bg__node_value a, b;
    bg_status status;

    BG__TRY(bg__node_values_read(d->nodes[0], &values[0]));
    BG__TRY(bg__node_values_read(d->nodes[1], &values[1]));
    for (int i = 0; bg__node_values_get(&values[0], i, &a) && bg__node_values_get(&values[1], i, &b); i++) {
        if (a.kind != BG__VALUE_PARAMETER)
            compare_node_value(d, &a, &b);
        else if (!bg__node_is_collective(d->nodes[0]))
            compare_parameter(d, &a, &b);
    }
done:
    return status;
}

/* ---- control flow ---- */

static bool is_same_work(const bg__node *a, const bg__node *b)
{
    if (a->type != b->type)
        return false;
    if (a->type == cudaGraphNodeTypeHost && a->known && b->known)
        return a->of.host.fn == b->of.host.fn;
    if (a->kernel == NULL || b->kernel == NULL)
        return a->kernel == b->kernel;
    return a->kernel->function == b->kernel->function && a->kernel->kernel == b->kernel->kernel;
}

static void report_control_flow(const difference *d, const bg__node *a, const bg__node *b)
{
    char first[512] = "nothing", second[512] = "nothing";
    const bg__call *call = d->calls[0]->call;
    const bg__recapture_labels *words = d->recapture->words;

    if (a != NULL)
        bg__node_label(&d->recapture->side[0].nodes, a, first, sizeof first);
    if (b != NULL)
        bg__node_label(&d->recapture->side[1].nodes, b, second, sizeof second);
    d->recapture->flow_differs = true;
    bg__report_add(d->recapture->report, "frozen-control-flow", BG_FAULT, call, NULL, BG__FLOW_ADVICE,
                   "%s makes different nodes in %s: %zu in %s, %zu in %s; first difference: %s in %s, %s in %s%s",
                   call != NULL ? call->name : "code outside op calls", words->both, d->calls[0]->count, words->side[0],
                   d->calls[1]->count, words->side[1], first, words->side[0], second, words->side[1],
                   bg__recapture_count_fault(d->recapture));
}

/* Whether both calls made the same nodes. If not, reports this and returns false: the parameters of the nodes cannot be
 * compared. */
static bool check_same_nodes(const difference *d)
{
    const bg__recapture_side *sides = d->recapture->side;
    size_t counts[] = {d->calls[0]->count, d->calls[1]->count};

    for (size_t i = 0; i < counts[0] || i < counts[1]; i++) {
        const bg__node *a = i < counts[0] ? &sides[0].nodes.node[d->calls[0]->nodes[i]] : NULL;
        const bg__node *b = i < counts[1] ? &sides[1].nodes.node[d->calls[1]->nodes[i]] : NULL;
        if (a == NULL || b == NULL || !is_same_work(a, b)) {
            report_control_flow(d, a, b);
            return false;
        }
    }
    return true;
}

/* ---- arguments of eager calls: a replay runs the body with the captured arguments ---- */

static void compare_tensor_field(const difference *d, const bg_field *field, const bg_tensor *x, const bg_tensor *y)
{
    const bg__recapture_labels *words = d->recapture->words;
    for (size_t i = 0; i < field->size / sizeof *x; i++) {
        bool moved = tensor_moved(d->recapture, &x[i], &y[i]);
        char element[24] = "";
        if (!tensor_differs(d->recapture, &x[i], &y[i]))
            continue;
        if (field->role == BG_ROLE_OUTS)
            snprintf(element, sizeof element, "[%zu]", i);
        bg__report_add(d->recapture->report, moved ? "unstable-pointer" : "frozen-value", BG_FAULT, d->calls[0]->call,
                       NULL, moved ? bg__pointer_advice : bg__value_advice,
                       "field %s%s differs between %s: at %p in %s, at %p in %s%s%s", field->name, element, words->both,
                       x[i].data, words->side[0], y[i].data, words->side[1],
                       bg__tensors_have_same_shape(&x[i], &y[i]) ? "" : ", with another shape",
                       bg__recapture_count_fault(d->recapture));
    }
}

static void compare_field(const difference *of, const bg_field *field)
{
    const char *a = (const char *)of->calls[0]->args + field->offset;
    const char *b = (const char *)of->calls[1]->args + field->offset;
    difference d = *of;

    if (field->role == BG_ROLE_RESULT || !field_differs(d.recapture, field, a, b))
        return;
    d.field = field;
    if (is_tensor_field(field)) {
        compare_tensor_field(&d, field, (const void *)a, (const void *)b);
    } else if (field->size == sizeof(uint64_t)) {
        compare_word(&d, a, b, false);
    } else {
        compare_bytes(&d, a, b, field->size);
    }
}

bg_status bg__recapture_compare_pair(bg__recapture *recapture, size_t first, size_t second)
{
    difference d = {.recapture = recapture,
                    .calls = {&recapture->side[0].calls[first], &recapture->side[1].calls[second]}};
    const bg__call *call = d.calls[0]->call;
    bg_status status = BG_OK;

    if (call != NULL && call->eager && d.calls[0]->args != NULL && d.calls[1]->args != NULL &&
        !bg__call_is_exposed(recapture->side[0].graph, call)) /* otherwise the program may have changed them */
        for (uint32_t i = 0; i < call->op->field_count; i++)
            compare_field(&d, &call->op->fields[i]);
    if (!check_same_nodes(&d))
        return BG_OK;
    for (size_t i = 0; i < d.calls[0]->count; i++) {
        d.nodes[0] = &recapture->side[0].nodes.node[d.calls[0]->nodes[i]];
        d.nodes[1] = &recapture->side[1].nodes.node[d.calls[1]->nodes[i]];
        BG__TRY(compare_nodes(&d));
    }
done:
    return status;
}
