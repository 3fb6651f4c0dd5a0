/* The state of a walk, shared by the files of the walk. */
#ifndef BG_DEBUG_STEP_WALK_H
#define BG_DEBUG_STEP_WALK_H

#include "base/progress.h"
#include "step_parts.h"
#include "specials.h"
#include "step.h"

typedef struct bg__walking {
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
} bg__walking;

/* A node or step that has run, as reports describe it. */
typedef struct bg__walk_unit {
    char node[400];
    const bg__call *call;
    int segment;
    bg__step_kernel kernel;
    bg__held held; /* NaN and infinities in the outputs of call, after it has ended */
    bool stop;     /* the walk stops after it (options.stop) */
} bg__walk_unit;

/* ---- what is said (walk_reports.c) ---- */

/* Reports a CUDA error of a node, and ends the walk. */
void bg__walk_report_fault(bg__walking *w, const bg__walk_unit *u, cudaError_t error);
/* Reports an error of an eager call, from its body or the library, and ends the walk. bg_last_error() names op, call
 * and site. */
void bg__walk_report_failure(bg__walking *w, const bg__walk_unit *u, bg_status failed);
/* Shows the node or step on a terminal before it runs. */
void bg__walk_show(bg__walking *w, const bg__walk_unit *u);
/* Call it after each node or step, even a failed one: calls options.each, and ends the walk at a stop. */
void bg__walk_announce(bg__walking *w, const bg__walk_unit *u, cudaError_t error);

/* ---- the op calls, whose tensors are counted (walk_calls.c) ---- */

bg_status bg__walk_begin_call(bg__walking *w, const bg__call *call, const void *args, bg__held *inputs);
bg_status bg__walk_finish_call(bg__walking *w, const bg__call *call, const void *args, const bg__held *inputs,
                               bg__walk_unit *u);
/* Calls options.after for a call, or for each member if the call stands for several. */
bg_status bg__walk_tell_end(const bg__walking *w, const bg__call *call, const void *args, bool late);
/* Begins c and the calls around it, the outermost first. Recursion: as deep as the calls are nested. */
bg_status bg__walk_begin_calls(bg__walking *w, bg__step_part *p, bg__step_call *c);
/* Ends c and the calls around it, the innermost first. */
bg_status bg__walk_end_calls(bg__walking *w, bg__step_call *c, bg__walk_unit *u);
/* Begins the captured calls around an eager call, which may run before their first node. */
bg_status bg__walk_begin_around(bg__walking *w, const bg__call *eager);
/* Begins c without counting its inputs: no NaN is reported to originate in it. */
void bg__walk_begin_unknown(bg__step_call *c);
/* The same for all calls of a step that runs as a whole. */
void bg__walk_skip_calls(const bg__walking *w, bg__step_view step);

#endif
