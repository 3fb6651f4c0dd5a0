/* Capture a forward pass as segments with eager ops between them, and replay it.
 *
 * Threads: a capture belongs to the thread that began it. A graph serves one thread at a time; different graphs may be
 * captured, replayed and destroyed at once in different threads. */
#ifndef BREAKGRAPH_CAPTURE_H
#define BREAKGRAPH_CAPTURE_H

#include <breakgraph/memory.h>
#include <breakgraph/op.h>
#include <breakgraph/phase.h>
#include <breakgraph/ranks.h>
#include <breakgraph/status.h>
#include <breakgraph/tensor.h>

BG_BEGIN_C_

typedef struct bg_capture bg_capture;
typedef struct bg_graph bg_graph;

/* A forward pass: issues its work on stream, and returns the first error it meets. */
typedef bg_status (*bg_forward)(void *user, cudaStream_t stream);

/* How much runs eagerly, to find a fault.
 *   FROM_ENV: what the environment variable BG_DEBUG says (off, forward, ops, sync, step); off where it is not set
 *   OFF:      as the ops are declared
 *   FORWARD:  the whole pass is one eager call (needs bg_capture_forward; between begin and end it acts as OPS)
 *   OPS:      every registered op is a break
 *   SYNC:     as captured; after each segment and call wait and check, at capture and in replays
 *   STEP:     as captured; every replay goes node by node, as bg_step does (breakgraph/step.h) */
typedef enum bg_debug {
    BG_DEBUG_FROM_ENV = 0,
    BG_DEBUG_OFF,
    BG_DEBUG_FORWARD,
    BG_DEBUG_OPS,
    BG_DEBUG_SYNC,
    BG_DEBUG_STEP
} bg_debug;

/* Whether the addresses that a graph holds are checked before each replay, by the allocations that they lie in.
 *   FROM_ENV: what the environment variable BG_CHECK says (off, replay); off where it is not set. recapture and
 *             poison are for bg_capture_forward: below
 *   OFF:      never
 *   ON:       a replay of a graph with a stale address is BG_ERROR_STALE_ADDRESS, and nothing is launched */
typedef enum bg_replay_check { BG_REPLAY_CHECK_FROM_ENV = 0, BG_REPLAY_CHECK_OFF, BG_REPLAY_CHECK_ON } bg_replay_check;

typedef struct bg_capture_options {
    size_t struct_size;              /* set by BG_CAPTURE_OPTIONS_INIT */
    const char *name;                /* of the graph, for messages; copied; NULL: "graph" */
    enum cudaStreamCaptureMode mode; /* CUDA's capture mode; thread-local */
    bg_debug debug;                  /* FROM_ENV */
    bool launch_segments; /* true: the capture is one real pass. false: no segment is launched; an eager op runs
                           * its capture stub if it has one, and its body only where an output's shape cannot be
                           * known without it (see bg_op_attributes.shape) */
    bool join_at_end;     /* true: work left on forked streams is joined at the end; false: an error */
    bool foreign_inline;  /* true: an eager op on a stream that someone else captures runs inline */
    bool zero_tail; /* true: rows beyond an output that is shorter than expected (bg_op_attributes.allow_fewer_rows) are
                     * zeroed; false: they are left as they are */
    int worker_threads;     /* how many threads instantiate segments while the capture goes on, 0 to 64; where segments
                             * are launched at capture, each must be instantiated at once, and there are none */
    bg_pool *pool;          /* bridge buffers, scratch, and what the pass gets from bg_pool_alloc lie in this pool, in
                             * the same place as those of its other graphs; the graph keeps it alive. NULL: the graph
                             * has its own memory */
    const bg_tensor *state; /* tensors that a pass changes; put back as they were where the pass does not count: */
    size_t state_count;     /* where segments are not launched, and where the capture fails or is aborted */
    bg_status (*barrier)(void *user); /* called after each segment's end, at capture; it may wait, but not call ops; an
                                         error ends the capture */
    void *barrier_user;
    bool upload; /* true: where segments are not launched at capture, the end uploads them to the device, so that the
                  * first replay need not */
    bool inline_eager; /* true: ops that are declared eager are captured like the others, and bare breaks cut nothing;
                        * both still join all streams and fork them again, as a break does. What eager_ops and the
                        * overrides name still breaks */
    const char *eager_ops; /* a pattern as bg_override_eager takes it, for this capture; that function's and
                            * BG_EAGER_OPS come after it. NULL: none */
    bg_replay_check check; /* FROM_ENV */
    const bg_ranks *ranks; /* NULL: this process alone. Else the capture is in step with that of the other ranks: they
                            * compare the graph's name before it, and how it is debugged (the modes forward and step,
                            * BG_CHECK=recapture and poison, BG_SHADOW), and after each segment the eager call that
                            * follows, or that the pass is over and with how many segments and breaks. Where the capture
                            * of one fails those of all do, the others with RANKS and its sentence. Replays tell
                            * ranks->enter and step where they are */
} bg_capture_options;

#define BG_CAPTURE_OPTIONS_INIT                                                                                        \
    {                                                                                                                  \
        sizeof(bg_capture_options), NULL, cudaStreamCaptureModeThreadLocal, BG_DEBUG_FROM_ENV, true, false, false,     \
            false, 0, NULL, NULL, 0, NULL, NULL, false, false, NULL, BG_REPLAY_CHECK_FROM_ENV, NULL                    \
    }

typedef struct bg_graph_info {
    size_t struct_size; /* set by BG_GRAPH_INFO_INIT */
    const char *name;   /* lives as long as the graph */
    int segments;       /* CUDA graphs; empty ones are dropped and not counted */
    int breaks;         /* eager calls and bare breaks, even beside a segment that was dropped as empty */
    int calls;          /* op calls, eager or not, nested ones too */
    int steps;          /* what a replay walks over */
    size_t nodes;       /* of all segments */
    size_t kernel_nodes;
    size_t pool_bytes;   /* what the graph needs of its pool's common part, bridge_bytes in it; 0 without a pool */
    size_t bridge_bytes; /* bridge buffers and scratch, of the graph's own or in its pool */
    size_t graph_bytes;  /* device memory that went away during the capture, by the driver's count, beside bridge_bytes
                          * and what the pool took: the instantiated graphs, and what the program itself allocated
                          * meanwhile */
    double capture_ms;   /* from begin to end, bodies and instantiation included */
    double instantiate_ms;
    uint64_t replays; /* that succeeded, without those of bg_check_poison */
} bg_graph_info;

#define BG_GRAPH_INFO_INIT                                                                                             \
    {                                                                                                                  \
        sizeof(bg_graph_info), NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0, 0.0, 0                                            \
    }

typedef struct bg_call_info {
    size_t struct_size; /* set by BG_CALL_INFO_INIT */
    const char *name;   /* "rope#3", "attention#0/rope#1" */
    const char *op;     /* "rope" */
    const char *file;   /* of the call; "" where unknown */
    int line;
    bool eager;  /* runs in replays; false: it is in a segment */
    int segment; /* the first segment that may hold its nodes, from 0; -1 for an eager call */
} bg_call_info;

#define BG_CALL_INFO_INIT                                                                                              \
    {                                                                                                                  \
        sizeof(bg_call_info), NULL, NULL, NULL, 0, false, 0                                                            \
    }

/* Begins a capture on stream, the origin: until the end, the stream's work goes into CUDA graphs, and eager ops run
 * between them. options may be NULL (BG_CAPTURE_OPTIONS_INIT). *capture is to be ended or aborted by the same thread;
 * it is NULL after an error. Errors: INVALID_ARGUMENT (a NULL, the legacy stream, a stream of another device, a bad
 * environment variable), ALREADY_CAPTURING (this thread, or that stream), FOREIGN_CAPTURE (someone else captures
 * stream), BUSY (inside an eager body; options.pool is in use), RANKS, UNSUPPORTED (256 streams take part in the
 * process's captures already), OUT_OF_MEMORY, CUDA. */
BG_API bg_status bg_capture_begin(bg_capture **capture, cudaStream_t stream, const bg_capture_options *options);

/* Ends the capture and makes *graph, which the caller owns. It consumes the capture, whatever it returns; after an
 * error *graph is NULL and the streams are out of capture and usable. Returns the capture's first error, an op's
 * failure as the body's own status. WRONG_THREAD where another thread began it (the capture is gone all the same; that
 * thread must not be inside one of the library's calls); BUSY inside a body or barrier of the capture (it is gone when
 * that returns); UNJOINED_STREAM where a forked stream has work that the origin does not wait for. */
BG_API bg_status bg_capture_end(bg_capture *capture, bg_graph **graph);

/* Ends the capture without a graph. NULL is fine. Inside a body or barrier of the capture it takes effect when that
 * returns. */
BG_API void bg_capture_abort(bg_capture *capture);

/* Begin, forward(user, stream), end. With BG_DEBUG=forward the graph is one eager call of forward, which then must stay
 * valid, with user, as long as the graph. With options.check FROM_ENV, BG_CHECK=recapture in the environment runs
 * bg_check_recapture, without a change, before the capture (where options.pool is NULL), and BG_CHECK=poison runs
 * bg_check_poison after it (where launch_segments is set), of all outputs that no later call uses; neither under
 * BG_DEBUG=forward, nor while another thread captures. Findings go to standard error, as text. A pass with collectives
 * is captured and replayed more often than it asks for: not for ranks that may find different things. An error of
 * forward's is returned as it is. */
BG_API bg_status bg_capture_forward(bg_graph **graph, bg_forward forward, void *user, cudaStream_t stream,
                                    const bg_capture_options *options);

/* Runs forward(user, stream) eagerly, as one pass with the meaning that its capture with these options has: nothing is
 * captured, and what that orders, keeps or refuses holds all the same. An error of a call sticks, and is returned
 * whatever forward returns; each call has bridge buffers and scratch of its own; streams that the pass names (in op
 * calls, waits and records) are joined to stream, and forked again, at each eager op and bare break, and joined at the
 * end; an eager op runs on stream; what is taken from options.pool is given back at the end. Of the options, mode,
 * debug, launch_segments, worker_threads, barrier, upload, check and ranks say how to make graphs, and are not used
 * here; state is put back after a failure. What CUDA forbids in captures is not found: it runs. It returns when all is
 * queued, but for a pass with options.state, or without options.pool whose calls had bridge buffers or scratch: that
 * memory is freed when the work is done. bg_current_phase is that of the caller, PLAIN beside a capture. Errors: as for
 * bg_capture_forward; BUSY inside another such pass, or where options.pool is in use. */
BG_API bg_status bg_forward_run(bg_forward forward, void *user, cudaStream_t stream, const bg_capture_options *options);

/* Replays the graph on stream: launches each segment and runs each eager call, in order; it returns when all is queued,
 * as the bodies do. Replays of one graph on several streams run one after the other; a stream on which the graph was
 * replayed must live until the graph is replayed on another one or destroyed. In all this the graphs of one pool count
 * as one. After an error the outputs are undefined, and the graph may be replayed again. Errors: INVALID_ARGUMENT (a
 * NULL, a stream of another device, another device than at capture), ALREADY_CAPTURING (a breakgraph capture runs on
 * stream; it goes on unharmed), FOREIGN_CAPTURE (someone else captures stream), BUSY (the graph is being replayed, or
 * the stream of its last replay is being captured; a capture of its pool is going on), a body's own status, SHAPE and
 * DTYPE (an output changed), STALE_ADDRESS (options.check), CUDA. A replay on the stream of the last one looks neither
 * at the current device nor for a capture of someone else, which would cost 1 to 2 % of a short replay, unless the
 * graph was captured with a debug mode or BG_CHECK: on another device its bodies run there, and a capture of someone
 * else gets the segments as nodes, or is ended by them. It takes no lock, allocates nothing and reads no environment,
 * unless an eager body does, or asks for more memory than before. */
BG_API bg_status bg_replay(bg_graph *graph, cudaStream_t stream);

/* Gives back all that the graph owns. NULL is fine, a replay in flight too. Not inside one of the graph's bodies. */
BG_API void bg_graph_destroy(bg_graph *graph);

BG_API bg_status bg_graph_get_info(const bg_graph *graph, bg_graph_info *info);

/* The index-th op call of the pass, 0 <= index < calls, a call before the calls nested in it. NOT_FOUND beyond. The
 * strings live as long as the graph. */
BG_API bg_status bg_graph_get_call(const bg_graph *graph, int index, bg_call_info *info);

/* The stored arguments of an eager call, by its name ("sample_top_k#0"); size is sizeof(NAME_args). To be changed
 * between replays, but for dtype and shape of outputs: the next replay runs with them. NULL, with bg_last_error(),
 * where no eager call of the pass has that name, or its arguments another size; so too under BG_DEBUG=forward, where
 * each replay makes its calls anew. Outputs without memory hold their bridge buffers here. They live as long as the
 * graph. */
BG_API void *bg_graph_args(bg_graph *graph, const char *call, size_t size);

/* The captured CUDA graph of a segment, 0 <= index < segments, still owned by graph; NULL beyond. */
BG_API cudaGraph_t bg_graph_segment(const bg_graph *graph, int index);

/* A graph around a CUDA graph that breakgraph did not capture, for the debugging tools, and for bg_replay, which
 * launches exec; where exec is NULL, the first replay instantiates source, and the graph keeps and destroys what it
 * made. The tools look at source, and not at what was changed in exec since it was instantiated (but bg_step and
 * bg_trace pass over disabled nodes). source and exec stay the program's: they must outlive *graph, which destroys
 * neither. It has one segment, no breaks and no calls, so that findings name nodes alone. name is copied; NULL:
 * "graph". Errors: INVALID_ARGUMENT (a NULL), OUT_OF_MEMORY, CUDA (source is no graph). */
BG_API bg_status bg_graph_wrap(bg_graph **graph, cudaGraph_t source, cudaGraphExec_t exec, const char *name);

/* Where the calling thread is. */
BG_API bg_phase bg_current_phase(void);

/* A break without an op: what comes before and after it lie in different segments. Outside a capture, and inside a
 * body: BG_OK, nothing happens. Errors as for bg_op_call. */
BG_API bg_status bg_break_at(cudaStream_t stream, const bg_site *site);
#define bg_break(stream) bg_break_at(stream, BG_SITE)

BG_END_C_

#endif
