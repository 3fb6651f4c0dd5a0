/* The state of a walk, shared by the files of the walk. */
#ifndef BG_DEBUG_STEP_WALK_H
#define BG_DEBUG_STEP_WALK_H

#include "base/progress.h"
#include "step_parts.h"
#include "specials.h"
#include "step.h"

typedef struct bg__walk_state {
    bg_graph *graph;
    cudaStream_t stream;
    const bg__walk_options *options;
    bg_report *report;
    bg__walk_end *end;
    bg__step_parts parts;
    bg__specials_search look;
    bg__progress progress;
    int index;
    int from; /* options.from */
} bg__walk_state;

/* A node or step that has run, as reports describe it. */
typedef struct bg__walk_unit {
    char node[400];
    const bg__call *call;
    int segment;
    bg__step_kernel kernel;
    bg__special_counts held; /* NaN and infinities in the outputs of `call`, after it has ended */
    bool stop;               /* the walk stops after it (options.stop) */
} bg__walk_unit;

/* ---- what is said (walk_reports.c) ---- */

/* Reports a CUDA error of a node, and ends the walk. */
void bg__walk_report_fault(bg__walk_state *w, const bg__walk_unit *u, cudaError_t error);
/* Reports an error of an eager call, from its body or the library, and ends the walk. bg_last_error() names op, call
 * and site. */
void bg__walk_report_failure(bg__walk_state *w, const bg__walk_unit *u, bg_status failed);
/* Shows the node or step on a terminal before it runs. */
void bg__walk_show_progress(bg__walk_state *w, const bg__walk_unit *u);
/* Call it after each node or step, even a failed one: calls options.each, and ends the walk at a stop. */
void bg__walk_notify_unit(bg__walk_state *w, const bg__walk_unit *u, cudaError_t error);

/* ---- the op calls, whose tensors are counted (walk_calls.c) ---- */

bg_status bg__walk_begin_call(bg__walk_state *w, const bg__call *call, const void *args, bg__special_counts *inputs);
bg_status bg__walk_finish_call(bg__walk_state *w, const bg__call *call, const void *args,
                               const bg__special_counts *inputs, bg__walk_unit *u);
/* Calls options.after for a call, or for each member if the call stands for several. */
bg_status bg__walk_notify_call_end(const bg__walk_state *w, const bg__call *call, const void *args, bool late);
/* Begins c and the calls around it, the outermost first. Recursion: as deep as the calls are nested. */
bg_status bg__walk_begin_calls(bg__walk_state *w, bg__step_part *p, bg__step_call *c);
/* Ends c and the calls around it, the innermost first. */
bg_status bg__walk_end_calls(bg__walk_state *w, bg__step_call *c, bg__walk_unit *u);
/* Begins the captured calls around an eager call, which may run before their first node. */
bg_status bg__walk_begin_enclosing_calls(bg__walk_state *w, const bg__call *eager);
/* Begins c without counting NaN and infinities of its inputs, so c is never named as their origin. */
void bg__walk_begin_uncounted(bg__step_call *c);
/* The same for all calls of a step that runs as a whole. */
void bg__walk_skip_calls(const bg__walk_state *w, bg__step_view step);

#endif
