/* BG_ATTACH_PROBE: a copy of each graph is launched in its place, in which nodes behind the chosen ones look at what
 * these have written. */
#include "probes.h"

#include <limits.h>
#include <stdlib.h>

#include "debug/attach/split/node_patterns.h"
#include "debug/attach/captures/captures.h"
#include "debug/attach/report/report_list.h"
#include "debug/report/process_report.h"
#include "launches.h"

/* ---- one graph -------------------------------------------------------------------------------------------------- */

static void drop_probes(void *own)
{
    bg__probes_free(own);
}

static bg_status launch_copy(bg__probes *p, cudaStream_t stream, CUresult *result)
{
    bg_status status = BG_OK;

    bg__probes_read(p);
    bg__runs_enter_launch();
    if (p->launched - p->read >= BG__PROBE_ROWS &&
        !bg__captures_are_open()) { /* the ring is full; to wait breaks captures */
        bg__probes_wait(p);
        bg__probes_read(p);
    }
    BG__TRY_CUDA(cudaGraphLaunch(p->exec, stream)); /* else the program's own graph is launched */
    *result = CUDA_SUCCESS;
    p->launched++;
done:
    bg__runs_leave_launch();
    return status;
}

static void leave_out(bg__seen *s, const bg__runs *r, const char *why)
{
    s->done = true;
    bg__process_report_add_unchecked("probe", bg__graph_name(r->attached->graph), why);
}

/* The first launch: the nodes run one after the other, to see what they write. */
static bg_status look(bg__runs *r, bg__seen *s)
{
    bg__probes *p = calloc(1, sizeof *p);
    bg_status status;

    if (p == NULL)
        return bg__fail(BG_ERROR_OUT_OF_MEMORY, "out of host memory for probes of %s",
                        bg__graph_name(r->attached->graph));
    p->attached = r->attached;
    p->before = bg__graph_replays(r->attached->graph);
    BG__TRY(bg__probes_learn(p, r));
    if (p->count == 0) {
        leave_out(s, r,
                  "no node that --probe names was seen to change memory that its parameters point to; nodes of "
                  "child graphs are not probed");
        goto done;
    }
    BG__TRY(bg__probes_build(p, r));
    bg__seen_count(s, r);
    s->own = p;
    p = NULL;
done:
    bg__probes_free(p);
    return status;
}

static bool launch(bg__tracked_graph *a, cudaStream_t stream, CUresult *result)
{
    static const bg__fusions_check check = {"probe", INT_MAX, .look = look, .drop = drop_probes};
    cudaStream_t used = stream != NULL ? stream : cudaStreamLegacy;
    bg__seen *s;
    bool launched = bg__runs_launch(a, stream, result, &check);

    s = a->kept;
    if (launched || s == NULL || s->own == NULL)
        return launched;
    return launch_copy(s->own, used, result) == BG_OK;
}

/* Launches that have not ended by then are not read. */
static void settle(bg__tracked_graph *a)
{
    bg__seen *s = a->kept;
    if (s->own != NULL && !bg__captures_are_open())
        bg__probes_wait(s->own);
}

/* The graph has changed, or is about to go, or the program ends. */
static void end(bg__tracked_graph *a)
{
    bg__seen *s = a->kept;
    bg__runs_end(a);
    if (s == NULL || s->own == NULL)
        return;
    bg__probes_read(s->own);
    bg__probes_list(s->own);
    bg__report_publish_new(a->report, &a->reported_count);
    bg__process_report_add(a->report);
}

bg_status bg__probes_begin(const bg__launcher **launcher)
{
    static const bg__launcher this = {
        .name = "probe", .launch = launch, .drop = bg__seen_drop, .end = end, .settle = settle, .queues = true};
    bool wanted;
    bg_status status;

    BG__TRY(bg__node_patterns_begin("BG_ATTACH_PROBE", &wanted));
    if (!wanted)
        goto done;
    BG__TRY(bg__image_begin());
    *launcher = &this;
done:
    return status;
}
