/* Captures a forward pass as segments with eager calls between them, and replays it.
 * Threads: a capture belongs to the thread that began it. A graph serves one thread at a time; different graphs may be
 * captured, replayed and destroyed concurrently in different threads. */
#ifndef BREAKGRAPH_CAPTURE_H
#define BREAKGRAPH_CAPTURE_H

#include <breakgraph/memory.h>
#include <breakgraph/op.h>
#include <breakgraph/phase.h>
#include <breakgraph/ranks.h>
#include <breakgraph/status.h>
#include <breakgraph/tensor.h>

BG_BEGIN_C_

/* A capture that is running. */
typedef struct bg_capture bg_capture;
/* A captured pass: segments, and eager calls between them. */
typedef struct bg_graph bg_graph;

/* A forward pass: queues its work on stream. Returns its first error. No exception may leave it: what it throws would
 * pass through C. The functions of breakgraph/breakgraph.hpp take forward functions that throw. */
typedef bg_status (*bg_forward)(void *user, cudaStream_t stream);

/* How much of a pass runs eagerly or step by step, to find a fault.
 *   FROM_ENV: the value of the environment variable BG_DEBUG (off, forward, ops, sync, step); OFF where it is not set
 *   OFF:      each op as it is declared
 *   FORWARD:  the whole pass is one eager call (needs bg_capture_forward; between begin and end it acts as OPS)
 *   OPS:      every registered op is a break
 *   SYNC:     as captured, but waits and checks for errors after each segment and eager call, at capture and in replays
 *   STEP:     as captured, but every replay runs node by node, as bg_step does (breakgraph/step.h) */
typedef enum bg_debug {
    BG_DEBUG_FROM_ENV = 0,
    BG_DEBUG_OFF,
    BG_DEBUG_FORWARD,
    BG_DEBUG_OPS,
    BG_DEBUG_SYNC,
    BG_DEBUG_STEP
} bg_debug;

/* Whether each replay first checks that the addresses in the graph still belong to the same allocations.
 *   FROM_ENV: ON if the environment variable BG_CHECK contains replay, else OFF. If it contains graph, bg_check runs at
 *             the end of the capture, before the first replays and after memory was freed; its findings go to standard
 *             error. recapture and poison are for bg_capture_forward and for runners
 *   OFF:      never
 *   ON:       a replay of a graph with a stale address in a tensor or a node returns BG_ERROR_STALE_ADDRESS and
 *             launches nothing, also where the device has failed */
typedef enum bg_replay_check { BG_REPLAY_CHECK_FROM_ENV = 0, BG_REPLAY_CHECK_OFF, BG_REPLAY_CHECK_ON } bg_replay_check;

/* What captures do with runs of op calls that rules can replace (breakgraph/compile.h).
 *   FROM_ENV:  the value of the environment variable BG_COMPILE; NONE if it is not set
 *   NONE:      nothing
 *   AS_IS:     nothing; bg_graph_get_fusion lists which runs fit, and which nearly do
 *   ONCE:      rules that hold for any number of rows are used
 *   PIECEWISE: those, and rules that are specialised for shapes */
typedef enum bg_level {
    BG_LEVEL_FROM_ENV = -1,
    BG_LEVEL_NONE,
    BG_LEVEL_AS_IS,
    BG_LEVEL_ONCE,
    BG_LEVEL_PIECEWISE,
    BG_LEVEL_COUNT
} bg_level;

/* Options of a capture. */
typedef struct bg_capture_options {
    size_t struct_size;              /* set by BG_CAPTURE_OPTIONS_INIT */
    const char *name;                /* the graph's name, for messages; copied. NULL: "graph" */
    enum cudaStreamCaptureMode mode; /* CUDA's capture mode. Default: thread-local */
    bg_debug debug;                  /* default: FROM_ENV */
    bool launch_segments;            /* true (default): each segment is launched, so that the capture is one real pass.
                                      * false: none is launched; an eager op runs its capture stub, or its body only
                                      * where an output's shape needs it (bg_op_attributes.shape) */
    bool join_at_end;                /* true: the end joins forked streams that have unjoined work; false: an error */
    bool foreign_inline; /* true: an eager op on a stream of a foreign capture runs, and its work goes into that
                          * capture; false: an error */
    bool zero_tail;      /* true: the rows that an output lacks (bg_op_attributes.allow_fewer_rows) are set to zero;
                          * false: they are left unchanged */
    int worker_threads;  /* threads that instantiate segments while the capture continues, 0 to 64. Not used with
                          * launch_segments, where the capturing thread instantiates each segment as soon as it ends */
    bg_pool *pool; /* holds bridge buffers, scratch and the pass's blocks of bg_pool_alloc, at addresses that the pool's
                    * other graphs also use; the graph keeps the pool alive. NULL: the graph has its own memory */
    /* Tensors that a pass changes (such as a KV cache). They are restored if the capture did not really run the
     * pass (without launch_segments), failed or was aborted. NULL: none. */
    const bg_tensor *state;
    size_t state_count;
    bg_status (*barrier)(void *user); /* called at capture after each segment's end. It may wait, but not call ops. An
                                       * error ends the capture. NULL: none */
    void *barrier_user;
    bool upload;           /* true: without launch_segments, the end uploads the segments to the device, so that the
                            * first replay need not */
    bool inline_eager;     /* true: ops that are declared eager are captured, and bg_break calls end no segment; both
                            * still join all streams and fork them again, as a break does. Ops that eager_ops and the
                            * overrides name are still breaks */
    const char *eager_ops; /* a list of patterns as for bg_override_eager, for this capture. Those of that function and
                            * of BG_EAGER_OPS are applied after it. NULL: none */
    bg_replay_check check; /* default: FROM_ENV */
    /* The job's ranks, which capture together; NULL: this process alone. Before the capture the ranks compare the
     * graph's name and how it is debugged (the modes forward and step, BG_CHECK=recapture and poison, BG_SHADOW). After
     * each segment they compare which eager call follows; at the end, the numbers of segments and breaks. Where the
     * capture fails on one rank, it fails on all: on the others with RANKS and that rank's message. Replays report
     * their progress through ranks->enter and ranks->step. */
    const bg_ranks *ranks;
    /* The number of breaks that the pass must have (bg_graph_info.breaks). With another number the capture fails with
     * INVALID_ARGUMENT, and bg_last_error() lists the eager calls. This finds an op whose declaration as eager was
     * added or removed by mistake. Not compared in a debug mode that makes breaks (forward, ops), nor where
     * bg_override_eager, BG_EAGER_OPS or BG_BREAKABLE say which ops are eager. Default: -1, any number. */
    int expect_breaks;
    /* How the segments are compiled (breakgraph/compile.h); a bg_level. Default: FROM_ENV. */
    int level;
    /* At level 3: for which numbers of rows rules are used that are specialised for shapes, "1,2,4". NULL: for all. */
    const char *compile_sizes;
} bg_capture_options;

#define BG_CAPTURE_OPTIONS_INIT                                                                                        \
    {                                                                                                                  \
        sizeof(bg_capture_options), NULL, cudaStreamCaptureModeThreadLocal, BG_DEBUG_FROM_ENV, true, false, false,     \
            false, 0, NULL, NULL, 0, NULL, NULL, false, false, NULL, BG_REPLAY_CHECK_FROM_ENV, NULL, -1,               \
            BG_LEVEL_FROM_ENV, NULL                                                                                    \
    }

/* Figures of a graph, which bg_graph_get_info returns. */
typedef struct bg_graph_info {
    size_t struct_size;    /* set by BG_GRAPH_INFO_INIT */
    const char *name;      /* valid as long as the graph */
    int segments;          /* number of CUDA graphs; empty segments are dropped and not counted */
    int breaks;            /* eager calls and bg_break calls, also where the segment before or after was dropped */
    int calls;             /* op calls, captured, eager and nested */
    int steps;             /* entries of the step list that a replay runs through */
    size_t nodes;          /* in all segments */
    size_t kernel_nodes;   /* in all segments */
    size_t pool_bytes;     /* bytes of the pool's shared part that the graph needs, including bridge_bytes; 0 without a
                            * pool */
    size_t bridge_bytes;   /* bytes of bridge buffers and scratch, in the graph's own memory or its pool */
    size_t graph_bytes;    /* device memory, in bytes, that the driver reports as taken during the capture, without
                            * bridge_bytes and what the pool took: the instantiated graphs, and what the program itself
                            * allocated meanwhile */
    double capture_ms;     /* milliseconds from begin to end, including bodies and instantiation */
    double instantiate_ms; /* milliseconds of instantiation */
    uint64_t replays;      /* successful replays, without those of bg_check_poison */
} bg_graph_info;

#define BG_GRAPH_INFO_INIT                                                                                             \
    {                                                                                                                  \
        sizeof(bg_graph_info), NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0                                            \
    }

/* An op call of a graph, which bg_graph_get_call returns. */
typedef struct bg_call_info {
    size_t struct_size; /* set by BG_CALL_INFO_INIT */
    const char *name;   /* "rope#3", "attention#0/rope#1" */
    const char *op;     /* "rope" */
    const char *file;   /* of the call; "" where unknown */
    int line;
    bool eager;  /* true: its body runs in replays; false: it is in a segment */
    int segment; /* the first segment that may contain its nodes, from 0; -1 for an eager call */
} bg_call_info;

#define BG_CALL_INFO_INIT                                                                                              \
    {                                                                                                                  \
        sizeof(bg_call_info), NULL, NULL, NULL, 0, false, 0                                                            \
    }

/* Begins a capture on stream, the origin: until the end, work on the stream is captured into segments, and eager ops
 * run between them. options NULL: BG_CAPTURE_OPTIONS_INIT. The same thread must end or abort *capture, which is NULL
 * after an error.
 * Errors: INVALID_ARGUMENT (a NULL, the legacy stream, a stream of another device, a bad environment variable),
 * ALREADY_CAPTURING (this thread or this stream captures already), FOREIGN_CAPTURE (stream is in a foreign capture),
 * BUSY (inside an eager body; options.pool is in use), RANKS, UNSUPPORTED (256 streams take part in the process's
 * captures already), OUT_OF_MEMORY, CUDA. */
BG_API bg_status bg_capture_begin(bg_capture **capture, cudaStream_t stream, const bg_capture_options *options);

/* Ends the capture and creates *graph, which the caller owns. The capture is freed in every case. After an error
 * *graph is NULL, and the streams are out of capture and usable.
 * Returns the capture's first error; for an op that failed, its body's own status.
 * Errors: those of the capture, WRONG_THREAD (another thread began the capture; the capture is freed all the same, and
 * that thread must not be inside a call of the library), INVALID_ARGUMENT (options.expect_breaks), BUSY (inside a body
 * or barrier of the capture, which is freed when that returns), UNJOINED_STREAM (a forked stream has work that the
 * origin does not wait for). */
BG_API bg_status bg_capture_end(bg_capture *capture, bg_graph **graph);

/* Ends the capture without a graph. NULL does nothing. Inside a body or barrier of the capture it takes effect when
 * that returns. */
BG_API void bg_capture_abort(bg_capture *capture);

/* Captures one pass: bg_capture_begin, forward(user, stream), bg_capture_end. The caller owns *graph.
 * Returns the error of the first call of the capture that failed, else the error that `forward` returned, unchanged.
 * With BG_DEBUG=forward the graph is one eager call of `forward`; `forward` and `user` must then stay valid as long as
 * the graph.
 * With options.check FROM_ENV the environment variable BG_CHECK adds checks, except with BG_DEBUG=forward or while
 * another thread captures: recapture runs bg_check_recapture, with `change` NULL, before the capture (only if
 * options.pool is NULL); poison runs bg_check_poison after it (only with launch_segments; after bg_capture_end, too),
 * on all outputs that no later call uses. Findings are printed to standard error. These checks capture and replay the
 * pass, with its collectives, additional times: do not use them with ranks if a check may find something on one rank
 * only, since the ranks then run different numbers of passes.
 * Errors: those of bg_capture_begin, bg_capture_end and `forward`. */
BG_API bg_status bg_capture_forward(bg_graph **graph, bg_forward forward, void *user, cudaStream_t stream,
                                    const bg_capture_options *options);

/* Runs forward(user, stream) eagerly, as one pass with the same semantics as its capture with these options, and
 * captures nothing:
 *   - A call's error is sticky, and is returned whatever `forward` returns.
 *   - Each call has its own bridge buffers and scratch.
 *   - Streams that the pass names (in op calls, waits and records) are joined to stream and forked again at each eager
 *     op and bg_break call, and joined at the end. An eager op gets stream, even if its call names another.
 *   - Blocks from options.pool are released at the end; options.state is restored after a failure.
 *   - bg_current_phase is the caller's, or PLAIN where the calling thread captures.
 * mode, debug, launch_segments, worker_threads, barrier, upload, check and ranks of the options are not used. Calls
 * that CUDA forbids in a capture are not detected: they run.
 * Returns when all work is queued. A pass with options.state, or one without options.pool whose calls had bridge
 * buffers or scratch, returns when its work is done, since that memory is then freed.
 * Errors: those of bg_capture_forward, BUSY (inside another such pass, or options.pool is in use). */
BG_API bg_status bg_forward_run(bg_forward forward, void *user, cudaStream_t stream, const bg_capture_options *options);

/* Replays the graph on stream: launches each segment and runs each eager call, in order. Returns when all work is
 * queued, unless an eager body waits for work itself.
 * Replays of one graph on several streams run one after the other, and so do replays of all graphs of one pool. A
 * stream on which a graph was replayed must live until the graph is replayed on another stream or destroyed. After an
 * error the outputs are undefined, and the graph may be replayed again.
 * A replay on the same stream as the last one checks neither the current device nor whether stream is in a foreign
 * capture: these checks would cost 1 to 2 % of a short replay. It makes them if the graph was captured with a debug
 * mode, options.check or BG_CHECK, and while a breakgraph capture runs in the process. Without them, if another device
 * is current, the bodies run on that device; if stream is in a foreign capture, that capture receives the segments as
 * nodes or becomes invalid.
 * A replay takes no lock, allocates nothing and reads no environment variable, except where an eager body does, or
 * needs more memory than before.
 * Errors: INVALID_ARGUMENT (a NULL, a stream of another device, another device than at capture), ALREADY_CAPTURING (a
 * breakgraph capture runs on stream; it continues unharmed), FOREIGN_CAPTURE (stream is in a foreign capture), BUSY
 * (the graph is being replayed, the stream of its last replay is being captured, or a capture of its pool is running),
 * a body's own status, SHAPE and DTYPE (an output changed), STALE_ADDRESS (options.check), CUDA. */
BG_API bg_status bg_replay(bg_graph *graph, cudaStream_t stream);

/* Destroys the graph and frees all that it owns. NULL does nothing. It may be called while a replay still runs on the
 * device; it may then wait for that replay before it frees memory. It always waits before it destroys closures that the
 * graph keeps for calls of bg_eager and bg_region_call, except for a replay on a stream that is being captured. Must
 * not be called inside one of the graph's bodies. */
BG_API void bg_graph_destroy(bg_graph *graph);

/* Gives object to the graph: bg_graph_destroy calls destroy(object), the last object first. Objects that a graph needs
 * as long as it lives, such as the user of bg_capture_forward, then need no other owner. bg_graph_destroy does not wait
 * for replays that still run on the device: wait before, if the device reads the object. After an error object stays
 * the caller's.
 * Errors: INVALID_ARGUMENT (graph or destroy is NULL), OUT_OF_MEMORY. */
BG_API bg_status bg_graph_own(bg_graph *graph, void *object, void (*destroy)(void *object));

/* Copies the graph's figures to *info.
 * Errors: INVALID_ARGUMENT (a NULL, bad struct_size), CUDA. */
BG_API bg_status bg_graph_get_info(const bg_graph *graph, bg_graph_info *info);

/* Copies the index-th op call of the pass to *info, 0 <= index < calls. A call comes before the calls nested in it.
 * The strings are valid as long as the graph.
 * Errors: INVALID_ARGUMENT (a NULL, bad struct_size), NOT_FOUND (no such index). */
BG_API bg_status bg_graph_get_call(const bg_graph *graph, int index, bg_call_info *info);

/* Returns the stored arguments of the eager call of that name ("sample_top_k#0"); size is sizeof(NAME_args). They may
 * be changed between replays, except dtype and shape of outputs, and the next replay uses them. Outputs without memory
 * hold their bridge buffers. The graph owns the arguments.
 * Returns NULL, with bg_last_error(), if no eager call of the pass has that name, if its arguments have another size,
 * and with BG_DEBUG=forward, since each replay then makes its calls anew. */
BG_API void *bg_graph_args(bg_graph *graph, const char *call, size_t size);

/* Returns the CUDA graph of a segment, 0 <= index < segments, or NULL beyond. graph keeps ownership. */
BG_API cudaGraph_t bg_graph_segment(const bg_graph *graph, int index);

/* Wraps a CUDA graph that breakgraph did not capture, for the debugging tools and for bg_replay. The wrapper has one
 * segment, no breaks and no calls, so findings name only nodes.
 * source and exec stay the program's: they must outlive *graph, which destroys neither. bg_replay launches exec. exec
 * NULL: the first replay instantiates source, and *graph owns the result. The tools read source, and do not see what
 * was changed in exec since its instantiation (but bg_step and bg_trace skip disabled nodes). name is copied; NULL:
 * "graph". The caller owns *graph.
 * Errors: INVALID_ARGUMENT (a NULL), OUT_OF_MEMORY, CUDA (source is no graph). */
BG_API bg_status bg_graph_wrap(bg_graph **graph, cudaGraph_t source, cudaGraphExec_t exec, const char *name);

/* Returns the phase of the calling thread. */
BG_API bg_phase bg_current_phase(void);

/* Makes a break without an op: work before and after it is in different segments. In bg_forward_run it joins the
 * streams and forks them again. Inside a body, and outside of captures and bg_forward_run, it does nothing.
 * Errors: as for bg_op_call. */
BG_API bg_status bg_break_at(cudaStream_t stream, const bg_site *site);
#define bg_break(stream) bg_break_at(stream, BG_SITE)

BG_END_C_

#endif
