/* The walk of a step, for bg_step and for replays under BG_DEBUG=step. */
#ifndef BG_DEBUG_STEP_H
#define BG_DEBUG_STEP_H

#include <breakgraph/step.h>

#include "capture/inspect.h"
#include "dump.h"
#include "debug/report/report.h"
#include "node_list.h"

typedef struct bg__walk_options {
    bool (*each)(void *user, const bg_step_info *info); /* NULL: none */
    void *user;
    const char *stop; /* after this call, or the entry with this index; NULL: nowhere */
    bg__dump *dump;   /* NULL: none */
    /* Before the first node of a captured call that is stepped, or an eager one's body. NULL: none. */
    bg_status (*before)(void *user, const bg__call *call, const void *args);
    /* When a call's outputs are there; late: where its segment runs as a whole, after all of that. NULL: none. */
    bg_status (*after)(void *user, const bg__call *call, const void *args, bool late);
    /* When a node has run alone, with what it took in timer. NULL both: none. */
    bg_status (*timed)(void *user, const bg__step_node *node, const bg__call *call);
    bg__timer *timer;
} bg__walk_options;

/* How it ended. */
typedef struct bg__walk_end {
    bool early;     /* not all has run */
    bg_status what; /* of a fault: the status that a replay would return; STOPPED at options.stop; else OK */
    char text[900]; /* the sentence of what */
} bg__walk_end;

/* Between bg__replay_enter and leave. Findings are added to report. A failure is one of the tool itself. */
bg_status bg__walk(bg_graph *graph, cudaStream_t stream, const bg__walk_options *options, bg_report *report,
                   bg__walk_end *end);

#endif
