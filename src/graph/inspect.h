/* What the debugging tools may read of a graph, and do with it. Of this folder they include only this header and
 * debug_table.h, the table that they fill in. */
#ifndef BG_GRAPH_INSPECT_H
#define BG_GRAPH_INSPECT_H

#include <breakgraph/capture.h>

#include "base/ranks.h"
#include "memory/ledger.h"
#include "memory/memory.h"
#include "op/op.h"

/* ---- what a graph is (graph_views.c) --------------------------------------------------------------------------- */

const char *bg__graph_name(const bg_graph *graph);
/* The root of the tree of its calls; it is not a call. */
const bg__call *bg__graph_root(const bg_graph *graph);
/* Gives the runner's context of `graph` to `run`, so that both have the same batch. `run` is the graph that is compared
 * with a replay of `graph`. */
void bg__graph_copy_context(bg_graph *run, const bg_graph *graph);

typedef struct bg__graph_facts {
    int device, breaks;
    double capture_ms, instantiate_ms;
    bg_pool *pool;  /* NULL: the graph has its own memory */
    bool watched;   /* its addresses are checked before each replay */
    bool foreign;   /* it launches an executable graph of the program's; the program may have changed that graph */
    bool replaying; /* a replay of it, or of its pool, has not returned */
} bg__graph_facts;
bg__graph_facts bg__graph_get_facts(const bg_graph *graph);
/* The number of replays that succeeded. Any thread may call this, also while another one replays the graph. */
uint64_t bg__graph_replays(const bg_graph *graph);
/* For a wrapped graph, which the program has launched itself. */
void bg__graph_count_replay(bg_graph *graph);
/* Makes `source` the source of a wrapped graph, after the program updated the executable graph to the nodes of
 * `source`. Errors: CUDA. */
bg_status bg__wrapped_set_source(bg_graph *graph, cudaGraph_t source);
/* mirrored: what the program sets in the executable graph of a wrapped graph is set in its source, too. */
void bg__wrapped_set_mirrored(bg_graph *graph, bool mirrored);
/* name is copied; earlier results of bg__graph_name become invalid. Errors: OUT_OF_MEMORY. */
bg_status bg__wrapped_set_name(bg_graph *graph, const char *name);
size_t bg__wrapped_count_nodes(const bg_graph *graph);
/* Adds a call of op at site that stands for one node of a wrapped graph, by its index in cudaGraphGetNodes' list. op
 * and the text of site must outlive the graph. Errors: OUT_OF_MEMORY. */
bg_status bg__wrapped_add_call(bg_graph *graph, const bg_op *op, const bg_site *site, long node);
void bg__wrapped_clear_calls(bg_graph *graph);
bg__ranks *bg__graph_ranks(bg_graph *graph);

typedef struct bg__segment {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    size_t nodes;
    struct bg__node_origin *origins; /* of a segment that rules have rewritten: the origin of each node; else NULL */
    size_t nodes_at_capture;         /* of such a segment: the number of its nodes at capture */
} bg__segment;
/* A node of a rewritten segment. */
typedef struct bg__node_origin {
    size_t place;        /* its index among the captured nodes, if `run` is NULL */
    const bg__call *run; /* the run that made it; NULL: it is a captured node */
} bg__node_origin;
int bg__graph_segment_count(const bg_graph *graph);
const bg__segment *bg__graph_segment(const bg_graph *graph, int index);

/* The innermost op call of each node, in the order of cudaGraphGetNodes; NULL: none. The calls around it also own the
 * node (calls_of_nodes.c). */
typedef struct bg__calls_of_nodes {
    const bg__call **call; /* of all segments */
    size_t *first;         /* the index of each segment's first node; one entry more than segments */
} bg__calls_of_nodes;
/* Call bg__calls_of_nodes_free also after a failure. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__calls_of_nodes_list(bg__calls_of_nodes *owners, const bg_graph *graph);
void bg__calls_of_nodes_free(bg__calls_of_nodes *owners);
static inline bool bg__call_is_in(const bg__call *call, const bg__call *outer)
{
    while (call != NULL && call != outer)
        call = call->parent;
    return call != NULL;
}

typedef enum bg__step_kind {
    BG__STEP_LAUNCH,  /* a segment */
    BG__STEP_CALL,    /* an eager op */
    BG__STEP_FORWARD, /* the whole pass as one eager call */
    BG__STEP_COPY,    /* a write-back that is not a node of a segment */
    BG__STEP_WAIT,    /* waits for an event that a body recorded, before a segment that waits for it */
    BG__STEP_RECORD,  /* records an event that a segment recorded, before a body that waits for it */
    BG__STEP_SYNC     /* wait and check (BG_DEBUG=sync) */
} bg__step_kind;

/* A step as the tools see it. */
typedef struct bg__step_view {
    bg__step_kind kind;
    int place;            /* LAUNCH: the segment's number; CALL: the break's number; SYNC: the step that it checks */
    const bg__call *call; /* CALL: the eager call; COPY: the call whose output it writes back; else NULL */
    const void *args;     /* CALL: the arguments for the next run of the body */
    const void *left;     /* CALL: the arguments as the last run of the body left them */
} bg__step_view;
int bg__graph_step_count(const bg_graph *graph);
bg__step_view bg__graph_step(const bg_graph *graph, int step);
/* Where a step is, for messages: "segment 2", "call attention#0". */
const char *bg__graph_describe_step(const bg_graph *graph, int step, char *text, size_t bytes);

/* A wait of one of the capture's streams for another, by bg_stream_wait_stream or bg_stream_wait_event, inside a
 * segment.
 */
typedef struct bg__stream_wait {
    cudaStream_t waiter, on;
    bg_site waited, recorded;       /* equal for bg_stream_wait_stream */
    const bg__call *recorded_after; /* the last call that had begun when the event was recorded; the root: none had */
    const bg__call *waited_after;   /* the last call that had begun at the wait; the root: none had */
} bg__stream_wait;
const bg__stream_wait *bg__graph_waits(const bg_graph *graph, int *count);

/* Returns the arguments of a call; for an eager call, those of its next replay. NULL: not known. */
const void *bg__graph_call_args(const bg_graph *graph, const bg__call *call);
/* Whether bg_graph_args has returned arguments of the graph: the program may change them. */
bool bg__graph_is_exposed(const bg_graph *graph);
bool bg__call_is_exposed(const bg_graph *graph, const bg__call *call); /* the same for the arguments of that call */

/* A node of a segment's graph that writes back outputs of an eager call. bg__graph_find_writeback returns false if
 * `node` writes back nothing. */
typedef struct bg__writeback_view {
    const bg__call *call;
    const struct bg__eager_call *eager;
    const struct bg__writeback_node *fold;
    bool enabled; /* in the next launch */
} bg__writeback_view;
bool bg__graph_find_writeback(const bg_graph *graph, cudaGraphNode_t node, bg__writeback_view *found);
/* Queues on stream the copies that the node would do now. */
bg_status bg__writeback_run(const bg__writeback_view *writeback, cudaStream_t stream);

/* ---- the nodes of a graph, and the edges between them (edges.c) ------------------------------------------------- */

/* Lists the nodes in the order of cudaGraphGetNodes. The caller frees *list also after a failure. Errors:
 * OUT_OF_MEMORY, CUDA. */
bg_status bg__graph_list_nodes(cudaGraph_t graph, cudaGraphNode_t **list, size_t *count);

/* Starts zeroed; the arrays are reused if edges are listed again. */
typedef struct bg__edges {
    cudaGraphNode_t *from, *to;
    cudaGraphEdgeData *data; /* without this array, CUDA does not list edges that have edge data */
    size_t count, capacity;
} bg__edges;
/* nodes: all of the graph, which may be one that a stream captures into. Call bg__edges_free also after a failure.
 * Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__edges_list(bg__edges *edges, cudaGraph_t graph, const cudaGraphNode_t *nodes, size_t count);
void bg__edges_free(bg__edges *edges);

/* ---- addresses (recorded_addresses.c)
 * ------------------------------------------------------------------------------------- */

/* An owner of addresses that the graph uses, as it was at capture. */
typedef struct bg__recorded_owner {
    bg__owner owner;
    bg__owner_level level;
    uint64_t version; /* of the ledger, when the owner was last found unchanged */
    bool own;         /* the memory is that of an allocation node of the graph */
} bg__recorded_owner;

/* A tensor of a call or a runner, or the part of the tensor in one mapping. */
typedef struct bg__recorded_tensor {
    const bg__call *call;               /* NULL: a runner's buffer */
    const struct bg__eager_call *eager; /* NULL: a captured call, whose arguments are frozen */
    const bg_field *field;
    const char *name; /* a runner's buffer's; lives as long as the graph */
    int element;      /* of BG_OUTS */
    uint32_t offset;  /* in the arguments */
    uintptr_t address;
    size_t bytes;
    size_t before;          /* bytes of the tensor before this part */
    size_t beyond;          /* bytes of the tensor that lay in no allocation at capture */
    int owners[BG__LEVELS]; /* -1: none is known on that level */
} bg__recorded_tensor;

/* A cache entry: an owner that was found before. bytes 0: empty. */
typedef struct bg__recent_owner {
    uintptr_t base;
    size_t bytes;
    int owner;
} bg__recent_owner;

enum { BG__RECENT = 32 };

typedef struct bg__owner_index {
    int *list;
    int count;
    size_t capacity;
    bg__recent_owner recent[BG__RECENT]; /* by address */
} bg__owner_index;

enum { BG__RECORDED_CHUNK = 256 };

typedef struct bg__recorded_addresses {
    bg__recorded_tensor *
        *chunks; /* of BG__RECORDED_CHUNK entries each: growing one array would copy it again and again */
    int chunk_count;
    size_t chunk_capacity;
    int count; /* of notes */
    bg__recorded_owner *owners;
    int owner_count;
    size_t owner_capacity;
    bg__owner_index order[BG__LEVELS]; /* the owners that were found last, by address */
    bool replaced;                     /* an allocation of the driver was replaced by another one during the capture */
    uint64_t version;                  /* the ledger's version at the last check of all; 0: none */
} bg__recorded_addresses;

static inline bg__recorded_tensor *bg__recorded_addresses_get(const bg__recorded_addresses *noted, int index)
{
    return &noted->chunks[(unsigned)index / BG__RECORDED_CHUNK][(unsigned)index % BG__RECORDED_CHUNK];
}
/* Records a tensor: copies the members of `as`, and fills in address, bytes and owners. */
bg_status bg__recorded_addresses_add(bg__recorded_addresses *noted, const bg__recorded_tensor *as,
                                     const bg_tensor *tensor);
void bg__recorded_addresses_clear(bg__recorded_addresses *noted);
/* Not const: a check stores in it what it found. */
bg__recorded_addresses *bg__graph_recorded_addresses(const bg_graph *graph);
/* Returns the tensor that the next replay of an eager call gets instead of the recorded one; NULL: the recorded one. */
const bg_tensor *bg__recorded_tensor_replacement(const bg__recorded_tensor *note);

/* ---- ranks (graph_ranks.c) ------------------------------------------------------------------------------------- */

/* Whether the table of ranks is notified of replays. */
bool bg__watch_ranks_is_on(const bg_graph *graph);
/* The first and the last enclose the steps of a replay; the second follows each step. They do nothing in a nested
 * replay. */
bg_status bg__watch_ranks_enter(bg_graph *graph, bool *entered);
bg_status bg__watch_ranks_step(const bg_graph *graph, int step, cudaStream_t stream);
void bg__watch_ranks_leave(bg_graph *graph);

/* ---- data of the tools (graph_views.c) ------------------------------------------------------------------------- */

/* A pointer to the data of the tools; NULL before it is set. */
void *bg__graph_tools(const bg_graph *graph);
void bg__graph_set_tools(bg_graph *graph, void *tools);
/* Whether the hook `replay` (debug_table.h) runs the graph's replays from now on. */
void bg__graph_set_diverted(bg_graph *graph, bool diverted);

#endif
