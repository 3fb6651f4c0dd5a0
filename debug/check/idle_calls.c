/* Finds captured calls that left no node in the graph. Runs no work. */
#include "leaks.h"
#include "debug/memory/tensors.h"

/* Whether an input of the call has the same memory as the output. Then the call may have had nothing to do. */
static bool output_is_input(const bg__call *call, const bg_tensor *output)
{
    bg__field_tensor t = {0};
    while (bg__field_tensor_next(call->op, call->kept, &t))
        if (t.input && !t.output && t.tensor->data == output->data)
            return true;
    return false;
}

/* Finds the first output that the call writes but does not read. If there is none, finds an output that the call also
 * reads, which the call may have left unchanged. */
static bg_status find_written_output(const bg__call *call, bg__field_tensor *found, bool *any)
{
    bg__field_tensor t = {0};
    bg_status status = BG_OK;

    *any = false;
    while (bg__field_tensor_next(call->op, call->kept, &t)) {
        bool reached;
        if (!t.output || (*any && t.input) || output_is_input(call, t.tensor))
            continue;
        BG__TRY(bg__tensor_is_accessible(t.tensor, &reached));
        if (!reached)
            continue;
        *found = t;
        *any = true;
        if (!t.input)
            break;
    }
done:
    return status;
}

static bool is_inside_call(const bg__call *call, const bg__call *parent)
{
    for (const bg__call *at = call->parent; at != NULL && parent != NULL; at = at->parent)
        if (at == parent)
            return true;
    return false;
}

static bg_status report_idle_call(const bg__call *call, bg_report *report, bool *reported)
{
    bg__field_tensor output;
    bg_status status = BG_OK;

    *reported = false;
    if (call->kept == NULL || !bg__call_is_idle(call))
        return BG_OK;
    BG__TRY(find_written_output(call, &output, reported));
    if (*reported)
        bg__report_add(report, "leak", BG_WARNING, call, output.tensor->data, BG__LEAK_ADVICE,
                       "%s left no node in the graph, but %s is its output: it launched nothing, or launched on a "
                       "stream that was not captured",
                       call->name, output.name);
done:
    return status;
}

bg_status bg__check_idle_calls(bg_graph *graph, bg_report *report)
{
    const bg__call *root = bg__graph_root(graph);
    bg_status status = BG_OK;
    const bg__call *parent = NULL; /* the last reported call; calls inside it are not reported */
    bool reported;

    for (const bg__call *call = bg__call_next(root); call != NULL; call = bg__call_next(call)) {
        if (is_inside_call(call, parent))
            continue;
        BG__TRY(report_idle_call(call, report, &reported));
        if (reported)
            parent = call;
    }
    for (const bg__call *run = root->runs; run != NULL; run = run->last_run)
        BG__TRY(report_idle_call(run, report, &reported));
done:
    return status;
}
