/* What the debugging tools may see of a graph, and do with it. It is all that they include of this room, but for the
 * table that they fill in (tools.h). */
#ifndef BG_CAPTURE_INSPECT_H
#define BG_CAPTURE_INSPECT_H

#include <breakgraph/capture.h>

#include "base/ranks.h"
#include "memory/ledger.h"
#include "memory/memory.h"
#include "op/op.h"

/* ---- what a graph is (inspect.c) ------------------------------------------------------------------------------- */

const char *bg__graph_name(const bg_graph *graph);
/* The root of its calls, which is none itself. */
const bg__call *bg__graph_root(const bg_graph *graph);

typedef struct bg__graph_facts {
    int device, breaks;
    double capture_ms, instantiate_ms;
    bg_pool *pool;  /* NULL: the graph has its own memory */
    bool watched;   /* its addresses are checked before each replay */
    bool foreign;   /* it launches an executable graph of the program's, which may have changed it */
    bool replaying; /* a replay of it, or of its pool, has not returned */
} bg__graph_facts;
bg__graph_facts bg__graph_get_facts(const bg_graph *graph);
/* That succeeded. From any thread, also while one replays the graph. */
uint64_t bg__graph_replays(const bg_graph *graph);
bg__ranks *bg__graph_ranks(bg_graph *graph);

typedef struct bg__segment {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    size_t nodes;
} bg__segment;
int bg__graph_segment_count(const bg_graph *graph);
const bg__segment *bg__graph_segment(const bg_graph *graph, int index);

typedef enum bg__step_kind {
    BG__LAUNCH,  /* a segment */
    BG__CALL,    /* an eager op */
    BG__FORWARD, /* the whole pass as one eager call */
    BG__COPY,    /* a write-back that is no node of a segment */
    BG__WAIT,    /* for an event that a body recorded, before a segment that waits on it */
    BG__RECORD,  /* of an event that a segment recorded, before a body that waits on it */
    BG__SYNC     /* wait and check (BG_DEBUG=sync) */
} bg__step_kind;

/* A step as the tools see it. */
typedef struct bg__step_view {
    bg__step_kind kind;
    int place;            /* LAUNCH: the segment's number; CALL: the break's; SYNC: the step that it checks */
    const bg__call *call; /* CALL: the eager call; COPY: the one whose output it brings back; else NULL */
    const void *args;     /* CALL: what the next run of its body gets */
    const void *left;     /* CALL: what the last one left of it */
} bg__step_view;
int bg__graph_step_count(const bg_graph *graph);
bg__step_view bg__graph_step(const bg_graph *graph, int step);
/* Where a step is, for messages: "segment 2", "call attention#0". */
const char *bg__step_text(const bg_graph *graph, int step, char *text, size_t bytes);

/* The arguments of a call as far as they are known: of an eager one those of its next replay; NULL: they are not. */
const void *bg__graph_call_args(const bg_graph *graph, const bg__call *call);
/* Whether bg_graph_args has given arguments away: they may change. */
bool bg__graph_is_exposed(const bg_graph *graph);

/* Whether the node of a segment's graph writes outputs of an eager call back, and how. */
typedef struct bg__writeback {
    const bg__call *call;
    const struct bg__eager *eager;
    const struct bg__fold *fold;
    bool enabled; /* in the next launch */
} bg__writeback;
bool bg__graph_find_writeback(const bg_graph *graph, cudaGraphNode_t node, bg__writeback *found);
/* Does on stream what the node would do now. */
bg_status bg__writeback_run(const bg__writeback *writeback, cudaStream_t stream);

/* ---- addresses (noted.c) ------------------------------------------------------------------------------------- */

/* An owner of addresses that the graph holds, as it was at capture. */
typedef struct bg__noted_owner {
    bg__owner owner;
    bg__level level;
    uint64_t version; /* the ledger's, when it was last found so */
    bool own;         /* the memory is that of an allocation node of the graph */
} bg__noted_owner;

/* A tensor of a call or a runner, or the part of it that lies in one mapping. */
typedef struct bg__note {
    const bg__call *call;          /* NULL: a runner's buffer */
    const struct bg__eager *eager; /* NULL: a captured call, whose arguments are frozen */
    const bg_field *field;
    const char *name; /* a runner's buffer's; lives as long as the graph */
    int element;      /* of BG_OUTS */
    uint32_t offset;  /* in the arguments */
    uintptr_t address;
    size_t bytes;
    size_t before;          /* bytes of the tensor in front of this part */
    size_t beyond;          /* bytes of it that lay in no allocation at capture */
    int owners[BG__LEVELS]; /* -1: none is known on that level */
} bg__note;

enum { BG__RECENT = 32 };

typedef struct bg__noted_order {
    int *list;
    int count;
    size_t capacity;
    int recent[BG__RECENT]; /* owners that were found before, by address; counted from 1, 0: none */
} bg__noted_order;

typedef struct bg__noted {
    bg__note *list;
    int count;
    size_t capacity;
    bg__noted_owner *owners;
    int owner_count;
    size_t owner_capacity;
    bg__noted_order order[BG__LEVELS]; /* of the owners that were found last, by address */
    bool replaced;                     /* one of the driver's among them, within the capture */
    uint64_t version;                  /* the ledger's, when all was last checked; 0: never */
} bg__noted;

/* Notes a tensor as that says, whose address, bytes and owners are yet to be filled in. */
bg_status bg__noted_tensor(bg__noted *noted, const bg__note *as, const bg_tensor *tensor);
void bg__noted_clear(bg__noted *noted);
/* The graph need not be const: some of it is what the last check found. */
bg__noted *bg__graph_noted(const bg_graph *graph);
/* What the next replay of an eager call gets in place of the tensor that was noted; NULL: that one. */
const bg_tensor *bg__note_replacement(const bg__note *note);

/* ---- replays (replay.c, agreement.c) ----------------------------------------------------------------------------- */

/* What a replay does, in parts, for the tools that walk over the steps themselves (replay.c). enter: the checks of
 * bg_replay and its order after other replays; the graph is busy until leave, which returns status or a failure of its
 * own. */
bg_status bg__replay_enter(bg_graph *graph, cudaStream_t stream);
bg_status bg__replay_step(bg_graph *graph, int step, cudaStream_t stream);
bg_status bg__replay_leave(bg_graph *graph, cudaStream_t stream, bg_status status);

/* Whether the table of ranks is notified of replays. */
bool bg__watch_is_wanted(const bg_graph *graph);
/* Around a replay's steps, and after each; what is inside of another one is that one's. */
bg_status bg__watch_enter(bg_graph *graph, bool *entered);
bg_status bg__watch_step(const bg_graph *graph, int step, cudaStream_t stream);
void bg__watch_leave(bg_graph *graph);

/* A graph whose replays run forward(user) eagerly, as under BG_DEBUG=forward, with the meaning that its capture with
 * those options has. tell: as for bg__override_get. */
bg_status bg__graph_of_forward(bg_graph **graph, const char *name, bg_forward forward, void *user,
                               const bg_capture_options *options, bool tell);
/* One pass of it on stream, which is neither ordered after other uses of its memory nor keeps them away: the caller
 * does that. watcher looks at its calls, and not at those of passes inside of it; NULL: nobody does. */
bg_status bg__forward_pass(bg_graph *graph, bg_phase phase, cudaStream_t stream, const bg__watcher *watcher);

/* ---- what the tools keep with a graph (inspect.c) ------------------------------------------------------------------
 */

/* One pointer, which is theirs; NULL before set. */
void *bg__graph_tools(const bg_graph *graph);
void bg__graph_set_tools(bg_graph *graph, void *tools);
/* Whether the hook `replay` (tools.h) does the graph's replays from now on. */
void bg__graph_divert(bg_graph *graph, bool diverted);

/* Whether any stream captures now, of a capture of this library. */
bool bg__captured_any(void);

#endif
