/* The walk node by node, for bg_step and for replays under BG_DEBUG=step. */
#ifndef BG_DEBUG_STEP_H
#define BG_DEBUG_STEP_H

#include <breakgraph/step.h>

#include "graph/inspect.h"
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
    const char *stop;    /* stop after this call, or the entry with this index; NULL: do not stop */
    const char *from;    /* what is before this call, or this index, runs as in a replay; NULL: step all */
    bg__dump *dump;      /* NULL: none. One that goes on says itself from where */
    int order;           /* of nodes of one call that do not wait for each other: see bg__step_list_create */
    bool progress;       /* on a terminal, a line shows it */
    bool signals;        /* stop where bg__stop_signals_noted is not NULL */
    const char *command; /* flags that, with --from, step what a stop leaves: "--graphs=graph#1 "; NULL: no command */
    /* Called before the first node of a captured call, or before the body of an eager call. NULL: none. */
    bg_status (*before)(void *user, const bg__call *call, const void *args);
    /* Called when a call has run; late: after its segment, which ran as a whole. NULL: none. */
    bg_status (*after)(void *user, const bg__call *call, const void *args, bool late);
    /* Called when a node has run alone, with its time in timer. NULL both: none. */
    bg_status (*timed)(void *user, const bg__step_node *node, const bg__call *call);
    bg__timer *timer;
    const bg__node_watcher *watcher; /* NULL: none */
} bg__walk_options;

/* How much of a replay was stepped. */
typedef struct bg__walk_looked {
    size_t nodes;      /* and eager calls, copies and events */
    size_t calls;      /* whose tensors were counted */
    uint64_t elements; /* of type float, of all of them, before and after the calls */
    size_t whole;      /* segments that ran as a whole */
    size_t skipped;    /* nodes before options.from */
} bg__walk_looked;

/* How the walk ended. */
typedef struct bg__walk_end {
    bool early;        /* some nodes did not run */
    bool ran;          /* some did, or failed */
    cudaError_t error; /* of a fault */
    bg_status what;    /* of a fault: the status that a replay would return; STOPPED at options.stop or by a signal,
                          NOT_FOUND where it never stopped; else OK */
    char text[900];    /* the message for what */
    int next;          /* the index to go on from, where it was stopped and nodes are left; else 0 */
    bool whole;        /* all nodes have run, without a fault */
    bg__walk_looked looked;
} bg__walk_end;

/* Runs between bg__replay_enter and leave, and adds findings to report. Returns failures of the tool itself; those of
 * the replay are in *end. */
bg_status bg__walk(bg_graph *graph, cudaStream_t stream, const bg__walk_options *options, bg_report *report,
                   bg__walk_end *end);

#endif
