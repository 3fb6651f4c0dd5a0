#include "replay_tools.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "dot_files.h"
#include "debug/hang/hang.h"
#include "debug/report/process_report.h"
#include "debug/shadow/shadow.h"
#include "hang_replays.h"
#include "step_replays.h"
#include "debug/trace/trace.h"
#include "debug/graph/tool_state.h"

/* Returns the file of BG_TRACE once: for the first replay of the first graph of this process. */
static const char *claim_trace_path(void)
{
    static atomic_flag taken = ATOMIC_FLAG_INIT;
    const char *path = bg__env_value("BG_TRACE");
    if (path == NULL || atomic_flag_test_and_set(&taken))
        return NULL;
    return path;
}

static bool stays_diverted(const bg_graph *graph)
{
    const bg__tools *tools = bg__tools_find(graph);
    return bg__watch_ranks_is_on(graph) || bg__hangs_wanted() ||
           (tools != NULL && (tools->stepping != NULL || tools->shadowing != NULL));
}

/* Whether replays of a new graph go through the tools, until its first replay. */
static bool begins_diverted(const bg_graph *graph)
{
    const bg__tools *tools = bg__tools_find(graph);
    return stays_diverted(graph) || (tools != NULL && (tools->trace != NULL || tools->reported));
}

static bg_status trace_next_replay(bg_graph *graph)
{
    const char *path = claim_trace_path();
    bg__tools *tools;
    bg_status status = BG_OK;

    if (path == NULL)
        return BG_OK;
    BG__TRY(bg__tools_get(graph, &tools));
    tools->trace = path;
done:
    return status;
}

bg_status bg__replay_tools_check_env(bg_graph *graph, bool steps)
{
    bg_status status = BG_OK;

    if (!bg__thread_self()->in_tool)
        BG__TRY(bg__shadow_env_check());
    BG__TRY(bg__hangs_begin());
    if (steps)
        BG__TRY(bg__stepping_create(graph));
done:
    return status;
}

bg_status bg__replay_tools_attach(bg_graph *graph, bg_forward forward, void *user, const bg_capture_options *options)
{
    bg_status status = BG_OK;

    if (!bg__thread_self()->in_tool) {
        BG__TRY(bg__shadow_attach(graph, forward, user, options));
        BG__TRY(trace_next_replay(graph));
        bg__process_report_add_graph(graph);
        bg__dot_files_write(graph);
    }
    bg__graph_set_diverted(graph, begins_diverted(graph));
done:
    return status;
}

/* If the trace file cannot be written, the replay has still succeeded. */
static bg_status replay_traced(bg_graph *graph, cudaStream_t stream, const char *path)
{
    char hidden = bg__error_set_aside();
    bg_status status = bg__trace_replay(graph, stream, path);

    if (status == BG_ERROR_IO) {
        bg__warn("BG_TRACE: %s", bg_last_error());
        status = BG_OK;
    }
    if (status == BG_OK)
        bg__error_restore(hidden);
    return status;
}

static bg_status replay_with_tools(bg_graph *graph, cudaStream_t stream)
{
    bg__tools none = {.trace = NULL}, *tools = bg__tools_find(graph);
    const char *trace;

    if (tools == NULL || bg__thread_self()->in_tool) /* only the watchdog of ranks is notified of the replay */
        tools = &none;
    trace = tools->trace;
    tools->trace = NULL;
    if (tools->stepping != NULL)
        return bg__stepping_replay(graph, stream);
    if (tools->shadowing != NULL) {
        bg_status status = bg__shadow_replay(graph, stream);
        if (status != BG_OK || trace == NULL || !bg__shadow_undo_replay(graph))
            return status;
    }
    if (trace != NULL)
        return replay_traced(graph, stream, trace);
    return bg__hangs_wanted() && !bg__thread_self()->in_tool ? bg__hang_tracker_replay(graph, stream)
                                                             : bg__replay_steps(graph, stream);
}

bg_status bg__replay_tools_replay(bg_graph *graph, cudaStream_t stream)
{
    const bg__tools *tools = bg__tools_find(graph);
    bool in_tool = bg__thread_self()->in_tool, entered;
    bg_status status;

    BG__TRY(bg__watch_ranks_enter(graph, &entered));
    status = replay_with_tools(graph, stream);
    if (entered)
        bg__watch_ranks_leave(graph);
    if (in_tool)
        return status;
    if (status == BG_OK && tools != NULL && tools->reported)
        bg__process_report_count_replay(graph);
    if (status == BG_OK)
        bg__graph_set_diverted(graph, stays_diverted(graph));
done:
    return status;
}

void bg__replay_tools_detach(bg_graph *graph)
{
    bg__tools *tools = bg__tools_find(graph);

    if (tools->reported)
        bg__process_report_end_graph(graph);
    bg__shadow_detach(tools->shadowing);
    bg__stepping_free(tools->stepping);
    bg__hang_tracker_free(tools->hang_tracker);
    if (tools->used != NULL)
        bg__allocations_free(tools->used);
    free(tools->used);
    bg_report_destroy(tools->checked);
    free(tools);
}
