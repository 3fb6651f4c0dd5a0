#include "hang_replays.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "capture/replay.h"
#include "debug/graph/tools.h"
#include "debug/hang/hang.h"

struct bg__hanging {
    bg__watched **steps; /* NULL: the step is not followed */
    int count;
    bg__nodes nodes; /* nodes of all segments */
};

/* ---- which steps ------------------------------------------------------------------------------------------------ */

static bg_status follow_step(struct bg__hanging *h, const bg_graph *graph, int index)
{
    const bg__step_view step = bg__graph_step(graph, index);
    const char *why;
    char text[200];
    bg__watched_what what = {.graph = graph, .name = bg__step_text(graph, index, text, sizeof text)};

    if (step.kind != BG__LAUNCH && step.kind != BG__CALL && step.kind != BG__FORWARD)
        return BG_OK;
    if (step.kind == BG__LAUNCH) {
        what.segment = step.place;
        what.key = bg__graph_segment(graph, step.place)->exec;
        if (!bg__graph_get_facts(graph).foreign)
            what.source = bg__graph_segment(graph, step.place)->graph;
    }
    what.call = step.call;
    return bg__watched_create(&h->steps[index], &what, &why);
}

void bg__hanging_end(struct bg__hanging *h)
{
    if (h == NULL)
        return;
    for (int i = 0; i < h->count && h->steps != NULL; i++)
        if (h->steps[i] != NULL)
            bg__watched_drop(h->steps[i]);
    bg__nodes_free(&h->nodes);
    free(h->steps);
    free(h);
}

static bg_status begin(bg_graph *graph, struct bg__hanging **made)
{
    struct bg__hanging *h = calloc(1, sizeof *h);
    bg_status status = BG_OK;

    if (h != NULL)
        h->steps = calloc((size_t)bg__graph_step_count(graph) + 1, sizeof(bg__watched *));
    if (h == NULL || h->steps == NULL)
        BG__FAIL(BG_ERROR_OUT_OF_MEMORY, "out of host memory for the steps of %s", bg__graph_name(graph));
    h->count = bg__graph_step_count(graph);
    BG__TRY(bg__nodes_take(graph, &h->nodes));
    for (int i = 0; i < h->count; i++)
        BG__TRY(follow_step(h, graph, i));
    *made = h;
    h = NULL;
done:
    bg__hanging_end(h);
    return status;
}

/* ---- replays ---------------------------------------------------------------------------------------------------- */

/* Writes back outputs as the write-back nodes of the segment would. */
static bg_status write_back(const struct bg__hanging *h, const bg_graph *graph, int segment, cudaStream_t stream)
{
    bg_status status = BG_OK;
    for (size_t i = 0; i < h->nodes.count; i++) {
        const bg__node *node = &h->nodes.node[i];
        bg__writeback found;
        if (node->segment == segment && node->writeback && bg__graph_find_writeback(graph, node->handle, &found) &&
            found.enabled)
            BG__TRY(bg__writeback_run(&found, stream));
    }
done:
    return status;
}

static bg_status launch(const struct bg__hanging *h, bg_graph *graph, int index, cudaStream_t stream)
{
    const int segment = bg__graph_step(graph, index).place;
    bg__watched *w = h->steps[index];
    bg_status status = BG_OK;
    cudaGraph_t source;
    char text[200];

    if (bg__watched_copy(w, &source) != NULL)
        BG__TRY(write_back(h, graph, segment, stream));
    BG__TRY_CUDA(bg__watched_run(w, stream));
    BG__TRY(bg__watch_step(graph, index, stream));
done:
    if (status != BG_OK)
        bg__fail_where("replay, %s", bg__step_text(graph, index, text, sizeof text));
    return status;
}

static bg_status run_step(const struct bg__hanging *h, bg_graph *graph, int index, cudaStream_t stream)
{
    bg__watched *w = h->steps[index];
    bg_status status;

    if (w == NULL)
        return bg__replay_step(graph, index, stream);
    bg__watched_begin(w, stream);
    status = bg__graph_step(graph, index).kind == BG__LAUNCH ? launch(h, graph, index, stream)
                                                             : bg__replay_step(graph, index, stream);
    bg__watched_end(w, stream);
    return status;
}

bg_status bg__hanging_replay(bg_graph *graph, cudaStream_t stream)
{
    static atomic_flag told = ATOMIC_FLAG_INIT;
    bg__tools *tools;
    bg_status status = bg__tools_get(graph, &tools);

    if (status == BG_OK && tools->hanging == NULL)
        status = begin(graph, &tools->hanging);
    if (status != BG_OK) {
        if (!atomic_flag_test_and_set(&told))
            bg__warn("BG_HANG: it is not known in which step %s hangs: %s", bg__graph_name(graph), bg_last_error());
        return bg__replay_steps(graph, stream);
    }
    for (int i = 0; i < tools->hanging->count && status == BG_OK; i++)
        status = run_step(tools->hanging, graph, i, stream);
    return status;
}
