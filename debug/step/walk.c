#include "walk.h"

#include <stdio.h>
#include <string.h>

#include "capture/replay.h"
#include "step_agreement.h"
#include "debug/hang/hang.h"

/* ---- nodes ---- */

static void name_node(const bg__step_call *innermost, const bg__step_node *node, const bg__writeback *writer,
                      bg__walk_unit *u)
{
    if (writer != NULL)
        u->call = writer->call;
    else
        u->call = innermost != NULL ? innermost->call : node->node->call; /* of a graph without tensors */
    if (writer != NULL)
        snprintf(u->node, sizeof u->node, "segment %d, node %s (write-back)", u->segment, node->place);
    else if (u->kernel.name[0] != '\0')
        snprintf(u->node, sizeof u->node, "segment %d, node %s (kernel %.*s%s)", u->segment, node->place,
                 BG__KERNEL_NAME_SHOWN, u->kernel.name, strlen(u->kernel.name) > BG__KERNEL_NAME_SHOWN ? "..." : "");
    else
        snprintf(u->node, sizeof u->node, "segment %d, node %s (%s)", u->segment, node->place,
                 bg__node_kind(node->node));
}

/* Runs a write-back with the outputs of the calls that have run in this replay. */
static bg_status run_writeback(const bg__walking *w, const bg__writeback *writer, cudaError_t *fault)
{
    bg__relaxed relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg__timer *timer = w->options->timer;
    bg_status status;
    BG__TRY(bg__relax_begin(&relaxed));
    if (timer != NULL)
        BG__TRY_CUDA(cudaEventRecord(timer->begin, w->stream));
    BG__TRY(bg__writeback_run(writer, w->stream));
    if (timer != NULL)
        BG__TRY_CUDA(cudaEventRecord(timer->end, w->stream));
    *fault = cudaStreamSynchronize(w->stream);
    bg__ignore(*fault);
    if (timer != NULL && *fault == cudaSuccess)
        BG__TRY(bg__timer_read(timer));
done:
    bg__relax_end(relaxed);
    return status;
}

static bg_status run_node(bg__walking *w, bg__step_part *p, int segment, const bg__step_node *node)
{
    bg__writeback found;
    bool writes_back = node->node->writeback && bg__graph_find_writeback(w->graph, node->node->handle, &found);
    const bg__writeback *writer = writes_back ? &found : NULL;
    bg__step_call *innermost = bg__step_calls_find(p->calls, node->outer);
    const bg__node_watcher *watcher = w->options->watcher;
    cudaError_t fault = cudaSuccess;
    bg__walk_unit u = {.segment = segment};
    bool enabled = true;
    bg_status status;

    BG__TRY(bg__step_is_enabled(w->graph, segment, node->node, &enabled));
    if (!enabled || (writer != NULL && !writer->enabled))
        goto done;
    bg__step_describe(node->node, &u.kernel);
    name_node(innermost, node, writer, &u);
    bg__walk_show(w, &u);
    if (watcher != NULL && w->options->stop != NULL && u.call != NULL) /* each node is a call */
        u.stop = bg__step_is_named(u.call, w->options->stop);
    BG__TRY(bg__walk_begin_calls(w, p, innermost));
    if (watcher != NULL)
        watcher->before(watcher->user, node->node, w->report, w->options->dump != NULL, w->stream);
    bg__hang_node_begin(w->graph, node->node, u.call);
    status = writer != NULL ? run_writeback(w, writer, &fault)
                            : bg__step_run_alone(node->node, w->stream, w->options->timer, &w->parts.last, &fault);
    bg__hang_node_end();
    if (status != BG_OK)
        goto done;
    w->end->ran = true;
    w->end->looked.nodes++;
    if (fault == cudaSuccess && watcher != NULL)
        watcher->after(watcher->user, node->node, u.node, w->report, w->options->dump, w->stream);
    if (fault != cudaSuccess)
        bg__walk_report_fault(w, &u, fault);
    else
        BG__TRY(bg__walk_end_calls(w, innermost, &u));
    if (w->options->timed != NULL && fault == cudaSuccess)
        BG__TRY(w->options->timed(w->options->user, node, u.call));
    bg__walk_announce(w, &u, fault);
done:
    if (status != BG_OK && u.node[0] != '\0')
        bg__fail_where("%s", u.node);
    return status;
}

/* ---- steps ---- */

static bg_status wait_for_step(const bg__walking *w, cudaError_t *fault)
{
    bg__relaxed relaxed;
    bg_status status;
    status = bg__relax_begin(&relaxed);
    if (status != BG_OK && bg__step_insists()) /* retry, since the work is already queued */
        status = bg__relax_begin(&relaxed);
    if (status != BG_OK)
        goto done;
    *fault = bg__step_wait(w->stream);
    bg__relax_end(relaxed);
    bg__ignore(*fault);
done:
    return status;
}

static bg_status replay_step(bg__walking *w, int number)
{
    bg_status failed = bg__replay_step(w->graph, number, w->stream);
    if (failed != BG_OK && bg__graph_step(w->graph, number).kind == BG__LAUNCH &&
        bg__step_insists()) /* a failed launch has queued nothing */
        failed = bg__replay_step(w->graph, number, w->stream);
    w->end->ran = true;
    bg__pending_note(); /* a body may have left a CUDA error */
    return failed;
}

/* Runs one step as a replay does: an eager call, a copy, an event, or a whole segment. */
static bg_status walk_step(bg__walking *w, int number)
{
    const bg__step_view step = bg__graph_step(w->graph, number);
    const bg__call *eager = step.kind == BG__CALL ? step.call : NULL;
    bg__held inputs = {.nan = 0};
    cudaError_t fault = cudaSuccess;
    bg__walk_unit u = {.call = step.call, .segment = step.kind == BG__LAUNCH ? step.place : -1};
    bg_status status, failed;

    bg__step_text(w->graph, number, u.node, sizeof u.node);
    bg__walk_show(w, &u);
    if (eager != NULL)
        BG__TRY(bg__walk_begin_around(w, eager));
    if (eager != NULL)
        BG__TRY(bg__walk_begin_call(w, eager, step.args, &inputs));
    if (eager != NULL) /* the body may print */
        bg__progress_clear(&w->progress);
    failed = replay_step(w, number);
    w->end->looked.nodes += step.kind != BG__LAUNCH;
    w->end->looked.whole += step.kind == BG__LAUNCH;
    if (failed != BG_OK)
        bg__walk_report_failure(w, &u, failed);
    else
        BG__TRY(wait_for_step(w, &fault));
    if (fault != cudaSuccess)
        bg__walk_report_fault(w, &u, fault);
    for (size_t i = 0;
         step.kind == BG__LAUNCH && w->options->stop != NULL && i < w->parts.list[step.place].calls->count; i++)
        u.stop |= bg__step_is_named(w->parts.list[step.place].calls->calls[i].call, w->options->stop);
    if (eager != NULL && !w->end->early)
        BG__TRY(bg__walk_finish_call(w, eager, step.left, &inputs, &u));
    bg__walk_announce(w, &u, failed != BG_OK ? bg__fail_cause() : fault);
    status = BG_OK;
done:
    return status;
}

/* ---- what is before options.from ---- */

/* Launches the step without waiting for it. */
static void skip_step(bg__walking *w, int number)
{
    const bg__step_view step = bg__graph_step(w->graph, number);
    bg__walk_unit u = {.call = step.call, .segment = step.kind == BG__LAUNCH ? step.place : -1};
    bg_status failed;

    bg__step_text(w->graph, number, u.node, sizeof u.node);
    bg__walk_skip_calls(w, step);
    failed = replay_step(w, number);
    if (failed != BG_OK)
        bg__walk_report_failure(w, &u, failed);
}

/* Runs a node before options.from, in the segment in which stepping begins. */
static bg_status skip_node(bg__walking *w, const bg__step_part *p, int segment, const bg__step_node *node)
{
    bg__writeback found;
    bool writes_back = node->node->writeback && bg__graph_find_writeback(w->graph, node->node->handle, &found);
    bg__step_call *innermost = bg__step_calls_find(p->calls, node->outer);
    cudaError_t fault = cudaSuccess;
    bg__walk_unit u = {.segment = segment};
    bool enabled;
    bg_status status;

    for (bg__step_call *c = innermost; c != NULL; c = c->outer) {
        bg__walk_begin_unknown(c);
        c->left--;
    }
    BG__TRY(bg__step_is_enabled(w->graph, segment, node->node, &enabled));
    if (!enabled || (writes_back && !found.enabled))
        goto done;
    bg__step_describe(node->node, &u.kernel);
    name_node(innermost, node, writes_back ? &found : NULL, &u);
    BG__TRY(writes_back ? run_writeback(w, &found, &fault)
                        : bg__step_run_alone(node->node, w->stream, NULL, &w->parts.last, &fault));
    w->end->ran = true;
    if (fault != cudaSuccess)
        bg__walk_report_fault(w, &u, fault);
done:
    return status;
}

/* Waits after the last skipped step, so that its fault is not reported for the next node. */
static bg_status wait_for_skipped(bg__walking *w)
{
    cudaError_t fault = cudaSuccess;
    bg__walk_unit u = {.segment = -1};
    bg_status status;

    BG__TRY(wait_for_step(w, &fault));
    snprintf(u.node, sizeof u.node, "what is before index %d, which was launched as a whole,", w->index);
    if (fault != cudaSuccess)
        bg__walk_report_fault(w, &u, fault);
done:
    return status;
}

/* Steps before options.from are replayed as a whole, which takes as long as a replay. */
static bool is_skipped(const bg__walking *w, bg__step_view step)
{
    return step.kind != BG__SYNC && w->index + bg__step_parts_count(&w->parts, step) <= w->from;
}

/* ---- the walk ---- */

static bg_status run_segment(bg__walking *w, int number)
{
    int segment = bg__graph_step(w->graph, number).place;
    bg__step_part *p = &w->parts.list[segment];
    bg_status status = BG_OK;

    if (bg__step_part_is_whole(p)) {
        if (!p->refused)
            bg__report_add(
                w->report, "not-stepped", BG_NOTE, NULL, NULL,
                "to step through its nodes, give cuBLAS a workspace (bg_cublas_bind) and allocate before the "
                "capture",
                "segment %d of %s ran as a whole: it has %s", segment, bg__graph_name(w->graph), p->list.whole);
        BG__TRY(walk_step(w, number));
        for (size_t i = 0; !w->end->early && i < p->calls->count; i++)
            if (p->calls->calls[i].last)
                BG__TRY(bg__walk_tell_end(w, p->calls->calls[i].call, p->calls->calls[i].call->kept, true));
        w->index++;
        goto done;
    }
    if (bg__graph_get_facts(w->graph).foreign)
        bg__report_add(w->report, "from-source", BG_NOTE, NULL, NULL,
                       "to step with the parameters of the executable graph, set them in the source graph, too "
                       "(cudaGraphKernelNodeSetParams)",
                       "the nodes of %s ran with the parameters of its source graph: CUDA does not report those that "
                       "cudaGraphExecKernelNodeSetParams and similar calls set in the executable graph",
                       bg__graph_name(w->graph));
    for (size_t i = 0; i < p->list.count && !w->end->early; i++) {
        const bg__step_node *node = &p->list.nodes[i];
        BG__TRY(w->index < w->from ? skip_node(w, p, segment, node) : run_node(w, p, segment, node));
        w->index++;
    }
done:
    return status;
}

static bg_status run_all(bg__walking *w)
{
    bg_status status = BG_OK;
    for (int i = 0; i < bg__graph_step_count(w->graph) && !w->end->early; i++) {
        bg__step_view step = bg__graph_step(w->graph, i);
        if (is_skipped(w, step)) {
            skip_step(w, i);
            w->index += bg__step_parts_count(&w->parts, step);
            status = w->end->early || is_skipped(w, bg__graph_step(w->graph, i + 1)) ? BG_OK : wait_for_skipped(w);
        } else if (step.kind == BG__LAUNCH) {
            status = run_segment(w, i);
        } else if (step.kind != BG__SYNC) { /* the walk waits after each step */
            status = walk_step(w, i);
            w->index++;
        }
        BG__TRY(bg__step_end_together(w->graph, step, w->report, w->end, status));
    }
done:
    return status;
}

/* lead: "BG_STEP_STOP=". first: the lowest valid index. */
static bg_status refuse_unknown(const bg__walking *w, const char *lead, const char *name, int first)
{
    bg__nearest nearest = bg__nearest_to(name, strlen(name));
    char hint[BG__HINT_BYTES];
    for (const bg__call *c = bg__call_next(bg__graph_root(w->graph)); c != NULL; c = bg__call_next(c))
        bg__nearest_add(&nearest, c->name, strlen(c->name));
    return bg__fail(BG_ERROR_NOT_FOUND,
                    "%s%s: %s runs no call of that name%s, and nothing of that index (%d to %d); "
                    "bg_graph_get_call lists the calls",
                    lead, name, bg__graph_name(w->graph), bg__nearest_hint(&nearest, "", hint), first,
                    w->parts.total - 1);
}

static bg_status fail_unstopped(const bg__walking *w)
{
    return refuse_unknown(w, "BG_STEP_STOP=", w->options->stop, w->from);
}

/* Runs before anything else, so that a dump that continues does not become complete. With a watcher, options.stop may
 * be in another graph of the program, so this graph runs anyway. */
static bg_status check_stop(const bg__walking *w)
{
    const char *stop = w->options->stop;
    return stop == NULL || w->options->watcher != NULL || bg__step_parts_find(&w->parts, stop, w->from) >= 0
               ? BG_OK
               : fail_unstopped(w);
}

static bg_status find_from(bg__walking *w)
{
    const bg__walk_options *options = w->options;
    bg_status status = BG_OK;

    if (options->from != NULL) {
        w->from = bg__step_parts_find(&w->parts, options->from, 0);
        if (w->from < 0)
            BG__TRY(refuse_unknown(w, options->command != NULL ? "BG_STEP_FROM=" : "bg_step_from, ", options->from, 0));
    }
    if (options->dump != NULL)
        BG__TRY(bg__dump_begin(options->dump, w->parts.total, bg__step_parts_hash(&w->parts), options->from != NULL,
                               &w->from));
    BG__TRY(check_stop(w));
    w->end->looked.skipped = (size_t)w->from;
done:
    return status;
}

/* options.stop was not reached: it is in another graph, or at a disabled node. */
static void end_unstopped(bg__walking *w)
{
    w->end->what = fail_unstopped(w);
    snprintf(w->end->text, sizeof w->end->text, "%s", bg_last_error());
}

bg_status bg__walk(bg_graph *graph, cudaStream_t stream, const bg__walk_options *options, bg_report *report,
                   bg__walk_end *end)
{
    bg__walking w = {.graph = graph,
                     .stream = stream,
                     .options = options,
                     .report = report,
                     .end = end,
                     .look = {.stream = stream, .report = report}};
    cudaError_t before = cudaSuccess;
    bg_status status;

    *end = (bg__walk_end){.what = BG_OK};
    BG__TRY(wait_for_step(&w, &before)); /* earlier work may have left an error, which is not the first node's */
    if (before != cudaSuccess) {
        status = bg__fail_cuda(before, "cudaStreamSynchronize");
        bg__fail_where("the work on the stream before the step");
        goto done;
    }
    BG__TRY(bg__step_parts_read(&w.parts, graph, options->order, report));
    BG__TRY(bg__device_alloc(sizeof *w.look.room, (void **)&w.look.room));
    BG__TRY(find_from(&w));
    if (options->progress)
        w.progress = bg__progress_begin("step", w.from, w.parts.total);
    BG__TRY(run_all(&w));
    end->whole |= !end->early;
    if (!end->early && options->stop != NULL)
        end_unstopped(&w);
done:
    bg__progress_clear(&w.progress);
    end->looked.elements = w.look.elements;
    if (options->watcher != NULL)
        options->watcher->rest(options->watcher->user);
    bg__device_free(w.look.room);
    bg__step_parts_free(&w.parts);
    return status;
}
