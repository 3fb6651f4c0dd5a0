/* The walk node by node, for bg_step and for replays under BG_DEBUG=step. */
#ifndef BG_DEBUG_STEP_H
#define BG_DEBUG_STEP_H

#include <breakgraph/step.h>

#include "capture/inspect.h"
#include "dump.h"
#include "debug/report/report.h"
#include "node_list.h"

/* Looks at the memory of each node that runs alone, in graphs whose calls have no tensors. What fails in it does not
 * fail the walk. */
typedef struct bg__node_watcher {
    void (*before)(void *user, const bg__node *node, bg_report *report, bool dumps, cudaStream_t stream);
    /* The node has run; text: "segment 0, node 3 (kernel scale)". dump NULL: none. */
    void (*after)(void *user, const bg__node *node, const char *text, bg_report *report, bg__dump *dump,
                  cudaStream_t stream);
    void (*rest)(void *user); /* after a walk */
    void (*free)(void *user);
    void *user;
} bg__node_watcher;

typedef struct bg__walk_options {
    bool (*each)(void *user, const bg_step_info *info); /* NULL: none */
    void *user;
    const char *stop; /* stop after this call, or the entry with this index; NULL: do not stop */
    bg__dump *dump;   /* NULL: none */
    /* Called before the first node of a captured call, or before the body of an eager call. NULL: none. */
    bg_status (*before)(void *user, const bg__call *call, const void *args);
    /* Called when a call has run; late: after its segment, which ran as a whole. NULL: none. */
    bg_status (*after)(void *user, const bg__call *call, const void *args, bool late);
    /* Called when a node has run alone, with its time in timer. NULL both: none. */
    bg_status (*timed)(void *user, const bg__step_node *node, const bg__call *call);
    bg__timer *timer;
    const bg__node_watcher *watcher; /* NULL: none */
} bg__walk_options;

/* How the walk ended. */
typedef struct bg__walk_end {
    bool early;        /* some nodes did not run */
    bool ran;          /* some did, or failed */
    cudaError_t error; /* of a fault */
    bg_status what;    /* of a fault: the status that a replay would return; STOPPED at options.stop, NOT_FOUND where it
                          never was; else OK */
    char text[900];    /* the message for what */
} bg__walk_end;

/* Runs between bg__replay_enter and leave, and adds findings to report. Returns failures of the tool itself; those of
 * the replay are in *end. */
bg_status bg__walk(bg_graph *graph, cudaStream_t stream, const bg__walk_options *options, bg_report *report,
                   bg__walk_end *end);

#endif
