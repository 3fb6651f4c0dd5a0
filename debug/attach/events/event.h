/* What the program does, as events. Hooks make them of its driver calls; facts about the program, and checks, subscribe
 * to them (attach_subscribers.c). */
#ifndef BG_ATTACH_EVENT_H
#define BG_ATTACH_EVENT_H

#include <cuda.h>

#include "graph/debug_table.h"
#include "graph/inspect.h"
#include "debug/attach/shim/shim.h"
#include "debug/attach/stacks/stacks.h"
#include "debug/graph/nodes.h"
#include "debug/report/report.h"

/* The comment on each kind lists the members of bg__event that are set. Calls that fail make no event, unless `result`
 * is listed. */
typedef enum bg__event_kind {
    /* executable graphs: exec; graph, with its lock, or NULL if it is not tracked */
    BG__EXEC_MADE, /* source, stack, bytes of device memory, flags of cuGraphInstantiate, nodes (NULL: unreadable) */
    BG__EXEC_NODES_READ, /* nodes. Comes after BG__EXEC_MADE; if BG__CHECK_EXECS, also after changes, before the next
                          * launch or look */
    BG__EXEC_CHANGED,    /* source: the graph was updated from it; else node: the node of graph->source that was set;
                          * NULL: it is not known there. place: the index of the node that was set, also if node is
                          * NULL; -1: any may have been set. An update frees the op calls of the nodes: copy what you
                          * keep of them */
    BG__EXEC_NAMED,      /* name; without the graph's lock */
    BG__EXEC_LAUNCHING,  /* stream */
    BG__EXEC_LAUNCHED,   /* stream; not if a tool has launched it */
    BG__EXEC_DESTROYING, /* without graph */
    BG__EXEC_GONE,       /* no thread uses the graph any more. Its report is published and its state freed after this
                          * event; do not ask CUDA about its nodes */
    BG__EXECS_SETTLED,   /* executable graphs were made or changed, no lock is held. later: more may follow soon */
    /* the program's own graphs */
    BG__NODE_ADDED,       /* result, source, node, params of a kernel node or NULL, dependencies, count */
    BG__NODE_READ,        /* node, params: of a kernel node */
    BG__GRAPH_CLONED,     /* source, original */
    BG__GRAPH_DESTROYING, /* source. later: the tools keep source, and destroy it later */
    /* captures */
    BG__CAPTURE_BEGINNING,
    BG__CAPTURE_BEGUN,  /* result, stream, mode */
    BG__CAPTURE_ENDING, /* stream */
    BG__CAPTURE_ENDED,  /* result, stream, source */
    BG__NODE_CAPTURED,  /* stream, capture, node, stack */
    BG__CALL_BEGUN,     /* any driver call while a capture is open */
    BG__CALL_ENDED,     /* the same call has returned; result */
    /* before a call that a host function must not make */
    BG__CALL_CHECKED,
    /* work outside of graphs and captures; name: of the driver function */
    BG__WORK,         /* stream, name */
    BG__ORDERED,      /* stream, name: an event was recorded, or a stream or the host has waited */
    BG__WAITING,      /* the host begins to wait */
    BG__WAITED,       /* stream, name, result */
    BG__EVENT_MADE,   /* event */
    BG__EVENT_GOING,  /* event */
    BG__STREAM_GOING, /* stream */
    BG__HOST_WAITED,  /* the host has waited for all work */
    /* memory: base, bytes */
    BG__MEMORY_MADE,
    BG__MEMORY_FREEING,   /* without bytes */
    BG__MEMORY_FREED,     /* later: a node of a capture frees it. bytes 0: unknown */
    BG__MEMORY_CHANGED,   /* the range belongs to another allocation now; bytes 0: any memory may */
    BG__MODULE_UNLOADING, /* module, library: one of them */
    BG__MODULE_UNLOADED,  /* result */
    BG__END,              /* of the process */
    BG__EVENT_KINDS
} bg__event_kind;

typedef struct bg__tracked_graph bg__tracked_graph;

typedef struct bg__event {
    bg__event_kind kind;
    CUresult result;
    bg__tracked_graph *graph;
    CUgraphExec exec;
    cudaGraph_t source, original;
    cudaGraphNode_t node;
    long place;
    const CUDA_KERNEL_NODE_PARAMS *params;
    const cudaGraphNode_t *dependencies;
    size_t count;
    const bg__nodes *nodes;
    const char *name;
    CUstream stream;
    CUevent event;
    CUmodule module;
    CUlibrary library;
    CUstreamCaptureMode mode;
    uint64_t capture;
    uintptr_t base;
    size_t bytes;
    uint64_t flags;
    bool later;
    const bg__driver_call *call; /* NULL: there is none */
    const bg__stack *stack;
    void *state; /* of the subscriber, for graph; NULL: there is no graph. Set by bg__event_dispatch */
} bg__event;

/* What a check looks at, before a launch or when the program asks. */
typedef struct bg__look {
    const bg__tracked_graph *graph;
    const bg__nodes *nodes;
    const void *frame; /* a stack frame of the tools: functions with frames below it have returned */
    bg_report *report; /* gets the findings */
} bg__look;

/* A fact about the program that is kept up to date, or a check. */
typedef struct bg__subscriber {
    const char *name;
    unsigned when;            /* only if BG_CHECK has one of these BG__CHECK_ bits; 0: always */
    unsigned node_types;      /* bits 1 << cudaGraphNodeType: it gets MADE only for graphs with these; 0: for all */
    size_t state_bytes;       /* of each graph; starts zeroed */
    bg_status (*begin)(void); /* called once, before any event; NULL: nothing to do */
    /* Returns true if nothing may ask CUDA about the nodes of the graph. Called first at a launch. */
    bool (*forbids)(const void *state, bg_report *report);
    /* Called if memory that the graph may use has changed, and when the program asks. */
    bg_status (*look)(const bg__look *look);
    void (*on[BG__EVENT_KINDS])(const bg__event *event);
} bg__subscriber;

enum { BG__CHECK_EXECS = BG__CHECK_REPLAY | BG__CHECK_INPUTS }; /* bits that ask for checks of executable graphs */

extern const bg__attach_shim *bg__shim;
/* The driver's name of the function that is called. */
const char *bg__call_name(const bg__driver_call *call);
/* Returns the stream that the argument `stream` of the call means: in some functions, NULL is the per-thread default
 * stream. */
CUstream bg__call_stream(const bg__driver_call *call, CUstream stream);

/* Sets the shim and the subscribers, in the order in which they get events; the last one is NULL. Errors: those of
 * bg__subscriber.begin; INVALID_ARGUMENT (BG_CHECK). */
bg_status bg__events_begin(const bg__attach_shim *shim, const bg__subscriber *const *subscribers);
/* Whether BG_CHECK asks for checks of executable graphs. */
bool bg__events_are_checked(void);
/* Whether anyone subscribes to the events. */
bool bg__event_is_wanted(bg__event_kind kind);
/* A tool launches graphs in the program's place: the order of the program's own launches is not known. */
void bg__events_set_replaced(void);
bool bg__events_are_replaced(void);
/* Whether the program has made an executable graph. */
bool bg__events_have_graphs(void);

/* Calls the subscribers of event->kind. It takes no lock. */
void bg__event_dispatch(bg__event *event);
#define BG__DISPATCH(...) bg__event_dispatch(&(bg__event){.kind = __VA_ARGS__}) /* the kind, then members by name */
/* Call bg__subscriber.forbids, or bg__subscriber.look, of all subscribers. */
bool bg__subscribers_forbid(const bg__tracked_graph *graph, bg_report *report);
bg_status bg__subscribers_look(bg__tracked_graph *graph, const void *frame, bg_report *report);
/* The state of all subscribers for one graph. The caller frees it. NULL: out of host memory. */
void *bg__subscribers_create_state(void);

#endif
