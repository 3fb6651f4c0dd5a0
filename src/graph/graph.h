/* A graph: a flat list of steps. A replay runs them in order, and debug modes change the list. This folder and those
 * above it include this header; the debugging tools include inspect.h instead. */
#ifndef BG_GRAPH_GRAPH_H
#define BG_GRAPH_GRAPH_H

#include <breakgraph/capture.h>

#include "base/owned.h"
#include "base/ranks.h"
#include "graph/inspect.h"
#include "graph/debug_table.h"
#include "memory/ledger.h"
#include "memory/memory.h"
#include "op/op.h"

/* A write-back: copies an output that the body left at another address to the address that the graph reads. It is part
 * of a node of the next segment (writeback.c), or a COPY step. */
typedef struct bg__writeback_node bg__writeback_node;
typedef struct bg__writeback_copy {
    struct bg__eager_call *eager;
    bg__output_copy move; /* of a step: for this replay; of a node: as the node was last set */
    int device;
    bg__writeback_node *fold;        /* the node; NULL: a COPY step */
    int place;                       /* its row in the node */
    bool enabled;                    /* the node copies it */
    struct bg__writeback_copy *next; /* at capture: the next write-back that waits for the next segment */
} bg__writeback_copy;

/* An output as it was at capture, and its offset in the arguments. */
typedef struct bg__captured_output {
    uint32_t offset;
    bg_tensor tensor;
    bg_tensor left; /* what the body left when the outputs were last settled */
} bg__captured_output;

/* An eager call: what a CALL step runs. */
typedef struct bg__eager_call {
    bg__call *call;
    bg_op_body body;
    void *args;                  /* the stored arguments, which bg_graph_args returns */
    void *work;                  /* a copy of args for the body, which may change it */
    bool steady;                 /* outputs left as last time need no work: they are in place, or write-backs copy
                                  * them */
    bool results;                /* the op has fields of BG_RESULT */
    bool exposed;                /* bg_graph_args has returned args: the program may change them */
    bg__writeback_copy **copies; /* the write-back of each output, or NULL */
    bg__writeback_node *writeback_nodes; /* the nodes that do some of the write-backs */
    bg__captured_output *captured;       /* for each output; the stored arguments may change */
    int outputs;                         /* their number: the op may be unloaded before the graph is destroyed */
    struct bg__eager_call *previous;     /* in the list of the graph's eager calls */
} bg__eager_call;

/* A node that does write-backs of an eager call. */
typedef struct bg__writeback_entry {
    cudaGraphNode_t node;
    const bg__eager_call *eager;
    const bg__writeback_node *fold;
} bg__writeback_entry;

typedef struct bg__step {
    bg__step_kind kind;
    int place; /* LAUNCH: the segment's number; CALL: the break's number; SYNC: the step that it checks; WAIT, RECORD:
                  the index of the site where the event was recorded */
    union {
        cudaGraphExec_t exec;
        bg__eager_call *eager;
        bg__writeback_copy *copy;
        cudaEvent_t event; /* the program's */
    } of;
} bg__step;

/* Records the tensors of a call that was captured, or has run at a break. */
bg_status bg__graph_record_call_tensors(bg_graph *graph, const bg__call *call, const struct bg__eager_call *eager,
                                        const void *args);

/* The pass that a FORWARD step runs (src/capture/forward.c). */
typedef struct bg__forward {
    bg_forward forward;
    void *user;
    bg__override *override;
    cudaEvent_t event;          /* each pass records it where its streams fork */
    bg_capture_options options; /* their pointers may be dangling */
} bg__forward;

struct bg_graph {
    bg__step *steps;
    size_t step_capacity;
    int step_count;
    unsigned watched;        /* BG__CHECK_REPLAY, BG__CHECK_GRAPH: its addresses are checked before each replay */
    bool checks_each_replay; /* watched or debugged: each replay checks the current device, and that its stream does not
                                capture */
    bool diverted;           /* the debugging tools run its replays */

    bg__last_use *use;        /* orders replays: own_use, or the one that all graphs of the pool share */
    _Atomic uint64_t replays; /* only the thread that replays writes it; BG_REPORT reads it in other threads */

    bg__segment *segments;
    size_t segment_capacity;
    bg_site *sites; /* where the events of WAIT and RECORD steps were recorded */
    size_t site_capacity;
    int segment_count, site_count;
    bg__stream_wait *waits;
    int wait_count;
    size_t wait_capacity;
    bg__eager_call *eagers;
    bg__writeback_entry *folded; /* by node */
    size_t folded_count;
    bg__call root;
    bg_pool *pool; /* a reference; NULL: the graph has its own memory */
    bg__last_use own_use;
    size_t pool_bytes;
    bg__forward *forward;
    char *name;
    int device;
    int breaks;
    size_t graph_bytes;
    double capture_ms, instantiate_ms;
    bg__recorded_addresses noted;
    bool wrapped;                  /* the program made the CUDA graph (wrap.c) */
    bool mirrored;                 /* what is set in the executable graph of a wrapped one is set in its source, too */
    bool instantiated;             /* wrapped, but breakgraph made the executable graph */
    bool entered;                  /* ranks.table.enter was called for the current replay */
    bool keeps;                    /* owned has closures of calls, which its work on the device may read */
    void *tools;                   /* data of the debugging tools; NULL: none */
    struct bg__compiled *compiled; /* what rules have done (src/compile); NULL: level 0 */
    bg__owned owned;               /* closures of its calls, and what bg_graph_own gave it */
    bg__ranks ranks;               /* options.ranks of its capture */
    char **texts;                  /* the text of each step, for ranks.table.step; NULL: not watched */
};

bg_status bg__graph_create(bg_graph **graph, const char *name, bg_pool *pool);
/* Adds to the steps and segments (steps.c). */
bg_status bg__graph_add_step(bg_graph *graph, bg__step step);
bg_status bg__graph_add_segment(bg_graph *graph, bg__segment segment);
/* Inserts a WAIT or RECORD step as step number `at`; the steps from there on move up by one. */
bg_status bg__graph_insert_event(bg_graph *graph, int at, bg__step_kind kind, cudaEvent_t event, const bg_site *site);
/* Removes all steps with that event. */
void bg__graph_remove_event(bg_graph *graph, cudaEvent_t event);
/* Makes the record of an eager call, with a copy of args. The graph owns it. */
bg_status bg__graph_add_eager_call(bg_graph *graph, bg__call *call, const void *args, bg__eager_call **eager);
cudaError_t bg__instantiate_graph(cudaGraph_t graph, cudaGraphExec_t *exec);
/* Instantiates a wrapped graph that has no executable graph (wrap.c). */
bg_status bg__wrapped_instantiate(bg_graph *graph);

/* ---- ranks (graph_ranks.c) --------------------------------------------------------------------------------- */

/* A graph captured with ranks retains the communicator that its collectives use, until it is destroyed. */
void bg__graph_join_ranks(bg_graph *graph, const bg__ranks *ranks);
void bg__graph_leave_ranks(bg_graph *graph);

/* At the end of the capture: makes the texts of the steps, if replays report their progress. */
bg_status bg__watch_ranks_prepare(bg_graph *graph);

/* ---- write-backs (writeback.c) ----------------------------------------------------------------------------------- */

/* At a break: appends `copy` to the list, linked by `next`, for the next segment. A copy that cannot be part of a node
 * becomes a COPY step, and runs on stream. */
bg_status bg__writeback_add(bg_graph *graph, bg__writeback_copy **list, bg__writeback_copy *copy, cudaStream_t stream);
/* Captures the list as the first nodes of the segment that stream has just begun. */
bg_status bg__writeback_capture(bg__writeback_copy *list, cudaStream_t stream);
/* Whether a segment of so many nodes consists of these write-backs alone. */
bool bg__writeback_is_whole_segment(const bg__writeback_copy *list, size_t nodes);
/* Makes the copies of the list COPY steps instead, which run on stream; the list is then empty. */
bg_status bg__writeback_make_steps(bg_graph *graph, bg__writeback_copy **list, cudaStream_t stream);
/* Stores in the copies of the list that they are part of nodes of that segment; the list is then empty. */
void bg__writeback_set_segment(bg__writeback_copy **list, int segment);
/* After all segments are instantiated: reads the nodes' parameters for later updates, and lists the nodes. */
bg_status bg__writeback_prepare_updates(bg_graph *graph);
void bg__writeback_free(bg__writeback_node *writeback_nodes);
/* In a replay: gives the node or step of `copy` the addresses and sizes of `move`. If the node cannot take them, the
 * copy is queued on stream, and *steady becomes false. After the last output of the call, bg__writeback_update_nodes
 * updates the nodes. */
bg_status bg__writeback_update_copy(bg__writeback_copy *copy, const bg__output_copy *move, cudaStream_t stream,
                                    bool *steady);
bg_status bg__writeback_update_nodes(bg__eager_call *eager, cudaStream_t stream, bool *steady);

/* What a node of a segment's graph writes back, after bg__writeback_prepare_updates; NULL: nothing. The second
 * function: whether the node is enabled in the next launch. */
const bg__writeback_entry *bg__writeback_find_node(const bg_graph *graph, cudaGraphNode_t node);
bool bg__writeback_is_enabled(const bg__writeback_node *fold);

#endif
