/* BG_SHADOW: compares every replay of a graph with the eager pass. */
#include "shadow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug/graph/tool_state.h"
#include "debug/report/outline.h"
#include "debug/report/process_report.h"
#include "debug/trace/timing.h"
#include "argument_findings.h"
#include "mismatches.h"

struct bg__replay_shadow {
    bg__shadow shadow;
    bg__spans state;    /* options.state of the capture */
    bool every_call;    /* BG_SHADOW=calls */
    bool begun;         /* a replay has been shadowed */
    bool known;         /* the image has the contents of memory before the replay */
    bool timed, varied; /* times were taken; variation between eager passes was reported */
    bg__timing nodes;   /* times of the nodes, from the first walk */
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

/* Outputs in blocks of the pass are not compared either, but that is no mistake of its ops. */
static bool lacks_outputs(const bg_graph *graph)
{
    const bg__call *call = bg__call_next(bg__graph_root(graph));
    bool any = call != NULL;

    for (; call != NULL && any; call = bg__call_next(call))
        any = bg__output_count(call->op) == 0;
    return any;
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
    bg__process_report_count_shadow_graph(forward != NULL);
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
    if (lacks_outputs(graph))
        bg__warn("BG_SHADOW: %s: no op call has an output (BG_OUT, BG_INOUT), so that a replay has nothing to compare",
                 bg__graph_name(graph));
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

/* Makes the stream of the replay wait for work that the program has queued on the default stream and on streams that
 * synchronize with it. Otherwise such work on tensors of the graph could run between the runs and make one of them
 * differ. A capture on one of these streams forbids the wait, which CUDA reports. Unlike a wait for the device, this
 * disturbs no capture on another stream. */
static bg_status wait_for_default_stream(cudaStream_t stream)
{
    enum cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    cudaError_t error = cudaStreamIsCapturing(cudaStreamLegacy, &capturing);
    cudaEvent_t event = NULL;
    bg_status status = BG_OK;

    bg__clear_cuda_error(error);
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

/* Copies the current contents of memory, from which both runs begin. bg_graph_args may have changed what the graph
 * writes since the last replay. */
static bg_status snapshot_memory(struct bg__replay_shadow *g, const bg_graph *graph)
{
    bg__shadow *s = &g->shadow;
    bg__footprint footprint = {0};
    bg_status status;

    BG__TRY(wait_for_default_stream(s->stream));
    BG__TRY(bg__snapshot_refresh(&s->image, s->stream));
    BG__TRY(bg__footprint_compute(&footprint, graph));
    BG__TRY(bg__snapshot_add_all(&s->image, &footprint.all, s->stream));
    BG__TRY(bg__snapshot_add_all(&s->image, &g->state, s->stream));
done:
    bg__footprint_free(&footprint);
    return status;
}

/* Shares a failure with all ranks, so that no rank continues alone. */
static bg_status share_status(bg__shadow *s, const char *what, bg_status status)
{
    char text[200];
    snprintf(text, sizeof text, "BG_SHADOW, %s of %.120s", what, bg__graph_name(s->graph));
    return bg__ranks_share_failure(&s->ranks, text, status);
}

/* Runs the last replay, once with times for the report. If times cannot be taken, the replay runs again without them,
 * on all ranks. */
static bg_status run_last_replay(struct bg__replay_shadow *g, bg_graph *graph)
{
    bg__shadow *s = &g->shadow;
    cJSON *timings = g->timed ? NULL : bg__report_part(s->report, "timings");
    bg_status status;

    g->timed = true;
    if (timings != NULL) {
        bg__timing_sort_nodes(&g->nodes);
        status = share_status(s, "a replay with times", bg__timings_measure(graph, s->stream, &g->nodes, timings));
        bg__timing_free(&g->nodes);
        if (status == BG_OK)
            return BG_OK;
        bg__warn("BG_SHADOW: a replay of %s could not be timed: %s", bg__graph_name(graph), bg_last_error());
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
    BG__TRY(snapshot_memory(g, graph));
    g->known = true;
    BG__TRY(bg__shadow_run_eager(s, g->every_call, g->every_call));
    BG__TRY(bg__shadow_keep_eager_run(s));
    BG__TRY(bg__shadow_restore(s));
    if (!g->begun) {
        BG__TRY(bg__shadow_set_graph(s, graph));
        BG__TRY(bg__report_add_outline(s->report, graph));
        g->begun = true;
    }
    bg__shadow_report_flow(s);
done:
    return status;
}

/* *differs: outputs of the replay differ, on any rank. *fresh: some of these are not reported yet, on any rank. */
static bg_status compare_replay(bg__shadow *s, bool *differs, bool *fresh)
{
    bg_status status;

    *differs = false;
    BG__TRY(share_status(s, "the comparison", bg__mismatches_compare(s, differs)));
    *fresh = bg__mismatches_any_unreported(s);
    BG__TRY(bg__shadow_any_rank(s, "the replay differs", differs));
    BG__TRY(bg__shadow_any_rank(s, "new outputs differ", fresh));
done:
    return status;
}

/* Compares call by call, and reports the calls at fault. */
static bg_status report_causes(struct bg__replay_shadow *g, bool differs)
{
    bg__shadow *s = &g->shadow;
    bool found = false;
    bg_status status;

    s->times = g->timed ? NULL : &g->nodes;
    status = bg__mismatches_explain(s, g->every_call, differs, &found);
    s->times = NULL;
    BG__TRY(share_status(s, "the walk", status));
    if (found) {
        if (!g->varied && s->earlier[0] == '\0' &&
            !bg__report_is_explained(s->report)) /* otherwise that is the cause */
            BG__TRY(bg__suspects_report_first_varying(&s->suspects, s->graph, s->report));
        g->varied = true;
        BG__TRY(share_status(s, "the restoration", bg__shadow_restore(s)));
    }
done:
    return status;
}

/* Leaves memory as a replay leaves it. *replayed: the status of the replay. */
static bg_status shadow_replay(struct bg__replay_shadow *g, bg_graph *graph, bg_status *replayed)
{
    bg__shadow *s = &g->shadow;
    bool differs, fresh;
    bg_status status;

    BG__TRY(share_status(s, "the eager pass", run_eager(g, graph)));
    *replayed = share_status(s, "a replay", bg__shadow_run_replay(s));
    if (*replayed != BG_OK)
        return BG_OK;
    BG__TRY(compare_replay(s, &differs, &fresh));
    if (g->every_call || fresh) {
        BG__TRY(report_causes(g, differs));
        *replayed = run_last_replay(g, graph);
    }
    BG__TRY(share_status(s, "the races", bg__mismatches_report_races(s)));
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

/* If there are no outputs to compare, what the nodes write is neither compared nor restored. */
static bool compared_nothing(const bg__shadow *s)
{
    return s->output_count == 0 && bg_report_count(s->report) == 0;
}

bg_status bg__shadow_replay(bg_graph *graph, cudaStream_t stream)
{
    struct bg__replay_shadow *g = bg__tools_find(graph)->shadowing;
    bool in_tool = bg__tool_enter();
    char hidden = bg__error_set_aside();
    bg_status status, replayed = BG_OK;

    g->shadow.stream = stream;
    BG__TRY(bg__relaxed_mode_begin(&g->shadow.relaxed)); /* other captures may be running */
    status = shadow_replay(g, graph, &replayed);
done:
    bg__relaxed_mode_end(g->shadow.relaxed);
    bg__tool_leave(in_tool);
    bg__process_report_count_shadow_replay(status == BG_OK && replayed == BG_OK && !compared_nothing(&g->shadow));
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
        bg__error_restore(hidden);
    return replayed;
}
