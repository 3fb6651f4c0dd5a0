/* The output of a walk: findings, its end, the callback, the line on a terminal. */
#include "walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stop_signals.h"

static void format_call(const bg__call *call, char *text, size_t bytes)
{
    if (call == NULL)
        snprintf(text, bytes, "%s", "");
    else if (call->site.line == 0 && call->site.file != NULL) /* a function of a program without breakgraph */
        snprintf(text, bytes, ", of %s at %s,", call->name, call->site.file);
    else
        snprintf(text, bytes, ", of call %s at %s:%d,", call->name, call->site.file ? call->site.file : "unknown file",
                 call->site.line);
}

static void end_walk(bg__walk_state *w, bg_status what)
{
    w->end->early = true;
    w->end->what = what;
    w->end->error = bg__error_cuda_cause();
    snprintf(w->end->text, sizeof w->end->text, "%s", bg_last_error());
}

void bg__walk_report_fault(bg__walk_state *w, const bg__walk_unit *u, cudaError_t error)
{
    static const char *const advice =
        "look at the addresses among the parameters; breakgraph check reports those whose memory was moved or freed";
    char call[300], launch[1200];
    bg_status what;

    format_call(u->call, call, sizeof call);
    bg__step_kernel_text(&u->kernel, launch, sizeof launch);
    bg__report_add(w->report, "fault", BG_FAULT, u->call, NULL, advice, "%s%s failed with %s (%s)%s", u->node, call,
                   cudaGetErrorName(error), cudaGetErrorString(error), launch);
    what = bg__fail_cuda(error, "the step");
    bg__fail(what, "step %d of %s, %s%s failed with %s (%s)%s", w->index, bg__graph_name(w->graph), u->node, call,
             cudaGetErrorName(error), cudaGetErrorString(error), launch);
    end_walk(w, what);
    w->end->error = error;
}

void bg__walk_report_failure(bg__walk_state *w, const bg__walk_unit *u, bg_status failed)
{
    bg__report_add(w->report, "fault", BG_FAULT, u->call, NULL,
                   "the eager call failed in this replay: correct its body or its arguments", "%s: %s",
                   bg_status_name(failed), bg_last_error());
    end_walk(w, failed);
}

static bool is_stop_reached(const bg__walk_state *w, const bg__walk_unit *u)
{
    const char *stop = w->options->stop;
    return u->stop || (stop != NULL && stop[0] != '\0' && strspn(stop, "0123456789") == strlen(stop) &&
                       strtol(stop, NULL, 10) == w->index);
}

/* Says how to step the rest. */
static void format_rest_advice(const bg__walk_state *w, char *text, size_t bytes)
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

/* why: "BG_STEP_STOP=rope#3"; "": the callback asked for it. */
static void stop_walk(bg__walk_state *w, const bg__walk_unit *u, const char *why)
{
    bool left = w->index + 1 < w->parts.total;
    const char *rest = left ? "the rest did not run" : "nothing was left to run";
    char advice[300];

    w->end->early = true;
    w->end->whole = !left;
    if (*why != '\0') {
        bg__fail(BG_ERROR_STOPPED, "%s: the replay of %s stopped after index %d, %s; %s", why, bg__graph_name(w->graph),
                 w->index, u->node, rest);
        end_walk(w, BG_ERROR_STOPPED);
    }
    if (*why == '\0' && !left)
        return;
    w->end->next = left ? w->index + 1 : 0;
    format_rest_advice(w, advice, sizeof advice);
    bg__report_add(w->report, "stopped", BG_NOTE, u->call, NULL, advice, "stopped after index %d of 0 to %d, %s; %s",
                   w->index, w->parts.total - 1, u->node, rest);
}

/* A signal after the last node stops nothing. */
static bool is_stop_signalled(const bg__walk_state *w)
{
    return w->options->signals && bg__stop_signals_received() != NULL && w->index + 1 < w->parts.total;
}

void bg__walk_notify_unit(bg__walk_state *w, const bg__walk_unit *u, cudaError_t error)
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
    if (is_stop_reached(w, u)) {
        snprintf(why, sizeof why, "BG_STEP_STOP=%s", w->options->stop);
        stop_walk(w, u, why);
    } else if (is_stop_signalled(w)) {
        stop_walk(w, u, bg__stop_signals_received());
    } else if (!go_on) {
        stop_walk(w, u, "");
    }
}

void bg__walk_show_progress(bg__walk_state *w, const bg__walk_unit *u)
{
    char text[120];
    w->progress.done = w->index;
    if (!bg__progress_is_due(&w->progress))
        return;
    snprintf(text, sizeof text, "%.80s", u->call != NULL ? u->call->name : u->node);
    bg__progress_draw(&w->progress, text);
}
