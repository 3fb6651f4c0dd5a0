/* The debugging tools that captures and replays call. This folder may not call debug/ directly, only through this table
 * (debug/hooks/debug_hooks.c). */
#ifndef BG_GRAPH_DEBUG_TABLE_H
#define BG_GRAPH_DEBUG_TABLE_H

#include <breakgraph/capture.h>

struct bg_runner;
struct bg__call;
struct bgk_difference;

/* The values of BG_CHECK, as bits, in the order of its row in base/variables.c. */
enum {
    BG__CHECK_GRAPH = 2,
    BG__CHECK_REPLAY = 4,
    BG__CHECK_RECAPTURE = 8,
    BG__CHECK_POISON = 16,
    BG__CHECK_ORDERS = 32, /* only for programs under --attach */
    BG__CHECK_PADDING = 64,
    BG__CHECK_INPUTS = 128, /* only for programs under --attach */
};

/* A runner's functions around each capture of a bucket, also for BG_CHECK=recapture: `open` opens the pool's bucket and
 * prepares the pass, `close` ends the bucket. If `open` failed, `close` does nothing. */
typedef struct bg__bucket_hooks {
    bg_status (*open)(void *user);
    void (*close)(void *user);
    void *user;
    int rows; /* of the bucket */
    /* Set by bg__capture_forward: BG_CHECK=poison and padding are left to the runner, which has real batches. */
    bool poison, padding;
} bg__bucket_hooks;

/* What the padding rows of a static buffer hold. */
typedef enum bg__padding_kind {
    BG__PADDED_OTHER,    /* a copy of a row of the batch, or anything if the buffer is no input */
    BG__PADDED_VALUE,    /* zeros */
    BG__PADDED_SENTINEL, /* a value that ops look for */
    BG__PADDED_KEPT,     /* what an earlier batch left */
} bg__padding_kind;
/* A static buffer of a padded batch. */
typedef struct bg__padded_buffer {
    bg_tensor tensor; /* with all rows that the pass computes */
    int64_t live;     /* the first ones, which are the batch's */
    bg__padding_kind kind;
} bg__padded_buffer;

typedef struct bg__debug_table {
    /* Before a replay of a graph with checks, also after the device has failed. BG__CHECK_REPLAY returns STALE_ADDRESS
     * if an address no longer belongs to the same allocation; BG__CHECK_GRAPH repeats the checks whose results can
     * change, and prints findings to standard error. frame: the frame of the public function. */
    bg_status (*check_replay)(bg_graph *graph, unsigned checks, const void *frame);
    /* BG_CHECK=graph: at the end of its capture. failed: the capture has failed, and there will be no graph. */
    void (*check_graph)(bg_graph *graph, bool failed, const void *frame);
    /* Reports that one of the checks skips a graph. why: "it has options.pool". */
    void (*not_checked)(const bg_graph *graph, unsigned check, const char *why);
    /* At the end of a capture: records what the nodes hold, for comparison by later checks. */
    bg_status (*note_nodes)(bg_graph *graph);
    /* Before a capture changes anything: reads the environment for its tools. INVALID_ARGUMENT: a variable is
     * malformed. steps: every replay of graph runs node by node (BG_DEBUG_STEP). */
    bg_status (*begin)(bg_graph *graph, bool steps);
    /* Their findings go to standard error. BG_CHECK=recapture: before the capture of bg_capture_forward, so that what
     * `forward` stores last comes from that capture. BG_CHECK=poison: after the capture. */
    void (*check_recapture)(bg_forward forward, void *user, cudaStream_t stream, const bg_capture_options *options);
    void (*check_poison)(bg_graph *graph, cudaStream_t stream);
    /* BG_CHECK=padding, before the replay of a padded batch. */
    void (*check_padding)(bg_graph *graph, const bg__padded_buffer *buffers, size_t count, cudaStream_t stream);
    /* BG_CHECK=recapture for a bucket of a runner, which is closed: each of the two captures opens it. For
     * BG_CHECK=poison the runner calls check_poison before the first replay, in the run of a batch. */
    void (*check_bucket)(bg_forward forward, void *user, cudaStream_t stream, const bg_capture_options *options,
                         const bg__bucket_hooks *around);
    /* For rules (src/compile). Whether text is a list of tolerances; `from`: the source of `text`, for messages. */
    bg_status (*check_tolerance)(const char *text, const char *from);
    /* Queues on `stream`: adds to `difference`, on the device, how `tensor` (an output of `call`) differs from
     * `expected` (a copy of what it should hold), within the tolerances in `text` (NULL: none) and of BG_TOLERANCE.
     * describe: in words. */
    bg_status (*compare)(const bg_tensor *tensor, const void *expected, const struct bg__call *call, const char *text,
                         struct bgk_difference *difference, cudaStream_t stream);
    void (*describe)(const bg_tensor *tensor, const struct bgk_difference *difference, char *text, size_t bytes);
    /* The graph is complete: prints and reports what the referee has found. */
    void (*compiled)(const bg_graph *graph);
    /* When a capture has made `graph`: sets up BG_SHADOW (unless `forward` is NULL), BG_TRACE and BG_REPORT. Diverts
     * the graph (inspect.h) if its replays do more than run the steps. */
    bg_status (*captured)(bg_graph *graph, bg_forward forward, void *user, const bg_capture_options *options);
    /* Runs the replays of a diverted graph. */
    bg_status (*replay)(bg_graph *graph, cudaStream_t stream);
    /* When a graph with data of the tools is destroyed. */
    void (*destroyed)(bg_graph *graph);
    /* BG_REPORT, in the runner's thread: the runner is new or has run more batches; it is about to be destroyed. */
    void (*runner_ran)(const struct bg_runner *runner);
    void (*runner_destroyed)(const struct bg_runner *runner);
} bg__debug_table;
extern const bg__debug_table bg__debug_hooks;

#endif
