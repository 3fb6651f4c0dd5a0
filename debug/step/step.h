/* The walk node by node, for bg_step and for replays under BG_DEBUG=step. */
#ifndef BG_DEBUG_STEP_H
#define BG_DEBUG_STEP_H

#include <breakgraph/step.h>

#include "graph/inspect.h"
#include "dump.h"
#include "debug/report/report.h"
#include "node_list.h"

/* Called around each node that runs alone, in graphs whose calls have no tensors. Its failures do not fail the walk. */
typedef struct bg__node_observer {
    void (*before)(void *user, const bg__node *node, bg_report *report, bool dumps, cudaStream_t stream);
    /* The node has run. text: "segment 0, node 3 (kernel scale)". dump NULL: none. */
    void (*after)(void *user, const bg__node *node, const char *text, bg_report *report, bg__dump *dump,
                  cudaStream_t stream);
    void (*rest)(void *user); /* after the walk */
    void (*free)(void *user);
    void *user;
} bg__node_observer;

typedef struct bg__walk_options {
    bool (*each)(void *user, const bg_step_info *info); /* NULL: none */
    void *user;
    const char *stop;    /* stop after this call, or this index; NULL: do not stop */
    const char *from;    /* replay what comes before this call, or this index, without stepping; NULL: step all */
    bg__dump *dump;      /* NULL: none. A dump that continues sets the first index itself */
    int order;           /* of independent nodes of one call: see bg__step_list_create */
    bool progress;       /* show a line on a terminal */
    bool signals;        /* stop where bg__stop_signals_received is not NULL */
    const char *command; /* flags, such as "--graphs=graph#1 "; after a stop, these flags and --from step the rest;
                          * NULL: no command */
    /* Called before the first node of a captured call, or before the body of an eager call. NULL: none. */
    bg_status (*before)(void *user, const bg__call *call, const void *args);
    /* Called when a call has run. late: called after its segment, which ran as a whole. NULL: none. */
    bg_status (*after)(void *user, const bg__call *call, const void *args, bool late);
    /* Called when a node has run alone, with its time in timer. Both NULL: none. */
    bg_status (*timed)(void *user, const bg__step_node *node, const bg__call *call);
    bg__timer *timer;
    const bg__node_observer *watcher; /* NULL: none */
} bg__walk_options;

/* How much of a replay was stepped. */
typedef struct bg__walk_coverage {
    size_t nodes;      /* including eager calls, copies and events */
    size_t calls;      /* whose tensors were counted */
    uint64_t elements; /* float elements of those tensors, before and after the calls */
    size_t whole;      /* segments that ran as a whole */
    size_t skipped;    /* nodes before options.from, not stepped */
} bg__walk_coverage;

/* How the walk ended. */
typedef struct bg__walk_end {
    bool early;        /* some nodes did not run */
    bool ran;          /* some did run, or failed */
    cudaError_t error; /* of a fault */
    bg_status what;    /* after a fault, the status that a replay would return; STOPPED after options.stop or a
                          signal; NOT_FOUND if options.stop was not reached; else OK */
    char text[900];    /* the message for `what` */
    int next;          /* the index to continue from if nodes are left after a stop; else 0 */
    bool whole;        /* all nodes have run, without a fault */
    bg__walk_coverage looked;
} bg__walk_end;

/* Runs between bg__replay_enter and bg__replay_leave, and adds findings to report. Returns failures of the tool itself;
 * failures of the replay are in *end. */
bg_status bg__walk(bg_graph *graph, cudaStream_t stream, const bg__walk_options *options, bg_report *report,
                   bg__walk_end *end);

#endif
