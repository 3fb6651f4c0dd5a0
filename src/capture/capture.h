/* Captures and graphs. A graph is a flat list of steps: replay walks it, and debug modes are edits of it. For this room
 * and those above it, but for the debugging tools: they include inspect.h. */
#ifndef BG_CAPTURE_CAPTURE_H
#define BG_CAPTURE_CAPTURE_H

#include <breakgraph/capture.h>
#include <breakgraph/stream.h>

#include "base/ranks.h"
#include "capture/inspect.h"
#include "capture/tools.h"
#include "memory/ledger.h"
#include "memory/memory.h"
#include "op/op.h"

/* ---- graphs (graph.c) ---------------------------------------------------------------------------------------- */

/* A write-back: an output that the body left elsewhere at capture. Part of a node of the next segment (writeback.c), or
 * a COPY step. */
typedef struct bg__fold bg__fold;
typedef struct bg__copy {
    struct bg__eager *eager;
    bg__move move; /* of this replay or, of a node, what it was last told */
    int device;
    bg__fold *fold;        /* NULL: it is a step */
    int place;             /* in it */
    bool enabled;          /* the node does it */
    struct bg__copy *next; /* at capture, of those that wait for the next segment */
} bg__copy;

/* An output as it was at capture, and where it lies in the arguments. */
typedef struct bg__captured {
    uint32_t offset;
    bg_tensor tensor;
    bg_tensor left; /* by the body, when the outputs were last settled */
} bg__captured;

/* An eager call: what a CALL step runs. */
typedef struct bg__eager {
    bg__call *call;
    bg_op_body body;
    void *args;                 /* stored; what bg_graph_args gives */
    void *work;                 /* what the body gets: a copy, since it may change it */
    bool steady;                /* left as they were last, its outputs are in place, or moved by the write-backs */
    bool exposed;               /* bg_graph_args has given args away: they may change */
    bg__copy **copies;          /* for each output its write-back, or NULL */
    bg__fold *folds;            /* the nodes that some of them are */
    bg__captured *captured;     /* for each output; the stored arguments may change */
    int outputs;                /* kept, since the op may be unloaded before the graph goes */
    struct bg__eager *previous; /* all of a graph's, to be freed */
} bg__eager;

typedef struct bg__step {
    bg__step_kind kind;
    int place; /* LAUNCH: the segment's number; CALL: the break's; SYNC: the step that it checks; WAIT, RECORD: the
                  record's site */
    union {
        cudaGraphExec_t exec;
        bg__eager *eager;
        bg__copy *copy;
        cudaEvent_t event; /* the program's */
    } of;
} bg__step;

/* Notes the tensors of a call that has been captured, or has run at a break. */
bg_status bg__noted_call(bg_graph *graph, const bg__call *call, const struct bg__eager *eager, const void *args);

/* What a FORWARD step keeps of its pass (forward.c). */
typedef struct bg__forward {
    bg_forward forward;
    void *user;
    bg__override *override;
    cudaEvent_t event;          /* of each pass: where its streams fork */
    bg_capture_options options; /* what they point to may be gone */
} bg__forward;

struct bg_graph {
    bg__step *steps;
    size_t step_capacity;
    int step_count;
    bool watched;  /* its addresses are checked before each replay */
    bool careful;  /* watched, or debugged: each replay looks at the current device, and whether its stream captures */
    bool diverted; /* the debugging tools do its replays */

    bg__use *use;             /* the order of replays: own_use, or that of all graphs of the pool */
    _Atomic uint64_t replays; /* written by the thread that replays alone; BG_REPORT reads it from others */

    bg__segment *segments;
    size_t segment_capacity;
    bg_site *sites; /* where the events of WAIT and RECORD steps were recorded */
    size_t site_capacity;
    int segment_count, site_count;
    bg__eager *eagers;
    bg__call root;
    bg_pool *pool; /* which it holds; NULL: the graph has its own memory */
    bg__use own_use;
    size_t pool_bytes;
    bg__forward *forward;
    char *name;
    int device;
    int breaks;
    size_t graph_bytes;
    double capture_ms, instantiate_ms;
    bg__noted noted;
    bool wrapped;      /* the segment is the program's (wrap.c) */
    bool instantiated; /* but its executable graph was made here */
    bool entered;      /* a replay of which ranks.table is told */
    void *tools;       /* what the debugging tools keep with it; NULL: nothing */
    bg__ranks ranks;   /* that it was captured with */
    char **texts;      /* its steps', for ranks.table.step; NULL: nobody is told */
};

bg_status bg__graph_create(bg_graph **graph, const char *name, bg_pool *pool);
/* Its steps (steps.c). */
bg_status bg__graph_add_step(bg_graph *graph, bg__step step);
bg_status bg__graph_add_segment(bg_graph *graph, bg__segment segment);
/* A WAIT or RECORD step as step number `at`; those from there on move up by one. */
bg_status bg__graph_insert_event(bg_graph *graph, int at, bg__step_kind kind, cudaEvent_t event, const bg_site *site);
/* Takes out all steps with that event. */
void bg__graph_remove_event(bg_graph *graph, cudaEvent_t event);
/* An eager call's record, with args copied. The graph owns it. */
bg_status bg__graph_add_eager(bg_graph *graph, bg__call *call, const void *args, bg__eager **eager);
/* Gives a wrapped graph without an executable one its own (wrap.c). */
bg_status bg__wrapped_instantiate(bg_graph *graph);
/* ---- ranks (agreement.c) ------------------------------------------------------------------------------------- */

/* A graph captured with ranks holds what its collectives need, until it is destroyed. */
void bg__graph_join_ranks(bg_graph *graph, const bg__ranks *ranks);
void bg__graph_leave_ranks(bg_graph *graph);

/* At the end of the capture. */
bg_status bg__watch_note(bg_graph *graph);

/* ---- captures (capture.c) ------------------------------------------------------------------------------------ */

typedef struct bg__member {
    cudaStream_t stream;
    cudaEvent_t event;     /* for forks to it and joins from it */
    bg_site site;          /* where it was forked, for messages */
    const bg__call *last;  /* the last op captured on it; NULL: none in this segment */
    cudaGraphNode_t stood; /* marks.c */
} bg__member;

/* An event that the program recorded in this capture, through this library. */
typedef struct bg__event {
    cudaEvent_t event;
    bool taken_up; /* recorded in a segment, and waited on in that one */
    bool in_body;  /* recorded by a body: it stands for work outside the graphs */
    bool real;     /* recorded in a segment, and then on the origin too, as in each replay */
    int part;      /* capture->part, when it was recorded */
    int waited_in; /* of a body's: the segment that waits for it by a WAIT step */
    bg_site site;
} bg__event;

/* A tensor of options.state, and what it held at begin. */
typedef struct bg__saved {
    void *data, *copy;
    size_t bytes;
} bg__saved;
typedef struct bg__state {
    bg__saved *saved;
    size_t count;
} bg__state;

/* Puts a body's record in place for the calling thread, and back. */
typedef struct bg__body_scope {
    bg_phase phase;
    bg__call *call;
    struct bg_capture *pass;
} bg__body_scope;
bg__body_scope bg__body_enter(bg_phase phase, bg__call *call);
void bg__body_leave(bg__body_scope scope);

/* A pass, of which graphs are made; or that runs eagerly, with the same meaning (forward.c). */
struct bg_capture {
    struct bg_capture *next; /* in the list of live captures */
    bg__body_scope around;   /* where the thread was */
    uint64_t thread;
    cudaStream_t origin;
    cudaEvent_t event; /* recorded on the origin where a segment begins, for forks */
    bg_capture_options options;
    bg_debug debug;
    bg__captured_check check; /* of the whole pass */
    bg_forward forward;       /* NULL: between begin and end */
    void *user;
    bg__override *override;
    bg_graph *graph;
    bg__member *members;
    int member_count;
    size_t member_capacity;
    bg__event *events; /* in order of their last records */
    int event_count;
    size_t event_capacity;
    int opened;       /* segments, empty ones too */
    int part;         /* of the pass: each begins where all streams were joined and forked again */
    bool eager;       /* nothing is captured: segments neither open nor close, and all that is queued runs */
    bool unseen_body; /* the body of some break did not run: it may record events */
    bg__state state;
    bg__source source;           /* the pool's */
    bool holds_pool;             /* its bucket is the capture's */
    bool follows_pool;           /* what the origin runs comes after all that used the pool before */
    size_t pool_mapped;          /* at begin */
    struct bg__survey *survey;   /* room to look at segments in (unjoined.c) */
    struct bg__marks *marks;     /* of the calls of the open segment */
    cudaGraphNode_t stood;       /* the origin (marks.c) */
    struct bg__workers *workers; /* NULL: segments are instantiated here */
    bg__copy *writebacks;        /* of the last break: they go into the segment that follows it */
    bool open;                   /* the origin captures */
    bool in_body;                /* a body runs at a break */
    int depth;                   /* library calls for this capture on the stack: the outermost one may free it */
    bool aborted;                /* inside of one */
    int meetings;                /* with other ranks, after the one before the first segment */
    bool parted;                 /* there will be no more */
    bg_status status;            /* the first failure */
    char message[1024];
    uint64_t range; /* of the open segment */
    double began_ms;
    size_t free_bytes; /* at begin */
};

/* The program's options, or NULL, with all members; whether they are valid (options.c). */
bg_status bg__capture_options_take(bg_capture_options *to, const bg_capture_options *from);
bg_status bg__capture_options_check(const bg_capture_options *options);
/* The debug mode, and what is checked, with what the environment says. whole: by bg_capture_forward. */
bg_status bg__capture_resolve_debug(bg_capture *capture, bool whole);
bg_status bg__capture_resolve_check(bg_capture *capture, bool whole);

/* Notes the first failure (failure.c). */
void bg__capture_note_failure(bg_capture *capture, bg_status status);
/* The same. Work that the program launches after it goes into a capture that is discarded. */
bg_status bg__capture_fail(bg_capture *capture, bg_status status);

/* What a failed or ended capture, or one between segments, answers to every call; else BG_OK. */
bg_status bg__capture_check(const bg_capture *capture);

/* Around all that a program may call in a capture. leave frees the capture if it has been aborted meanwhile; the status
 * is then NOT_CAPTURING. */
void bg__capture_enter(bg_capture *capture);
bg_status bg__capture_leave(bg_capture *capture, bg_status status);

/* Releases all that a capture holds, but not a graph that the caller has received. NULL is fine. */
void bg__capture_dispose(bg_capture *capture);
/* Frees its streams and events. */
void bg__capture_free_streams(bg_capture *capture);
/* The same for a capture that is discarded: options.state is restored first. */
void bg__capture_throw_away(bg_capture *capture);

/* Ends the segment that is open: joins the members, instantiates, launches. */
bg_status bg__segment_close(bg_capture *capture, bool join);
/* Begins the next one and forks the members into it. */
bg_status bg__segment_open(bg_capture *capture);
/* BG_DEBUG=sync: waits for the last step, here and in replays. */
bg_status bg__step_sync(bg_capture *capture);
/* Ends a capture and discards its work. */
void bg__segment_discard(bg_capture *capture);

/* A break around body work: close, run (NULL: nothing), open. call: what runs there; NULL for a bare break. */
typedef bg_status (*bg__at_break)(bg_capture *capture, void *user);
bg_status bg__capture_break(bg_capture *capture, const bg__call *call, bg__at_break run, void *user);
/* The same order without a break: joins the streams, runs, and forks them again. For what is declared eager and
 * captured all the same: a pass that relies on its breaks to order streams means the same without them. */
bg_status bg__capture_barrier(bg_capture *capture, bg__at_break run, void *user);

/* Meetings with other ranks (agreement.c); nothing without any. Before a capture of that name begins, with how it goes
 * on; also where it cannot (capture is NULL), with status: each rank's own failure, or RANKS. */
bg_status bg__ranks_meet_before(bg__ranks *ranks, const char *name, const bg_capture *capture, bool whole,
                                bg_status status);
bg_status bg__capture_meet_at_break(bg_capture *capture, const bg__call *call);
bg_status bg__capture_meet_at_end(bg_capture *capture);
/* Tells them, once, that this capture has failed; bg_last_error() stays. */
void bg__capture_part(bg_capture *capture, const char *why);

/* The op calls of a capture (ops.c). */
extern const bg__capture_hooks bg__capture_op_hooks;
/* Passes that run eagerly (forward.c). A capture with the debug mode forward: forward is the graph's only step. */
bg_status bg__capture_run_forward(bg_capture *capture, bg_forward forward, void *user);
/* It has ended well: the graph keeps what its replays need. */
void bg__capture_keep_forward(bg_capture *capture);
/* Runs a graph of bg__graph_of_forward, or one that was captured so, after all that used its memory before. BUSY where
 * its pool is in use. */
bg_status bg__forward_run(bg_graph *graph, bg_phase phase, cudaStream_t stream);
/* Its next passes go by the overrides that hold now. */
bg_status bg__forward_renew(bg_graph *graph, const char *eager_ops, bool tell);
/* The phase of a pass that begins here: that of the thread, unless the thread captures, since such a pass is not part
 * of the capture. */
bg_phase bg__forward_phase(void);

/* Write-backs (writeback.c). At a break: copy joins those of the next segment. */
bg_status bg__writeback_add(bg_capture *capture, bg__copy *copy);
/* They become the first nodes of the segment that has just begun. */
bg_status bg__writeback_capture(bg_capture *capture);
/* Whether a segment of so many nodes has nothing else. */
bool bg__writeback_alone(const bg_capture *capture, size_t nodes);
/* They become steps of their own. */
bg_status bg__writeback_unfold(bg_capture *capture);
/* They are nodes of that segment. */
void bg__writeback_fold(bg_capture *capture, int segment);
/* When all segments are instantiated. */
bg_status bg__writeback_bind(const bg_graph *graph);
void bg__writeback_free(bg__fold *folds);
/* In a replay: the node, or the step, of copy does this move; else it is done here, and *steady becomes false. flush,
 * after all of the call's, tells the nodes. */
bg_status bg__writeback_settle(bg__copy *copy, const bg__move *move, cudaStream_t stream, bool *steady);
bg_status bg__writeback_flush(bg__eager *eager, cudaStream_t stream, bool *steady);

/* Whether the node of a segment's graph writes outputs of the call back; *fold is it then, and is on or off in the next
 * launch. */
bool bg__writeback_is(const bg__eager *eager, cudaGraphNode_t node, const bg__fold **fold);
bool bg__writeback_is_on(const bg__fold *fold);

/* Instantiation in other threads (workers.c). start leaves *workers to be stopped even where it fails. */
typedef struct bg__workers bg__workers;
bg_status bg__workers_start(bg__workers **workers, int count, int device);
/* The next segment's graph. */
bg_status bg__workers_give(bg__workers *workers, cudaGraph_t graph);
/* Waits, and gives the segments and steps of graph what was made for them. */
bg_status bg__workers_collect(bg__workers *workers, bg_graph *graph);
/* Throws away what was not collected. NULL is fine. */
void bg__workers_stop(bg__workers *workers);
cudaError_t bg__instantiate(cudaGraph_t graph, cudaGraphExec_t *exec);

/* What profilers see (ranges.c); nothing unless the graph's root has ranges. */
void bg__ranges_open_segment(bg_capture *capture);
void bg__ranges_close_segment(const bg_capture *capture);
void bg__ranges_enter_break(const bg_capture *capture);
void bg__ranges_leave_break(const bg_capture *capture);
/* In a replay of a graph whose root has ranges. */
void bg__ranges_enter_step(const bg_graph *graph, const bg__step *step);
void bg__ranges_leave_step(const bg__step *step);

/* options.pool (pool.c): none of these does anything without one. The bucket is a pass's from open to close. */
bg_status bg__capture_open_bucket(bg_capture *capture);
void bg__capture_close_bucket(bg_capture *capture);
/* BUSY where a replay or capture uses it, or its last stream captures. */
bg_status bg__capture_check_use(const bg__use *use);
/* take orders the origin after the last use of the pool, and opens a bucket unless one is open. */
bg_status bg__capture_take_pool(bg_capture *capture);
/* Leaves it to replays and other captures; called by the end and, for what failed, once more. The next use comes after
 * the origin's work so far. */
cudaError_t bg__capture_leave_pool(bg_capture *capture);
/* What the pool has mapped since begin. */
size_t bg__capture_pool_growth(const bg_capture *capture);

/* Tensors that a pass changes (state.c). what: their name in messages. free after save, also where that failed. */
bg_status bg__state_save(bg__state *state, const bg_tensor *tensors, size_t count, const char *what,
                         cudaStream_t stream);
/* Returns when all is back. */
bg_status bg__state_restore(const bg__state *state, cudaStream_t stream);
void bg__state_free(bg__state *state);

/* Members (members.c). The origin counts as one, but is not found. */
bg__member *bg__member_find(const bg_capture *capture, cudaStream_t stream);
bool bg__capture_has(const bg_capture *capture, cudaStream_t stream);
bg_status bg__capture_add_member(bg_capture *capture, cudaStream_t stream, const bg_site *site);
/* Whether stream is the capture's (FORKED; by bare CUDA calls: then it becomes a member), not captured (OUTSIDE), or
 * captured by someone else that is not breakgraph (FOREIGN). WRONG_THREAD: another thread's breakgraph capture. */
typedef enum bg__stream_kind { BG__OUTSIDE, BG__FORKED, BG__FOREIGN } bg__stream_kind;
bg_status bg__capture_claim(bg_capture *capture, cudaStream_t stream, const bg_site *site, bg__stream_kind *kind);
/* The origin waits for all members. */
bg_status bg__capture_join(bg_capture *capture);
/* An op has been captured on stream. */
void bg__capture_note_call(bg_capture *capture, cudaStream_t stream, const bg__call *call);
/* Around a public function for streams or events (streams.c): what keeps it from running, and its failure's place and
 * effect. capture is the thread's, NULL without one. */
bool bg__stream_call_refused(const bg_capture *capture, bg_status *status);
bg_status bg__stream_call_end(bg_capture *capture, bg_status status, const char *function, const bg_site *site);

/* Whether someone else captures a stream of a pass that runs eagerly (members.c). */
bg_status bg__capture_find_foreign(const bg_capture *pass, bool *found);

/* Events (events.c). The last record of event in this capture; NULL: there is none. */
bg__event *bg__event_find(const bg_capture *capture, cudaEvent_t event);
void bg__event_forget(bg_capture *capture, cudaEvent_t event);
/* Room for one more; note, after the record, then cannot fail. */
bg_status bg__event_reserve(bg_capture *capture);
void bg__event_note(bg_capture *capture, cudaEvent_t event, const bg_site *site);
/* Whether the open segment waits for it by a step. */
bool bg__event_is_awaited(const bg_capture *capture, const bg__event *entry);
/* In each replay before the call whose body runs, and now. */
bg_status bg__event_record_before_call(bg_capture *capture, bg__event *entry);
/* Before a segment is launched: after what bodies queued and it waits for. */
bg_status bg__events_before_launch(bg_capture *capture);
/* Before a call, the last of the steps, whose body does not run at capture. */
bg_status bg__events_before_unseen(bg_capture *capture);
/* For a capture that has ended: those that its segments recorded are recorded on the origin. */
bg_status bg__events_settle(bg_capture *capture);
/* The same where a failure cannot be reported. */
void bg__events_free(bg_capture *capture);

/* The nodes of captured calls (marks.c). Writes to *place how many nodes the open segment has, when it ends: place
 * lives until then. *active: whether the capture is still sound; its end will tell why not, and *place stays -1. */
typedef struct bg__marks bg__marks;
bg_status bg__mark(bg_capture *capture, long *place, bool *active);
/* The segment is about to end with these nodes, in the order of their making. trails: whether the node is one that
 * nothing waits for, which then belongs to the call before it (NCCL leaves such event nodes). */
typedef bool (*bg__trails)(const void *user, cudaGraphNode_t node);
void bg__marks_settle(bg_capture *capture, const cudaGraphNode_t *nodes, size_t count, bg__trails trails,
                      const void *user);
/* It has been thrown away. */
void bg__marks_forget(bg_capture *capture);
void bg__marks_free(bg__marks *marks);

/* Work that the origin does not wait for (unjoined.c). */
typedef struct bg__unjoined {
    bg_status status; /* OK: there is none */
    char text[400];
} bg__unjoined;
/* Looks at the segment that is open, whose nodes it also tells to the marks. */
bg_status bg__find_unjoined(bg_capture *capture, bg__unjoined *unjoined);
void bg__survey_free(struct bg__survey *survey);

/* Live captures (live.c). */
void bg__live_add(bg_capture *capture);
void bg__live_remove(bg_capture *capture);
/* The capture that the calling thread began, NULL without one. */
bg_capture *bg__live_captured(void);
/* The pass that the calling thread runs eagerly, or that capture, where a call here may belong to it. The body of a
 * replay on a stream outside the thread's capture is not part of that capture: what it does does not affect it, nor
 * does its failure. The same holds for a pass that runs eagerly. */
bg_capture *bg__live_here(void);
/* Streams that are capturing now, in a capture that `thread` began. Replays read them without a lock. */
bg_status bg__captured_add(cudaStream_t stream, uint64_t thread);
void bg__captured_remove(cudaStream_t stream, uint64_t thread);
bool bg__captured_has(cudaStream_t stream);

#endif
