/* An open capture and its functions. Eager passes use them, too. Code above this folder that needs only graphs includes
 * graph.h. */
#ifndef BG_CAPTURE_CAPTURE_H
#define BG_CAPTURE_CAPTURE_H

#include <breakgraph/stream.h>

#include "graph/compile_table.h"
#include "graph/graph.h"

typedef struct bg__member {
    cudaStream_t stream;
    cudaEvent_t event;                /* forks the stream and joins it */
    bg_site site;                     /* where it was forked, for messages */
    const bg__call *last;             /* the last call captured on it; NULL: none in this segment */
    cudaGraphNode_t last_node_before; /* its last node at the previous mark (capture_marks.c) */
} bg__member;

/* An event that the program recorded in this capture, through this library. */
typedef struct bg__event {
    cudaEvent_t event;
    bool awaited_in_segment; /* recorded in a segment, and waited on in the same segment */
    bool in_body;            /* recorded by a body, after work outside the graphs */
    bool real;               /* also recorded on the origin, as in each replay */
    int part;                /* capture->part at the record */
    int segment;             /* capture->opened at the record; CUDA knows the record only in that segment */
    int waited_in;           /* in_body: the segment before which a WAIT step waits for it */
    int node_in;             /* in_body: the segment in which a node waits for it */
    cudaEvent_t twin; /* with cudaEventRecordExternal a node records event, and twin is recorded at the same place for
                       * streams that wait in that segment. NULL: these wait for event itself */
    bg_site site;
    cudaStream_t stream;
    const bg__call *after; /* the last call that had begun at the record */
} bg__event;

/* A tensor of options.state, and what it held at begin. */
typedef struct bg__saved_tensor {
    void *data, *copy;
    size_t bytes;
} bg__saved_tensor;
typedef struct bg__state {
    bg__saved_tensor *saved;
    size_t count;
} bg__state;

/* The first function makes a body the one that the calling thread runs. The second restores the earlier state. */
typedef struct bg__body_scope {
    bg_phase phase;
    bg__call *call;
    struct bg_capture *pass;
} bg__body_scope;
bg__body_scope bg__body_enter(bg_phase phase, bg__call *call);
void bg__body_leave(bg__body_scope scope);

/* A pass that is captured, or that runs eagerly with the same meaning (forward.c). */
struct bg_capture {
    struct bg_capture *next; /* in the list of live captures */
    bg__body_scope around;   /* the thread's state before begin */
    uint64_t thread;
    cudaStream_t origin;
    cudaEvent_t event; /* recorded on the origin where a segment begins, for forks */
    bg_capture_options options;
    bg_debug debug;
    unsigned checks;    /* BG__CHECK_ bits */
    const void *frame;  /* the stack frame of the public function that ends it */
    bg_forward forward; /* NULL: between begin and end */
    void *user;
    bg__override *override;
    bg_graph *graph;
    bg__member *members;
    int member_count;
    size_t member_capacity;
    bg__event *events; /* in order of their last records */
    int event_count;
    size_t event_capacity;
    int opened;     /* segments, empty ones too */
    int part;       /* number of the part of the pass; a part begins where all streams are joined and forked again */
    bool eager;     /* nothing is captured: segments neither open nor close, and all that is queued runs */
    bool compiling; /* a segment that has ended is being compiled: bodies may not change the pass */
    bool has_unrun_body; /* the body of some break did not run at capture: it may record events */
    bg__state state;
    bg__memory_source source;              /* the pool's */
    bool holds_pool;                       /* the pool's open bucket is this capture's */
    bool ordered_after_pool;               /* the origin waits for all earlier uses of the pool */
    size_t pool_mapped;                    /* at begin */
    struct bg__open_segment *open_segment; /* buffers for the check of segments (unjoined.c) */
    struct bg__marks *marks;               /* of the calls of the open segment */
    cudaGraphNode_t last_node_before;      /* as bg__member.last_node_before, for the origin */
    bg__call **inlined; /* with a level: the calls that the open segment has captured and that have no calls
                         * inside */
    size_t inlined_capacity;
    int inlined_count;
    int level;                      /* of compilation */
    struct bg__workers *workers;    /* NULL: the capturing thread instantiates segments */
    bg__writeback_copy *writebacks; /* of the last break: they become nodes of the segment that follows it */
    bool open;                      /* the origin captures */
    bool in_body;                   /* a body runs at a break */
    int rows;                       /* of the runner's bucket; 0: no runner captures it */
    int depth;                      /* number of library calls for this capture on the stack; the outermost call may
                                     * free it */
    bool aborted;                   /* it was aborted inside such a call */
    bool parted;                    /* the ranks compare nothing more */
    bg_status status;               /* the first failure */
    char message[1024];
    uint64_t range; /* of the open segment */
    double began_ms;
    size_t free_bytes; /* at begin */
};

/* Copies the program's options (NULL: the defaults) into a complete struct; checks their values (options.c). */
bg_status bg__capture_options_copy(bg_capture_options *to, const bg_capture_options *from);
bg_status bg__capture_options_check(const bg_capture_options *options);
/* Set capture->debug and capture->checks, from options and environment. whole: the call is bg_capture_forward;
 * of_runner: a runner makes it. */
bg_status bg__capture_resolve_debug(bg_capture *capture, bool whole);
bg_status bg__capture_resolve_check(bg_capture *capture, bool whole, bool of_runner);

/* bg_capture_forward for a runner whose bucket is open and stays open; `around` NULL: for the program (capture.c). */
bg_status bg__capture_forward(bg_graph **graph, bg_forward forward, void *user, cudaStream_t stream,
                              const bg_capture_options *options, bg__bucket_hooks *around);

/* Keeps status and bg_last_error() if this is the capture's first failure (failure.c). */
void bg__capture_record_failure(bg_capture *capture, bg_status status);
/* As bg__capture_record_failure, and returns the first failure's status. Work that the program launches afterwards goes
 * into a capture that is discarded. */
bg_status bg__capture_fail(bg_capture *capture, bg_status status);

/* Returns the status that every call gets in a capture that has failed or ended, or is between segments; else BG_OK. */
bg_status bg__capture_closed_status(const bg_capture *capture);
static inline bg_status bg__capture_check_open(const bg_capture *capture)
{
    bool takes_calls = capture->status == BG_OK && !capture->aborted && (capture->open || capture->eager);
    return takes_calls ? BG_OK : bg__capture_closed_status(capture);
}

/* Called at the begin and end of each public function that works on a capture. At the end it frees a capture that was
 * aborted meanwhile, and returns NOT_CAPTURING. */
static inline void bg__capture_begin_call(bg_capture *capture)
{
    capture->depth++;
}
bg_status bg__capture_end_aborted_call(bg_capture *capture);
static inline bg_status bg__capture_end_call(bg_capture *capture, bg_status status)
{
    capture->depth--;
    return capture->aborted ? bg__capture_end_aborted_call(capture) : status;
}

/* Releases all that a capture holds, except a graph that the caller has received. NULL: nothing happens. */
void bg__capture_free(bg_capture *capture);
/* Frees the capture's streams and events. */
void bg__capture_free_streams(bg_capture *capture);
/* As bg__capture_free, for a capture that is discarded: restores options.state first. */
void bg__capture_discard(bg_capture *capture);

/* Ends the segment that is open: joins the members, instantiates, launches. */
bg_status bg__segment_close(bg_capture *capture, bool join);
/* Begins the next segment and forks the members into it. */
bg_status bg__segment_open(bg_capture *capture);
/* BG_DEBUG=sync: waits for the last step, here and in replays. */
bg_status bg__capture_sync_step(bg_capture *capture);
/* Ends a stream's capture, also where CUDA refuses that at first; *graph is NULL after an error. */
cudaError_t bg__stream_end_capture(cudaStream_t origin, cudaGraph_t *graph);
/* Ends a capture and discards its work. */
void bg__segment_discard(bg_capture *capture);

/* A break: closes the segment, calls `run` (NULL: nothing), opens the next segment. call: the call at the break; NULL:
 * bg_break. */
typedef bg_status (*bg__at_break)(bg_capture *capture, void *user);
bg_status bg__capture_break(bg_capture *capture, const bg__call *call, bg__at_break run, void *user);
/* Joins the streams, calls `run`, and forks the streams again, without a break. For calls that are declared eager but
 * captured: a pass that relies on its breaks to order streams then keeps its meaning. */
bg_status bg__capture_barrier(bg_capture *capture, bg__at_break run, void *user);

/* Meetings with other ranks (capture_agreement.c); without ranks they do nothing. Call bg__ranks_agree_on_begin before
 * a capture of that name. If the capture cannot begin, pass NULL as `capture`, and the failure as `status`. Returns
 * this rank's own failure, or RANKS. */
bg_status bg__ranks_agree_on_begin(bg__ranks *ranks, const char *name, const bg_capture *capture, bool whole,
                                   bg_status status);
bg_status bg__capture_agree(bg_capture *capture, const char *text);
bg_status bg__capture_agree_on_break(bg_capture *capture, const bg__call *call);
bg_status bg__capture_agree_on_end(bg_capture *capture);
/* Reports to the other ranks, once, that this capture has failed; bg_last_error() stays. */
void bg__capture_notify_failure(bg_capture *capture, const char *why);

/* The op calls of a capture (ops.c). */
extern const bg__capture_hooks bg__capture_op_hooks;
/* Passes that run eagerly (forward.c). For a capture in the debug mode forward: the graph gets one FORWARD step. */
bg_status bg__capture_run_forward(bg_capture *capture, bg_forward forward, void *user);
/* After a capture in the debug mode forward has ended without failure: moves the objects that replays need to the
 * graph. */
void bg__capture_transfer_forward(bg_capture *capture);
/* Runs a graph with a FORWARD step, after all work that used its memory before. BUSY: its pool is in use. */
bg_status bg__forward_run(bg_graph *graph, bg_phase phase, cudaStream_t stream);
/* Reads the overrides anew, for the next passes of the graph. */
bg_status bg__forward_reload_overrides(bg_graph *graph, const char *eager_ops);
/* Returns the phase for a pass that the calling thread begins: its current phase, but PLAIN if it captures, since the
 * pass is not part of the capture. */
bg_phase bg__forward_phase(void);

/* Compile levels (compile.c). Sets capture->level, from options and environment. */
bg_status bg__compile_resolve_level(bg_capture *capture);
/* The choices of BG_COMPILE_PROVE. */
enum { BG__PROVE_ONCE, BG__PROVE_ALWAYS, BG__PROVE_OFF };
/* Whether captures at options.level `asked` have rules to prove. Proofs need launched segments. */
bg_status bg__compile_needs_proofs(int asked, bool *proves);
/* Lists the ops that rules may put in place of calls of `ops` at level `asked`. */
bg_status bg__compile_list_ops(int asked, const bg_op *const *ops, size_t count,
                               void (*see)(void *user, const bg_op *op), void *user);
/* Adds a call that has been captured into the open segment. */
bg_status bg__compile_add_call(bg_capture *capture, bg__call *call);
/* Call src/compile at the begin of the capture, before its first segment, and when a segment has ended. Without a level
 * they do nothing. */
bg_status bg__compile_begin(bg_capture *capture);
bg_status bg__compile_segment(bg_capture *capture, bg__segment *segment, bool *launched);

/* Instantiation in other threads (workers.c). After a failed start, too, the caller must stop *workers. */
typedef struct bg__workers bg__workers;
bg_status bg__workers_start(bg__workers **workers, int count, int device);
/* Queues the graph of the next segment. */
bg_status bg__workers_submit(bg__workers *workers, cudaGraph_t graph);
/* Waits, and puts the executable graphs into the segments and steps of graph. */
bg_status bg__workers_collect(bg__workers *workers, bg_graph *graph);
/* Stops the threads, and destroys executable graphs that were not collected. NULL: nothing happens. */
void bg__workers_stop(bg__workers *workers);

/* Ranges for profilers (capture_nvtx.c); they do nothing unless the root of the graph has ranges. */
void bg__nvtx_begin_segment(bg_capture *capture);
void bg__nvtx_end_segment(const bg_capture *capture);
void bg__nvtx_push_break(const bg_capture *capture);
void bg__nvtx_pop_break(const bg_capture *capture);
/* Begin and end a step's range, in a replay of a graph whose root has ranges. */
void bg__nvtx_push_step(const bg_graph *graph, const bg__step *step);
void bg__nvtx_pop_step(const bg__step *step);

/* options.pool (capture_pool.c); without a pool these do nothing. A pass holds the bucket from open to close. */
bg_status bg__capture_open_bucket(bg_capture *capture);
void bg__capture_close_bucket(bg_capture *capture);
/* Acquires `use`. Errors: BUSY (a replay or capture has it, or the stream of its last use captures). */
bg_status bg__capture_acquire_use(bg__last_use *use);
/* Acquires the pool, orders the origin after its last use, and opens a bucket unless one is open. */
bg_status bg__capture_acquire_pool(bg_capture *capture);
/* Releases the pool to replays and other captures: the next use waits for the origin's earlier work. Called at the end
 * and, after a failure, once more. */
cudaError_t bg__capture_release_pool(bg_capture *capture);
/* Bytes that the pool has mapped since begin. */
size_t bg__capture_pool_growth(const bg_capture *capture);

/* Tensors that a pass changes (saved_state.c). what: their name in messages. Call bg__state_free after bg__state_save,
 * also if the latter failed. */
bg_status bg__state_save(bg__state *state, const bg_tensor *tensors, size_t count, const char *what,
                         cudaStream_t stream);
/* Waits until all is restored. */
bg_status bg__state_restore(const bg__state *state, cudaStream_t stream);
void bg__state_free(bg__state *state);

/* Members (capture_members.c). The origin is a member too, but bg__member_find does not return it. */
bg__member *bg__member_find(const bg_capture *capture, cudaStream_t stream);
bool bg__capture_has_stream(const bg_capture *capture, cudaStream_t stream);
bg_status bg__capture_add_member(bg_capture *capture, cudaStream_t stream, const bg_site *site);
/* Whether stream takes part in the capture (FORKED; a stream that plain CUDA calls forked becomes a member), is not
 * captured (OUTSIDE), or is captured by a capture that breakgraph did not begin (FOREIGN). WRONG_THREAD: it takes part
 * in a capture of another thread. */
typedef enum bg__stream_kind { BG__OUTSIDE, BG__FORKED, BG__FOREIGN } bg__stream_kind;
bg_status bg__capture_resolve_stream(bg_capture *capture, cudaStream_t stream, const bg_site *site,
                                     bg__stream_kind *kind);
/* The origin waits for all members. */
bg_status bg__capture_join_members(bg_capture *capture);
/* Stores `call` as the last one that was captured on `stream`, for messages. */
void bg__capture_set_last_call(bg_capture *capture, cudaStream_t stream, const bg__call *call);
/* At the begin and end of a public function for streams or events (streams.c): bg__stream_call_refused returns true if
 * the function may not run; bg__stream_call_end adds the place to the function's failure, and fails the capture.
 * capture: the thread's; NULL: none. */
bool bg__stream_call_refused(const bg_capture *capture, bg_status *status);
bg_status bg__stream_call_end(bg_capture *capture, bg_status status, const char *function, const bg_site *site);

/* Whether a stream of a pass that runs eagerly is being captured (capture_members.c). */
bg_status bg__pass_find_capturing_stream(const bg_capture *pass, bool *found);

/* Events (events.c). The last record of event in this capture; NULL: there is none. */
bg__event *bg__event_find(const bg_capture *capture, cudaEvent_t event);
void bg__event_remove(bg_capture *capture, cudaEvent_t event);
/* Makes room for one more event, so that the next function, after CUDA's record, cannot fail. */
bg_status bg__event_reserve(bg_capture *capture);
void bg__event_add_record(bg_capture *capture, cudaEvent_t event, cudaStream_t stream, const bg_site *site);
/* As above, for an event that a node records; the capture owns `twin` from then on. */
void bg__event_add_node_record(bg_capture *capture, cudaEvent_t event, cudaEvent_t twin, cudaStream_t stream,
                               const bg_site *site);
/* Returns the event that a stream waits for in the segment of the record. */
static inline cudaEvent_t bg__event_in_segment(const bg__event *entry)
{
    return entry->twin != NULL ? entry->twin : entry->event;
}
/* Whether the open segment, or a WAIT step before it, waits for the event. */
bool bg__event_is_awaited(const bg_capture *capture, const bg__event *entry);
/* Records the event now, and in each replay before the call whose body runs. */
bg_status bg__event_record_before_call(bg_capture *capture, bg__event *entry);
/* Returns the last call that has begun in this capture, or the root of its calls if none has (capture_waits.c). */
const bg__call *bg__capture_last_call(const bg_capture *capture);
/* Keeps a wait of the open segment for the tools, and sets its waited_after. */
bg_status bg__capture_add_wait(bg_capture *capture, const bg__stream_wait *wait);
/* Before a segment is launched: waits for the events of bodies that the segment waits for. */
bg_status bg__events_wait_before_launch(bg_capture *capture);
/* Adds RECORD steps before the last step, a call whose body does not run at capture. */
bg_status bg__events_record_before_unrun_body(bg_capture *capture);
/* At the end of a capture: records on the origin the events that its segments recorded. */
bg_status bg__events_record_at_end(bg_capture *capture);
/* As above, but ignores failures; frees the list. */
void bg__events_free(bg_capture *capture);

/* The nodes of captured calls (capture_marks.c). When the open segment ends, *place becomes the number of nodes that it
 * has now; place must live until then. *active: false if the capture is invalid; *place then stays -1, and the end of
 * the capture reports why. */
typedef struct bg__marks bg__marks;
bg_status bg__marks_add(bg_capture *capture, long *place, bool *active);
/* Sets the places when the segment is about to end. Its nodes are in order of creation. `trails` says whether nothing
 * waits for a node. Such a node belongs to the call before it (NCCL leaves such event nodes). */
typedef bool (*bg__is_trailing_node)(const void *user, cudaGraphNode_t node);
void bg__marks_resolve(bg_capture *capture, const cudaGraphNode_t *nodes, size_t count, bg__is_trailing_node trails,
                       const void *user);
/* The segment was discarded. */
void bg__marks_clear(bg_capture *capture);
void bg__marks_free(bg__marks *marks);

/* Work that the origin does not wait for (unjoined.c). */
typedef struct bg__unjoined {
    bg_status status; /* BG_OK: there is no such work */
    char text[400];
} bg__unjoined;
/* Checks the open segment, and passes its nodes to bg__marks_resolve. *nodes becomes the number of its nodes, so that
 * the caller need not count them (CUDA walks over the graph); 0 if the capture is invalid. */
bg_status bg__find_unjoined(bg_capture *capture, bg__unjoined *unjoined, size_t *nodes);
void bg__open_segment_free(struct bg__open_segment *open_segment);

/* Live captures (capturing_streams.c). */
void bg__live_add(bg_capture *capture);
void bg__live_remove(bg_capture *capture);
/* Returns the capture that the calling thread began, or NULL. */
bg_capture *bg__thread_capture(void);
/* Returns the pass that the calling thread runs eagerly, or the capture that it began. Returns NULL if a call made now
 * cannot belong to it: a replay, or an eager pass, on a stream outside the thread's capture is not part of that
 * capture. */
bg_capture *bg__thread_pass_or_capture(void);
/* Streams that are capturing now, in a capture that `thread` began. Replays read them without a lock. */
bg_status bg__capturing_streams_add(cudaStream_t stream, uint64_t thread);
void bg__capturing_streams_remove(cudaStream_t stream, uint64_t thread);
bool bg__capturing_streams_has(cudaStream_t stream);
/* Called around a CUDA capture that is not a bg_capture, such as the referee's: other threads must not wait for the
 * device meanwhile. */
void bg__capturing_streams_enter(void);
void bg__capturing_streams_leave(void);

#endif
