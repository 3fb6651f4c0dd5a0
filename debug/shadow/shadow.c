/* bg_shadow: compares one replay with the eager pass. */
#include "mismatches.h"

#include "debug/graph/tool_state.h"
#include "debug/report/outline.h"

static bg_status report_varying_output(bg__shadow *s, bg__shadow_output *out, const bgk_difference *found)
{
    static const char *const advice =
        "list in options.state what the pass keeps from run to run; sums by atomics may also differ";

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

static bg_status replay_and_compare(bg__shadow *s, bool *differs)
{
    bg_status status;

    BG__TRY(bg__shadow_restore(s));
    BG__TRY(bg__shadow_run_replay(s));
    BG__TRY(bg__mismatches_compare(s, differs));
    BG__TRY(bg__shadow_any_rank(s, "the replay differs", differs));
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
        BG__TRY(bg__shadow_compare_outputs(s, true, report_varying_output, &beyond));
        BG__TRY(replay_and_compare(s, differs));
        BG__TRY(bg__shadow_restore(s));
        BG__TRY(bg__mismatches_report(s));
    }
done:
    return status;
}

static bg_status compare_pass(bg__shadow *s, const bg__shadow_pass *pass, bg_graph **graph)
{
    bool every_call = !s->options.outputs_only, differs = false, found = false, judged;
    bg_status status;

    BG__TRY(bg__shadow_run_eager(s, every_call, every_call));
    BG__TRY(bg__shadow_keep_eager_run(s));
    BG__TRY(bg__shadow_capture(s, pass, NULL, graph));
    BG__TRY(bg__shadow_set_graph(s, *graph));
    BG__TRY(bg__report_add_outline(s->report, *graph));
    bg__shadow_report_flow(s);
    BG__TRY(replay_and_compare(s, &differs));
    judged = every_call || differs;
    if (judged)
        BG__TRY(bg__mismatches_explain(s, every_call, differs, &found));
    BG__TRY(bg__mismatches_report_races(s));
    BG__TRY(repeat_passes(s, &differs));
    if (!judged && differs) /* only a repetition differs */
        BG__TRY(bg__mismatches_explain(s, false, true, &found));
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
    bg__foreign_error_note();
    if (stream == NULL)
        return bg__fail(BG_ERROR_INVALID_ARGUMENT, "bg_shadow: stream is NULL; create a stream and use that");
    BG__TRY(bg__wait_for_device("bg_shadow")); /* for work that uses the tensors, on any stream */
    BG__TRY(bg__shadow_create(&s, "shadow", "bg_shadow", &pass, options));
    in_tool = bg__tool_enter();
    status = compare_pass(&s, &pass, &graph);
    bg__tool_leave(in_tool);
done:
    status = bg__shadow_finish(&s, status, report);
    bg_graph_destroy(graph);
    return status;
}
