#include "walk.h"

#include <stdio.h>
#include <string.h>

#include "capture/replay.h"
#include "step_agreement.h"
#include "debug/hang/hang.h"

/* ---- nodes ---- */

static void name_unit(const bg__step_call *innermost, const bg__step_node *node, const bg__writeback_view *writer,
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
static bg_status run_writeback(const bg__walk_state *w, const bg__writeback_view *writer, cudaError_t *fault)
{
    bg__relaxed_mode relaxed = {cudaStreamCaptureModeRelaxed, false};
    bg__timer *timer = w->options->timer;
    bg_status status;
    BG__TRY(bg__relaxed_mode_begin(&relaxed));
    if (timer != NULL)
        BG__TRY_CUDA(cudaEventRecord(timer->begin, w->stream));
    BG__TRY(bg__writeback_run(writer, w->stream));
    if (timer != NULL)
        BG__TRY_CUDA(cudaEventRecord(timer->end, w->stream));
    *fault = cudaStreamSynchronize(w->stream);
    bg__clear_cuda_error(*fault);
    if (timer != NULL && *fault == cudaSuccess)
        BG__TRY(bg__timer_read(timer));
done:
    bg__relaxed_mode_end(relaxed);
    return status;
}

static bg_status run_node(bg__walk_state *w, bg__step_part *p, int segment, const bg__step_node *node)
{
    bg__writeback_view found;
    bool writes_back = node->node->writeback && bg__graph_find_writeback(w->graph, node->node->handle, &found);
    const bg__writeback_view *writer = writes_back ? &found : NULL;
    bg__step_call *innermost = bg__step_calls_find_by_node(p->calls, node->outer);
    const bg__node_observer *watcher = w->options->watcher;
    cudaError_t fault = cudaSuccess;
    bg__walk_unit u = {.segment = segment};
    bool enabled = true;
    bg_status status;

    BG__TRY(bg__step_node_is_enabled(w->graph, segment, node->node, &enabled));
    if (!enabled || (writer != NULL && !writer->enabled))
        goto done;
    bg__step_kernel_read(node->node, &u.kernel);
    name_unit(innermost, node, writer, &u);
    bg__walk_show_progress(w, &u);
    if (watcher != NULL && w->options->stop != NULL && u.call != NULL) /* each node is a call */
        u.stop = bg__step_call_is_named(u.call, w->options->stop);
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
    bg__walk_notify_unit(w, &u, fault);
done:
    if (status != BG_OK && u.node[0] != '\0')
        bg__error_add_location("%s", u.node);
    return status;
}

/* ---- steps ---- */

static bg_status wait_for_stream(const bg__walk_state *w, cudaError_t *fault)
{
    bg__relaxed_mode relaxed;
    bg_status status;
    status = bg__relaxed_mode_begin(&relaxed);
    if (status != BG_OK && bg__step_retries()) /* retry, since the work is already queued */
        status = bg__relaxed_mode_begin(&relaxed);
    if (status != BG_OK)
        goto done;
    *fault = bg__step_synchronize(w->stream);
    bg__relaxed_mode_end(relaxed);
    bg__clear_cuda_error(*fault);
done:
    return status;
}

static bg_status replay_step(bg__walk_state *w, int number)
{
    bg_status failed = bg__replay_step(w->graph, number, w->stream);
    if (failed != BG_OK && bg__graph_step(w->graph, number).kind == BG__STEP_LAUNCH &&
        bg__step_retries()) /* a failed launch has queued nothing */
        failed = bg__replay_step(w->graph, number, w->stream);
    w->end->ran = true;
    bg__foreign_error_note(); /* a body may have left a CUDA error */
    return failed;
}

/* Runs one step as a replay does: an eager call, a copy, an event, or a whole segment. */
static bg_status run_step(bg__walk_state *w, int number)
{
    const bg__step_view step = bg__graph_step(w->graph, number);
    const bg__call *eager = step.kind == BG__STEP_CALL ? step.call : NULL;
    bg__special_counts inputs = {.nan = 0};
    cudaError_t fault = cudaSuccess;
    bg__walk_unit u = {.call = step.call, .segment = step.kind == BG__STEP_LAUNCH ? step.place : -1};
    bg_status status, failed;

    bg__graph_describe_step(w->graph, number, u.node, sizeof u.node);
    bg__walk_show_progress(w, &u);
    if (eager != NULL)
        BG__TRY(bg__walk_begin_enclosing_calls(w, eager));
    if (eager != NULL)
        BG__TRY(bg__walk_begin_call(w, eager, step.args, &inputs));
    if (eager != NULL) /* the body may print */
        bg__progress_clear(&w->progress);
    failed = replay_step(w, number);
    w->end->looked.nodes += step.kind != BG__STEP_LAUNCH;
    w->end->looked.whole += step.kind == BG__STEP_LAUNCH;
    if (failed != BG_OK)
        bg__walk_report_failure(w, &u, failed);
    else
        BG__TRY(wait_for_stream(w, &fault));
    if (fault != cudaSuccess)
        bg__walk_report_fault(w, &u, fault);
    for (size_t i = 0;
         step.kind == BG__STEP_LAUNCH && w->options->stop != NULL && i < w->parts.list[step.place].calls->count; i++)
        u.stop |= bg__step_call_is_named(w->parts.list[step.place].calls->calls[i].call, w->options->stop);
    if (eager != NULL && !w->end->early)
        BG__TRY(bg__walk_finish_call(w, eager, step.left, &inputs, &u));
    bg__walk_notify_unit(w, &u, failed != BG_OK ? bg__error_cuda_cause() : fault);
    status = BG_OK;
done:
    return status;
}

/* ---- what is before options.from ---- */

/* Launches the step without waiting for it. */
static void skip_step(bg__walk_state *w, int number)
{
    const bg__step_view step = bg__graph_step(w->graph, number);
    bg__walk_unit u = {.call = step.call, .segment = step.kind == BG__STEP_LAUNCH ? step.place : -1};
    bg_status failed;

    bg__graph_describe_step(w->graph, number, u.node, sizeof u.node);
    bg__walk_skip_calls(w, step);
    failed = replay_step(w, number);
    if (failed != BG_OK)
        bg__walk_report_failure(w, &u, failed);
}

/* Runs a node before options.from, in the segment in which stepping begins. */
static bg_status skip_node(bg__walk_state *w, const bg__step_part *p, int segment, const bg__step_node *node)
{
    bg__writeback_view found;
    bool writes_back = node->node->writeback && bg__graph_find_writeback(w->graph, node->node->handle, &found);
    bg__step_call *innermost = bg__step_calls_find_by_node(p->calls, node->outer);
    cudaError_t fault = cudaSuccess;
    bg__walk_unit u = {.segment = segment};
    bool enabled;
    bg_status status;

    for (bg__step_call *c = innermost; c != NULL; c = c->outer) {
        bg__walk_begin_uncounted(c);
        c->left--;
    }
    BG__TRY(bg__step_node_is_enabled(w->graph, segment, node->node, &enabled));
    if (!enabled || (writes_back && !found.enabled))
        goto done;
    bg__step_kernel_read(node->node, &u.kernel);
    name_unit(innermost, node, writes_back ? &found : NULL, &u);
    BG__TRY(writes_back ? run_writeback(w, &found, &fault)
                        : bg__step_run_alone(node->node, w->stream, NULL, &w->parts.last, &fault));
    w->end->ran = true;
    if (fault != cudaSuccess)
        bg__walk_report_fault(w, &u, fault);
done:
    return status;
}

/* Waits after the last skipped step, so that its fault is not reported for the next node. */
static bg_status wait_for_skipped(bg__walk_state *w)
{
    cudaError_t fault = cudaSuccess;
    bg__walk_unit u = {.segment = -1};
    bg_status status;

    BG__TRY(wait_for_stream(w, &fault));
    snprintf(u.node, sizeof u.node, "what is before index %d, which was launched as a whole,", w->index);
    if (fault != cudaSuccess)
        bg__walk_report_fault(w, &u, fault);
done:
    return status;
}

/* Steps before options.from are replayed as a whole, which takes as long as a replay. */
static bool is_skipped(const bg__walk_state *w, bg__step_view step)
{
    return step.kind != BG__STEP_SYNC && w->index + bg__step_parts_count(&w->parts, step) <= w->from;
}

/* ---- the walk ---- */

static bg_status walk_segment(bg__walk_state *w, int number)
{
    int segment = bg__graph_step(w->graph, number).place;
    bg__step_part *p = &w->parts.list[segment];
    bg_status status = BG_OK;

    if (bg__step_part_is_whole(p)) {
        if (!p->refused)
            bg__report_add(
                w->report, "not-stepped", BG_NOTE, NULL, NULL,
                "to step through its nodes, give cuBLAS a workspace (bg_cublas_bind) and allocate before the capture",
                "segment %d of %s ran as a whole: it has %s", segment, bg__graph_name(w->graph), p->list.whole);
        BG__TRY(run_step(w, number));
        for (size_t i = 0; !w->end->early && i < p->calls->count; i++)
            if (p->calls->calls[i].last)
                BG__TRY(bg__walk_notify_call_end(w, p->calls->calls[i].call, p->calls->calls[i].call->kept, true));
        w->index++;
        goto done;
    }
    if (bg__graph_get_facts(w->graph).foreign)
        bg__report_add(w->report, "from-source", BG_NOTE, NULL, NULL,
                       "to step with the parameters of the executable graph, set them in the source graph, too "
                       "(cudaGraphKernelNodeSetParams)",
                       "the nodes of %s ran with the parameters of its source graph: CUDA does not report those "
                       "that cudaGraphExecKernelNodeSetParams and similar calls set in the executable graph",
                       bg__graph_name(w->graph));
    for (size_t i = 0; i < p->list.count && !w->end->early; i++) {
        const bg__step_node *node = &p->list.nodes[i];
        BG__TRY(w->index < w->from ? skip_node(w, p, segment, node) : run_node(w, p, segment, node));
        w->index++;
    }
done:
    return status;
}

static bg_status walk_steps(bg__walk_state *w)
{
    bg_status status = BG_OK;
    for (int i = 0; i < bg__graph_step_count(w->graph) && !w->end->early; i++) {
        bg__step_view step = bg__graph_step(w->graph, i);
        if (is_skipped(w, step)) {
            skip_step(w, i);
            w->index += bg__step_parts_count(&w->parts, step);
            status = w->end->early || is_skipped(w, bg__graph_step(w->graph, i + 1)) ? BG_OK : wait_for_skipped(w);
        } else if (step.kind == BG__STEP_LAUNCH) {
            status = walk_segment(w, i);
        } else if (step.kind != BG__STEP_SYNC) { /* the walk waits after each step */
            status = run_step(w, i);
            w->index++;
        }
        BG__TRY(bg__step_agree_to_end(w->graph, step, w->report, w->end, status));
    }
done:
    return status;
}

/* lead: "BG_STEP_STOP=". first: the lowest valid index. */
static bg_status reject_unknown_call(const bg__walk_state *w, const char *lead, const char *name, int first)
{
    bg__nearest nearest = bg__nearest_begin(name, strlen(name));
    char hint[BG__HINT_BYTES];
    for (const bg__call *c = bg__call_next(bg__graph_root(w->graph)); c != NULL; c = bg__call_next(c))
        bg__nearest_add(&nearest, c->name, strlen(c->name));
    return bg__fail(BG_ERROR_NOT_FOUND,
                    "%s%s: %s runs no call of that name%s, and nothing of that index (%d to %d); bg_graph_get_call "
                    "lists the calls",
                    lead, name, bg__graph_name(w->graph), bg__nearest_hint(&nearest, "", hint), first,
                    w->parts.total - 1);
}

static bg_status fail_stop_not_found(const bg__walk_state *w)
{
    return reject_unknown_call(w, "BG_STEP_STOP=", w->options->stop, w->from);
}

/* Runs before anything else, so that a dump that continues does not become complete. With a watcher, options.stop may
 * be in another graph of the program, so this graph runs anyway. */
static bg_status check_stop(const bg__walk_state *w)
{
    const char *stop = w->options->stop;
    return stop == NULL || w->options->watcher != NULL || bg__step_parts_find(&w->parts, stop, w->from) >= 0
               ? BG_OK
               : fail_stop_not_found(w);
}

static bg_status find_first_index(bg__walk_state *w)
{
    const bg__walk_options *options = w->options;
    bg_status status = BG_OK;

    if (options->from != NULL) {
        w->from = bg__step_parts_find(&w->parts, options->from, 0);
        if (w->from < 0)
            BG__TRY(reject_unknown_call(w, options->command != NULL ? "BG_STEP_FROM=" : "bg_step_from, ", options->from,
                                        0));
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
static void end_stop_not_found(bg__walk_state *w)
{
    w->end->what = fail_stop_not_found(w);
    snprintf(w->end->text, sizeof w->end->text, "%s", bg_last_error());
}

bg_status bg__walk(bg_graph *graph, cudaStream_t stream, const bg__walk_options *options, bg_report *report,
                   bg__walk_end *end)
{
    bg__walk_state w = {.graph = graph,
                        .stream = stream,
                        .options = options,
                        .report = report,
                        .end = end,
                        .look = {.stream = stream, .report = report}};
    cudaError_t before = cudaSuccess;
    bg_status status;

    *end = (bg__walk_end){.what = BG_OK};
    BG__TRY(wait_for_stream(&w, &before)); /* earlier work may have left an error, which is not the first node's */
    if (before != cudaSuccess) {
        status = bg__fail_cuda(before, "cudaStreamSynchronize");
        bg__error_add_location("the work on the stream before the step");
        goto done;
    }
    BG__TRY(bg__step_parts_read(&w.parts, graph, options->order, report));
    BG__TRY(bg__device_alloc(sizeof *w.look.room, (void **)&w.look.room));
    BG__TRY(find_first_index(&w));
    if (options->progress)
        w.progress = bg__progress_begin("step", w.from, w.parts.total);
    BG__TRY(walk_steps(&w));
    end->whole |= !end->early;
    if (!end->early && options->stop != NULL)
        end_stop_not_found(&w);
done:
    bg__progress_clear(&w.progress);
    end->looked.elements = w.look.elements;
    if (options->watcher != NULL)
        options->watcher->rest(options->watcher->user);
    bg__device_free(w.look.room);
    bg__step_parts_free(&w.parts);
    return status;
}
