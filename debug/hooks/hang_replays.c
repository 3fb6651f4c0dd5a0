#include "hang_replays.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "capture/replay.h"
#include "debug/graph/tool_state.h"
#include "debug/hang/hang.h"

struct bg__hang_tracker {
    bg__hang_copy **steps; /* NULL: the step is not followed */
    int count;
    bg__nodes nodes; /* nodes of all segments */
};

/* ---- which steps ------------------------------------------------------------------------------------------------ */

static bg_status follow_step(struct bg__hang_tracker *h, const bg_graph *graph, int index)
{
    const bg__step_view step = bg__graph_step(graph, index);
    const char *why;
    char text[200];
    bg__hang_target what = {.graph = graph, .name = bg__graph_describe_step(graph, index, text, sizeof text)};

    if (step.kind != BG__STEP_LAUNCH && step.kind != BG__STEP_CALL && step.kind != BG__STEP_FORWARD)
        return BG_OK;
    if (step.kind == BG__STEP_LAUNCH) {
        what.segment = step.place;
        what.key = bg__graph_segment(graph, step.place)->exec;
        if (!bg__graph_get_facts(graph).foreign)
            what.source = bg__graph_segment(graph, step.place)->graph;
    }
    what.call = step.call;
    return bg__hang_copy_create(&h->steps[index], &what, &why);
}

void bg__hang_tracker_free(struct bg__hang_tracker *h)
{
    if (h == NULL)
        return;
    for (int i = 0; i < h->count && h->steps != NULL; i++)
        if (h->steps[i] != NULL)
            bg__hang_copy_release(h->steps[i]);
    bg__nodes_free(&h->nodes);
    free(h->steps);
    free(h);
}

static bg_status create_tracker(bg_graph *graph, struct bg__hang_tracker **made)
{
    struct bg__hang_tracker *h = calloc(1, sizeof *h);
    bg_status status = BG_OK;

    if (h != NULL)
        h->steps = calloc((size_t)bg__graph_step_count(graph) + 1, sizeof(bg__hang_copy *));
    if (h == NULL || h->steps == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the steps of %s", bg__graph_name(graph));
    h->count = bg__graph_step_count(graph);
    BG__TRY(bg__nodes_read(graph, &h->nodes));
    for (int i = 0; i < h->count; i++)
        BG__TRY(follow_step(h, graph, i));
    *made = h;
    h = NULL;
done:
    bg__hang_tracker_free(h);
    return status;
}

/* ---- replays ---------------------------------------------------------------------------------------------------- */

/* Writes back outputs in the same way as the write-back nodes of the segment. */
static bg_status run_writebacks(const struct bg__hang_tracker *h, const bg_graph *graph, int segment,
                                cudaStream_t stream)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < h->nodes.count; i++) {
        const bg__node *node = &h->nodes.node[i];
        bg__writeback_view found;
        if (node->segment == segment && node->writeback && bg__graph_find_writeback(graph, node->handle, &found) &&
            found.enabled)
            BG__TRY(bg__writeback_run(&found, stream));
    }
done:
    return status;
}

static bg_status launch_segment(const struct bg__hang_tracker *h, bg_graph *graph, int index, cudaStream_t stream)
{
    const int segment = bg__graph_step(graph, index).place;
    bg__hang_copy *w = h->steps[index];
    bg_status status = BG_OK;
    cudaGraph_t source;
    char text[200];

    if (bg__hang_copy_exec(w, &source) != NULL)
        BG__TRY(run_writebacks(h, graph, segment, stream));
    BG__TRY_CUDA(bg__hang_copy_run(w, stream));
    BG__TRY(bg__watch_ranks_step(graph, index, stream));
done:
    if (status != BG_OK)
        bg__error_add_location("replay, %s", bg__graph_describe_step(graph, index, text, sizeof text));
    return status;
}

static bg_status run_step(const struct bg__hang_tracker *h, bg_graph *graph, int index, cudaStream_t stream)
{
    bg__hang_copy *w = h->steps[index];
    bg_status status;

    if (w == NULL)
        return bg__replay_step(graph, index, stream);
    bg__hang_copy_mark_begin(w, stream);
    status = bg__graph_step(graph, index).kind == BG__STEP_LAUNCH ? launch_segment(h, graph, index, stream)
                                                                  : bg__replay_step(graph, index, stream);
    bg__hang_copy_mark_end(w, stream);
    return status;
}

bg_status bg__hang_tracker_replay(bg_graph *graph, cudaStream_t stream)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    bg__tools *tools;
    bg_status status = bg__tools_get(graph, &tools);

    if (status == BG_OK && tools->hang_tracker == NULL)
        status = create_tracker(graph, &tools->hang_tracker);
    if (status != BG_OK) {
        if (!atomic_flag_test_and_set(&told))
            bg__warn("BG_HANG: the steps of %s cannot be followed, so a hang is not located: %s", bg__graph_name(graph),
                     bg_last_error());
        return bg__replay_steps(graph, stream);
    }
    for (int i = 0; i < tools->hang_tracker->count && status == BG_OK; i++)
        status = run_step(tools->hang_tracker, graph, i, stream);
    return status;
}
