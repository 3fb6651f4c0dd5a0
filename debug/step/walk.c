#include "step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "specials.h"
#include "parts.h"
#include "agreement.h"
#include "base/progress.h"
#include "stop_signals.h"

typedef struct walk {
    bg_graph *graph;
    cudaStream_t stream;
    const bg__walk_options *options;
    bg_report *report;
    bg__walk_end *end;
    bg__step_parts parts;
    bg__look look;
    bg__progress progress;
    int index;
    int from; /* options.from */
} walk;

/* A node or step that has run, for its report. */
typedef struct unit {
    char node[400];
    const bg__call *call;
    int segment;
    bg__step_kernel kernel;
    bg__held held; /* NaN and infinities in the outputs of call, once it has ended */
    bool stop;     /* the walk stops after it (options.stop) */
} unit;

static bg_status finish_call(walk *w, const bg__call *call, const void *args, const bg__held *inputs, unit *u)
{
    bg__held outputs;
    bg_status status;
    BG__TRY(bg__look_at_outputs(&w->look, call, args, inputs, &outputs));
    w->end->looked.calls++;
    if (call == u->call)
        u->held = outputs;
    if (w->options->dump != NULL)
        BG__TRY(bg__dump_call(w->options->dump, call, args, w->stream));
    if (w->options->after != NULL)
        BG__TRY(w->options->after(w->options->user, call, args, false));
    u->stop |= w->options->stop != NULL && strcmp(w->options->stop, call->name) == 0;
done:
    return status;
}

/* ---- reports ---- */

static void call_text(const bg__call *call, char *text, size_t bytes)
{
    if (call == NULL)
        snprintf(text, bytes, "%s", "");
    else if (call->site.line == 0 && call->site.file != NULL) /* a function, of a program without breakgraph */
        snprintf(text, bytes, ", of %s at %s,", call->name, call->site.file);
    else
        snprintf(text, bytes, ", of call %s at %s:%d,", call->name, call->site.file ? call->site.file : "unknown file",
                 call->site.line);
}

static void end_with(walk *w, bg_status what)
{
    w->end->early = true;
    w->end->what = what;
    w->end->error = bg__fail_cause();
    snprintf(w->end->text, sizeof w->end->text, "%s", bg_last_error());
}

/* A CUDA error of a node. */
static void report_fault(walk *w, const unit *u, cudaError_t error)
{
    static const char *const advice =
        "look at the addresses among the parameters; bg_check reports those whose memory was moved or freed";
    char call[300], launch[800];
    bg_status what;

    call_text(u->call, call, sizeof call);
    bg__step_launch(&u->kernel, launch, sizeof launch);
    bg__report_add(w->report, "fault", BG_FAULT, u->call, NULL, advice, "%s%s failed with %s (%s)%s", u->node, call,
                   cudaGetErrorName(error), cudaGetErrorString(error), launch);
    what = bg__fail_cuda(error, "the step");
    bg__fail(what, "step %d of %s, %s%s failed with %s (%s)%s", w->index, bg__graph_name(w->graph), u->node, call,
             cudaGetErrorName(error), cudaGetErrorString(error), launch);
    end_with(w, what);
    w->end->error = error;
}

/* An error of an eager call, from its body or the library: bg_last_error() names op, call and site. */
static void report_failure(walk *w, const unit *u, bg_status failed)
{
    bg__report_add(w->report, "fault", BG_FAULT, u->call, NULL,
                   "the eager call failed in this replay: correct its body or its arguments", "%s: %s",
                   bg_status_name(failed), bg_last_error());
    end_with(w, failed);
}

static bool is_stop(const walk *w, const unit *u)
{
    const char *stop = w->options->stop;
    return u->stop || (stop != NULL && stop[0] != '\0' && strspn(stop, "0123456789") == strlen(stop) &&
                       strtol(stop, NULL, 10) == w->index);
}

/* What steps the nodes that are left. */
static void advise_rest(const walk *w, char *text, size_t bytes)
{
    const char *command = w->options->command;
    int next = w->index + 1;

    if (next >= w->parts.total)
        snprintf(text, bytes, "%s", "");
    else if (w->options->dump != NULL)
        snprintf(text, bytes, "a dump into the same directory goes on with index %d", next);
    else if (command != NULL)
        snprintf(text, bytes, "to step the rest: breakgraph step %s--from=%d -- PROGRAM (BG_STEP_FROM=%d)", command,
                 next, next);
    else
        snprintf(text, bytes, "to step the rest: bg_step_from, from \"%d\"", next);
}

/* what: why, "BG_STEP_STOP=rope#3: "; "": the callback's will. */
static void stop_walk(walk *w, const unit *u, const char *why)
{
    bool left = w->index + 1 < w->parts.total;
    const char *rest = left ? "the rest did not run" : "nothing was left to run";
    char advice[300];

    w->end->early = true;
    if (*why != '\0') {
        bg__fail(BG_ERROR_STOPPED, "%s: the replay of %s stopped after index %d, %s; %s", why, bg__graph_name(w->graph),
                 w->index, u->node, rest);
        end_with(w, BG_ERROR_STOPPED);
    }
    if (*why == '\0' && !left)
        return;
    w->end->next = left ? w->index + 1 : 0;
    advise_rest(w, advice, sizeof advice);
    bg__report_add(w->report, "stopped", BG_NOTE, u->call, NULL, advice, "stopped after index %d of 0 to %d, %s; %s",
                   w->index, w->parts.total - 1, u->node, rest);
}

/* A signal after the last node has nothing to stop. */
static bool is_signalled(const walk *w)
{
    return w->options->signals && bg__stop_signals_noted() != NULL && w->index + 1 < w->parts.total;
}

/* Called after each node or step, also after one that failed. */
static void announce_step(walk *w, const unit *u, cudaError_t error)
{
    bool has_site = u->call != NULL && u->call->site.file != NULL, go_on = true;
    char why[300];
    bg_step_info info = {.struct_size = sizeof info,
                         .index = w->index,
                         .total = w->parts.total,
                         .node = u->node,
                         .call = u->call != NULL ? u->call->name : "",
                         .error = error,
                         .nan = u->held.nan,
                         .inf = u->held.inf,
                         .kernel = u->kernel.name,
                         .file = has_site ? u->call->site.file : "",
                         .line = has_site ? u->call->site.line : 0,
                         .segment = u->segment};

    memcpy(info.grid, u->kernel.grid, sizeof info.grid);
    memcpy(info.block, u->kernel.block, sizeof info.block);
    if (w->options->each != NULL)
        go_on = w->options->each(w->options->user, &info);
    if (w->end->early)
        return;
    if (is_stop(w, u)) {
        snprintf(why, sizeof why, "BG_STEP_STOP=%s", w->options->stop);
        stop_walk(w, u, why);
    } else if (is_signalled(w)) {
        stop_walk(w, u, bg__stop_signals_noted());
    } else if (!go_on) {
        stop_walk(w, u, "");
    }
}

static void show_step(walk *w, const unit *u)
{
    char text[120];
    w->progress.done = w->index;
    if (!bg__progress_is_due(&w->progress))
        return;
    snprintf(text, sizeof text, "%.80s", u->call != NULL ? u->call->name : u->node);
    bg__progress_draw(&w->progress, text);
}

/* ---- nodes ---- */

static void name_node(const bg__step_call *innermost, const bg__step_node *node, const bg__writeback *writer, unit *u)
{
    if (writer != NULL)
        u->call = writer->call;
    else
        u->call = innermost != NULL ? innermost->call : node->node->call; /* one without tensors */
    if (writer != NULL)
        snprintf(u->node, sizeof u->node, "segment %d, node %s (write-back)", u->segment, node->place);
    else if (u->kernel.name[0] != '\0')
        snprintf(u->node, sizeof u->node, "segment %d, node %s (kernel %.*s%s)", u->segment, node->place,
                 BG__KERNEL_NAME_SHOWN, u->kernel.name, strlen(u->kernel.name) > BG__KERNEL_NAME_SHOWN ? "..." : "");
    else
        snprintf(u->node, sizeof u->node, "segment %d, node %s (%s)", u->segment, node->place,
                 bg__node_kind(node->node));
}

/* Takes over what the inputs held when the call began, in an earlier segment. If no part of it was stepped there, the
 * inputs were not counted in time; then no NaN is reported to originate in the call. */
static void begin_again(const walk *w, const bg__step_part *p, bg__step_call *c)
{
    c->inputs = (bg__held){1, 1};
    for (const bg__step_part *q = &w->parts.list[c->call->segment]; q < p; q++) {
        const bg__step_call *earlier = bg__step_calls_find_part(q->calls, c->call, (int)(q - w->parts.list));
        if (earlier == NULL || !earlier->begun)
            continue;
        c->inputs = earlier->inputs;
        return;
    }
}

static bg_status begin_call(walk *w, const bg__call *call, const void *args, bg__held *inputs)
{
    bg_status status;
    BG__TRY(bg__look_at_inputs(&w->look, call, args, inputs));
    if (w->options->before != NULL)
        BG__TRY(w->options->before(w->options->user, call, args));
done:
    return status;
}

/* c and those around it, the outermost first. Recursion: as deep as the calls are nested. */
static bg_status begin_calls(walk *w, bg__step_part *p, bg__step_call *c)
{
    bg_status status = BG_OK;

    if (c == NULL || c->begun)
        return BG_OK;
    BG__TRY(begin_calls(w, p, c->outer));
    c->begun = true;
    if (p > &w->parts.list[c->call->segment])
        begin_again(w, p, c);
    else
        BG__TRY(begin_call(w, c->call, c->call->kept, &c->inputs));
done:
    return status;
}

/* The part of a captured call in the segment in which it begins; NULL: none. */
static bg__step_call *find_first_part(const walk *w, const bg__call *call)
{
    return call->op == NULL || call->segment < 0
               ? NULL
               : bg__step_calls_find_part(w->parts.list[call->segment].calls, call, call->segment);
}

/* Begins the captured calls around an eager call, which may run before their first node. */
static bg_status begin_around(walk *w, const bg__call *eager)
{
    bg_status status = BG_OK;
    for (const bg__call *call = eager->parent; call != NULL && call->op != NULL; call = call->parent) {
        bg__step_call *c = find_first_part(w, call);
        if (c == NULL || c->begun)
            continue;
        c->begun = true;
        BG__TRY(begin_call(w, call, call->kept, &c->inputs));
    }
done:
    return status;
}

/* c and those around it: inner calls end first. */
static bg_status end_calls(walk *w, bg__step_call *c, unit *u)
{
    bg_status status = BG_OK;
    for (; c != NULL; c = c->outer)
        if (c->last && --c->left == 0)
            BG__TRY(finish_call(w, c->call, c->call->kept, &c->inputs, u));
done:
    return status;
}

/* Runs a write-back with the outputs of the calls that have run in this replay. */
static bg_status run_writeback(const walk *w, const bg__writeback *writer, cudaError_t *fault)
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

static bg_status run_node(walk *w, bg__step_part *p, int segment, const bg__step_node *node)
{
    bg__writeback found;
    bool writes_back = node->node->writeback && bg__graph_find_writeback(w->graph, node->node->handle, &found);
    const bg__writeback *writer = writes_back ? &found : NULL;
    bg__step_call *innermost = bg__step_calls_find(p->calls, node->outer);
    const bg__node_watcher *watcher = w->options->watcher;
    cudaError_t fault = cudaSuccess;
    unit u = {.segment = segment};
    bool enabled = true;
    bg_status status;

    BG__TRY(bg__step_is_enabled(w->graph, segment, node->node, &enabled));
    if (!enabled || (writer != NULL && !writer->enabled))
        goto done;
    bg__step_describe(node->node, &u.kernel);
    name_node(innermost, node, writer, &u);
    show_step(w, &u);
    if (watcher != NULL && w->options->stop != NULL && u.call != NULL) /* each node is a call */
        u.stop = strcmp(u.call->name, w->options->stop) == 0;
    BG__TRY(begin_calls(w, p, innermost));
    if (watcher != NULL)
        watcher->before(watcher->user, node->node, w->report, w->options->dump != NULL, w->stream);
    BG__TRY(writer != NULL ? run_writeback(w, writer, &fault)
                           : bg__step_run_alone(node->node, w->stream, w->options->timer, &fault));
    w->end->ran = true;
    w->end->looked.nodes++;
    if (fault == cudaSuccess && watcher != NULL)
        watcher->after(watcher->user, node->node, u.node, w->report, w->options->dump, w->stream);
    if (fault != cudaSuccess)
        report_fault(w, &u, fault);
    else
        BG__TRY(end_calls(w, innermost, &u));
    if (w->options->timed != NULL && fault == cudaSuccess)
        BG__TRY(w->options->timed(w->options->user, node, u.call));
    announce_step(w, &u, fault);
done:
    if (status != BG_OK && u.node[0] != '\0')
        bg__fail_where("%s", u.node);
    return status;
}

/* ---- steps ---- */

static bg_status wait_for_step(const walk *w, cudaError_t *fault)
{
    bg__relaxed relaxed;
    bg_status status;
    status = bg__relax_begin(&relaxed);
    if (status != BG_OK && bg__step_insists()) /* the work that it waits for has run */
        status = bg__relax_begin(&relaxed);
    if (status != BG_OK)
        goto done;
    *fault = bg__step_wait(w->stream);
    bg__relax_end(relaxed);
    bg__ignore(*fault);
done:
    return status;
}

static bg_status replay_step(walk *w, int number)
{
    bg_status failed = bg__replay_step(w->graph, number, w->stream);
    if (failed != BG_OK && bg__graph_step(w->graph, number).kind == BG__LAUNCH &&
        bg__step_insists()) /* it has queued nothing */
        failed = bg__replay_step(w->graph, number, w->stream);
    w->end->ran = true;
    bg__pending_note(); /* a body may have left a CUDA error */
    return failed;
}

/* Runs one step as a replay does: an eager call, a copy, an event, or a whole segment. */
static bg_status walk_step(walk *w, int number)
{
    const bg__step_view step = bg__graph_step(w->graph, number);
    const bg__call *eager = step.kind == BG__CALL ? step.call : NULL;
    bg__held inputs = {0, 0};
    cudaError_t fault = cudaSuccess;
    unit u = {.call = step.call, .segment = step.kind == BG__LAUNCH ? step.place : -1};
    bg_status status, failed;

    bg__step_text(w->graph, number, u.node, sizeof u.node);
    show_step(w, &u);
    if (eager != NULL)
        BG__TRY(begin_around(w, eager));
    if (eager != NULL)
        BG__TRY(begin_call(w, eager, step.args, &inputs));
    failed = replay_step(w, number);
    w->end->looked.nodes += step.kind != BG__LAUNCH;
    w->end->looked.whole += step.kind == BG__LAUNCH;
    if (failed != BG_OK)
        report_failure(w, &u, failed);
    else
        BG__TRY(wait_for_step(w, &fault));
    if (fault != cudaSuccess)
        report_fault(w, &u, fault);
    for (size_t i = 0;
         step.kind == BG__LAUNCH && w->options->stop != NULL && i < w->parts.list[step.place].calls->count; i++)
        u.stop |= strcmp(w->parts.list[step.place].calls->calls[i].call->name, w->options->stop) == 0;
    if (eager != NULL && !w->end->early)
        BG__TRY(finish_call(w, eager, step.left, &inputs, &u));
    announce_step(w, &u, failed != BG_OK ? bg__fail_cause() : fault);
    status = BG_OK;
done:
    return status;
}

/* ---- what is before options.from ---- */

/* The inputs of c were not counted: no NaN is reported to originate in it. */
static void begin_unknown(bg__step_call *c)
{
    c->begun = true;
    c->inputs = (bg__held){1, 1};
}

static void skip_calls(const walk *w, bg__step_view step)
{
    const bg__step_calls *calls = step.kind == BG__LAUNCH ? w->parts.list[step.place].calls : NULL;

    for (size_t i = 0; calls != NULL && i < calls->count; i++)
        if (calls->calls[i].left > 0) /* else it begins with an eager call behind the segment */
            begin_unknown(&calls->calls[i]);
    for (const bg__call *call = step.kind == BG__CALL ? step.call->parent : NULL; call != NULL; call = call->parent) {
        bg__step_call *c = find_first_part(w, call);
        if (c != NULL)
            begin_unknown(c);
    }
}

/* Does not wait for it. */
static void skip_step(walk *w, int number)
{
    const bg__step_view step = bg__graph_step(w->graph, number);
    unit u = {.call = step.call, .segment = step.kind == BG__LAUNCH ? step.place : -1};
    bg_status failed;

    bg__step_text(w->graph, number, u.node, sizeof u.node);
    skip_calls(w, step);
    failed = replay_step(w, number);
    if (failed != BG_OK)
        report_failure(w, &u, failed);
}

/* A node of the segment in which stepping begins. */
static bg_status skip_node(walk *w, const bg__step_part *p, int segment, const bg__step_node *node)
{
    bg__writeback found;
    bool writes_back = node->node->writeback && bg__graph_find_writeback(w->graph, node->node->handle, &found);
    bg__step_call *innermost = bg__step_calls_find(p->calls, node->outer);
    cudaError_t fault = cudaSuccess;
    unit u = {.segment = segment};
    bool enabled;
    bg_status status;

    for (bg__step_call *c = innermost; c != NULL; c = c->outer) {
        begin_unknown(c);
        c->left--;
    }
    BG__TRY(bg__step_is_enabled(w->graph, segment, node->node, &enabled));
    if (!enabled || (writes_back && !found.enabled))
        goto done;
    bg__step_describe(node->node, &u.kernel);
    name_node(innermost, node, writes_back ? &found : NULL, &u);
    BG__TRY(writes_back ? run_writeback(w, &found, &fault) : bg__step_run_alone(node->node, w->stream, NULL, &fault));
    w->end->ran = true;
    if (fault != cudaSuccess)
        report_fault(w, &u, fault);
done:
    return status;
}

static bg_status run_segment(walk *w, int number)
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
        for (size_t i = 0; w->options->after != NULL && !w->end->early && i < p->calls->count; i++)
            if (p->calls->calls[i].last)
                BG__TRY(
                    w->options->after(w->options->user, p->calls->calls[i].call, p->calls->calls[i].call->kept, true));
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

/* ---- the walk ---- */

/* After the last skipped step: a fault in those is not one of the node that comes next. */
static bg_status wait_for_skipped(walk *w)
{
    cudaError_t fault = cudaSuccess;
    unit u = {.segment = -1};
    bg_status status;

    BG__TRY(wait_for_step(w, &fault));
    snprintf(u.node, sizeof u.node, "what is before index %d, which was launched as a whole,", w->index);
    if (fault != cudaSuccess)
        report_fault(w, &u, fault);
done:
    return status;
}

/* Launched whole, what comes before options.from takes as long as in a replay. */
static bool is_skipped(const walk *w, bg__step_view step)
{
    return step.kind != BG__SYNC && w->index + bg__step_parts_count(&w->parts, step) <= w->from;
}

static bg_status run_all(walk *w)
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
        } else if (step.kind != BG__SYNC) { /* waited already */
            status = walk_step(w, i);
            w->index++;
        }
        BG__TRY(bg__step_end_together(w->graph, step, w->report, w->end, status));
    }
done:
    return status;
}

static bg_status find_from(walk *w)
{
    const bg__walk_options *options = w->options;
    bg_status status = BG_OK;

    if (options->from != NULL) {
        w->from = bg__step_parts_find(&w->parts, options->from);
        if (w->from < 0)
            BG__FAIL(BG_ERROR_NOT_FOUND,
                     "%s%s: %s runs no call of that name, and nothing of that index (0 to %d); "
                     "bg_graph_get_call lists the calls",
                     options->command != NULL ? "BG_STEP_FROM=" : "bg_step_from, ", options->from,
                     bg__graph_name(w->graph), w->parts.total - 1);
    }
    if (options->dump != NULL)
        BG__TRY(bg__dump_begin(options->dump, w->parts.total, bg__step_parts_hash(&w->parts), options->from != NULL,
                               &w->from));
    w->end->looked.skipped = (size_t)w->from;
done:
    return status;
}

/* The stop that was asked for was never there. */
static void end_unstopped(walk *w)
{
    w->end->what = BG_ERROR_NOT_FOUND;
    snprintf(w->end->text, sizeof w->end->text,
             "BG_STEP_STOP=%s: %s runs no call of that name, and nothing of that index (%d to %d); "
             "bg_graph_get_call lists the calls",
             w->options->stop, bg__graph_name(w->graph), w->from, w->parts.total - 1);
}

bg_status bg__walk(bg_graph *graph, cudaStream_t stream, const bg__walk_options *options, bg_report *report,
                   bg__walk_end *end)
{
    walk w = {.graph = graph,
              .stream = stream,
              .options = options,
              .report = report,
              .end = end,
              .look = {.stream = stream, .report = report}};
    cudaError_t before = cudaSuccess;
    bg_status status;

    *end = (bg__walk_end){.what = BG_OK};
    BG__TRY(wait_for_step(&w, &before)); /* an error of earlier work must not be reported for the first node */
    if (before != cudaSuccess) {
        status = bg__fail_cuda(before, "cudaStreamSynchronize");
        bg__fail_where("the work on the stream before the step");
        goto done;
    }
    BG__TRY(bg__step_parts_read(&w.parts, graph, report));
    BG__TRY(bg__device_alloc(sizeof *w.look.room, (void **)&w.look.room));
    BG__TRY(find_from(&w));
    if (options->progress)
        w.progress = bg__progress_begin("step", w.from, w.parts.total);
    BG__TRY(run_all(&w));
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
