/* Compares the inputs that calls get in a replay with those that they get in the eager pass. */
#include "replayed_inputs.h"

#include <string.h>

#include "debug/check/recapture.h"

/* Outputs may differ because the program has changed arguments by bg_graph_args: that is no fault. */
const char bg__exposed_args_advice[] =
    "the program may change the arguments of this call by bg_graph_args, which the eager pass does not see: a "
    "difference that it makes on purpose is no fault";

/* The last call with an output in that tensor that ended before this call in the eager pass. NULL: none. */
static const bg__pass_call *find_writer(const bg__shadow *s, const bg__call_inputs *inputs, const bg_tensor *tensor,
                                        bg__field_tensor *output, const void **held)
{
    for (size_t i = inputs->ended; i-- > 0;) {
        const bg__pass_call *c = &s->calls.list[i];
        *output = (bg__field_tensor){0};
        for (int place = 0; bg__field_tensor_next(c->call->op, c->args, output); place++) {
            if (!output->output || !bg__tensor_overlaps(output->tensor, tensor))
                continue;
            *held = bg__tensors_are_same(output->tensor, tensor) ? c->held[place] : NULL;
            return c;
        }
    }
    return NULL;
}

bool bg__eager_input_is_written(const bg__shadow *s, const bg__call_inputs *inputs, const bg_tensor *tensor)
{
    bg__field_tensor output;
    const void *held;
    return find_writer(s, inputs, tensor, &output, &held) != NULL;
}

/* Reports an output that the call of the graph wrote at another address than in the eager pass. */
static void report_moved_output(bg__shadow *s, const bg__pass_call *writer, const bg__field_tensor *output,
                                const bg__call *reader, const char *input)
{
    const bg__call *call = bg__shadow_find_call(s, writer->call->name);
    bg__field_tensor t = {0};
    const void *args;
    bool exposed;

    args = call != NULL && call->op == writer->call->op ? bg__graph_call_args(s->graph, call) : NULL;
    exposed = call != NULL && bg__call_is_exposed(s->graph, call);
    while (args != NULL && bg__field_tensor_next(call->op, args, &t))
        if (strcmp(t.name, output->name) == 0 && t.tensor->data != NULL && t.tensor->data != output->tensor->data &&
            !bg__report_has_finding(s->report, "unstable-pointer", call->name))
            bg__report_add(s->report, "unstable-pointer", exposed ? BG_NOTE : BG_FAULT, call, t.tensor->data,
                           exposed ? bg__exposed_args_advice : bg__pointer_advice,
                           "%s is at %p in the graph, at %p in the eager pass, where it is read as %s of %s", t.name,
                           t.tensor->data, output->tensor->data, input, reader->name);
}

const bg_tensor *bg__eager_input_find(const bg__call_inputs *inputs, const char *field)
{
    bg__field_tensor t = {0};
    while (bg__field_tensor_next(inputs->call->op, inputs->args, &t))
        if (strcmp(t.name, field) == 0)
            return t.tensor;
    return NULL;
}

/* If the call that wrote the input left it elsewhere in the graph, sets the input to its contents in the eager pass. */
static bg_status restore_input(bg__shadow *s, const bg__call_inputs *inputs, const bg__field_tensor *t,
                               const bg__call *call)
{
    const bg_tensor *eager = bg__eager_input_find(inputs, t->name);
    const bg__pass_call *writer = NULL;
    const void *held = NULL;
    bg__field_tensor output;
    bg_status status = BG_OK;

    if (t->tensor->data == eager->data)
        writer = find_writer(s, inputs, eager, &output, &held);
    if (writer == NULL || held == NULL)
        return BG_OK;
    report_moved_output(s, writer, &output, call, t->name);
    BG__TRY(bg__copy_and_wait(t->tensor->data, held, bg_tensor_bytes(t->tensor), s->stream));
done:
    return status;
}

/* *known: a bit for each input that can be compared; *readable: a bit for each input that the device can read. */
static bg_status find_comparable(const bg__call_inputs *inputs, const void *args, uint32_t *known, uint32_t *readable)
{
    bg__field_tensor t = {0};
    bg_status status = BG_OK;

    *known = *readable = 0;
    for (int number = 0; bg__field_tensor_next(inputs->call->op, args, &t); number += t.input) {
        bool reached = false;
        if (t.input && (inputs->held >> number & 1) != 0)
            BG__TRY(bg__tensor_is_accessible(t.tensor, &reached));
        *readable |= (uint32_t)reached << number;
        if (reached && bg__tensors_have_same_shape(t.tensor, bg__eager_input_find(inputs, t.name)))
            *known |= 1u << number;
    }
done:
    return status;
}

/* Compares the known inputs, and restores those that differ. *equal: a bit for each that is equal after that. */
static bg_status compare_and_restore(bg__shadow *s, const bg__call_inputs *inputs, const bg__call *call,
                                     const void *args, uint32_t known, uint32_t *equal)
{
    bg__field_tensor t = {0};
    bg_status status;

    BG__TRY(bg__inputs_compare_digests(inputs, args, known, s->room, s->stream, equal));
    if (*equal == known)
        goto done;
    for (int number = 0; bg__field_tensor_next(call->op, args, &t); number += t.input)
        if (t.input && (known >> number & 1) != 0 && (*equal >> number & 1) == 0)
            BG__TRY(restore_input(s, inputs, &t, call));
    BG__TRY(bg__inputs_compare_digests(inputs, args, known, s->room, s->stream, equal));
done:
    return status;
}

/* Returns a bit for each input that earlier calls of the same run write: it is complete only when the whole run has
 * ended. */
static uint32_t find_made_in_run(const bg__call *call, const void *args)
{
    bg__field_tensor t = {0};
    uint32_t made = 0;
    for (int number = 0; call->run != NULL && bg__field_tensor_next(call->op, args, &t); number += t.input)
        if (t.input && bg__run_writes_before(call, t.tensor))
            made |= 1u << number;
    return made;
}

bg_status bg__inputs_compare(bg__shadow *s, const bg__call *call, const void *args)
{
    bg__call_inputs *inputs = bg__inputs_find(&s->inputs, call->name);
    uint32_t known, readable, equal, all, made;
    bg_status status = BG_OK;

    if (inputs == NULL || inputs->call->op != call->op)
        return BG_OK;
    BG__TRY(find_comparable(inputs, args, &known, &readable));
    made = find_made_in_run(call, args);
    BG__TRY(compare_and_restore(s, inputs, call, args, known & ~made, &equal));
    equal |= made;
    readable |= made;
    all = (uint32_t)((1ull << bg__inputs_count(inputs)) - 1);
    inputs->differ = readable & ~equal;
    inputs->state = inputs->differ != 0 ? BG__INPUTS_DIFFER : readable != all ? BG__INPUTS_PARTLY : BG__INPUTS_EQUAL;
done:
    return status;
}
