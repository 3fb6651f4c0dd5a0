/* Internals of the runner. A runner has groups of buckets: one for mixed batches and, if the mode has separate graphs
 * for decode batches, one for each of their query lengths. A group has a bucket for each variant and size. */
#ifndef BG_RUNNER_RUNNER_H
#define BG_RUNNER_RUNNER_H

#include <breakgraph/runner.h>

#include "base/progress.h"
#include "capture/capture.h"
#include "memory/memory.h"
#include "memory/pages.h"
#include "runner/config.h"
#include "runner/batch_mix.h"

#include <cuda.h>
#include "kernels/library/rows.h"

/* ---- static buffers (buffers.c) ------------------------------------------------------------------------------ */

typedef struct bg__buffer {
    char *name;
    bg_tensor tensor; /* with all its rows */
    bool by_tokens;   /* dim[0] is the token dimension: all such buffers have the same number of rows */
    bg__pages pages;  /* the memory of a by_tokens buffer, which grows in place. Without a base the buffer is a plain
                       * allocation, whose end memory checkers know */
    bool bound;       /* the memory belongs to the caller */
    size_t row;       /* bytes of one row */
    bg_padding padding;
    uint64_t pattern; /* fills padding rows */
    bool elsewhere;   /* a batch was not at the bound address; warned of once */
} bg__buffer;

typedef struct bg__buffers {
    bg__buffer *list;
    size_t count, capacity;
} bg__buffers;

/* Makes the 8-byte pattern that fills a buffer of dtype with value (padding_pattern.c); false: dtype cannot represent
 * it. */
bool bg__pattern_make(bg_dtype dtype, double value, uint64_t *pattern);
void bg__buffers_free(bg__buffers *buffers);
/* Grows the buffers with a token dimension to at least that many rows, in place. */
bg_status bg__buffers_grow(bg_runner *runner, int rows);
/* Records the addresses of the buffers in a graph of that many rows, for the checks. */
bg_status bg__buffers_record(const bg_runner *runner, int rows, bg_graph *graph);

/* ---- batches (batches.c) ------------------------------------------------------------------------------------- */

/* Whether kernels of the runner's device can access ptr; if not, a memcpy moves the rows. */
bg_status bg__check_device_access(const bg_runner *runner, const void *ptr, bool *reached);
/* Fills rows of all inputs with their padding, for passes whose results are discarded. */
bg_status bg__inputs_fill_padding(bg_runner *runner, int rows);
/* Copies a batch's rows into the static buffers, and pads them. */
bg_status bg__inputs_load(bg_runner *runner, const bg_tensor *tensors, int tokens, int padded);
/* Whether all inputs of a batch are copied, so that its pass reads nothing of the caller's. */
bool bg__inputs_are_copied(const bg_runner *runner, const bg_tensor *tensors);
bg_status bg__outputs_check(const bg_runner *runner, const bg_tensor *tensors, int tokens);
/* Returns a batch's rows, as copies or views. */
bg_status bg__outputs_store(bg_runner *runner, bg_tensor *tensors, int tokens);

/* ---- buckets (buckets.c) ------------------------------------------------------------------------------------- */

typedef struct bg__bucket {
    struct bg_runner *runner;
    bg_mode mode;  /* piecewise or full */
    int query_len; /* of each request in decode batches; 0: for mixed batches */
    int tokens, variant;
    bg_graph *graph; /* NULL: not captured */
    char *failure;   /* why its last capture failed; NULL: it did not */
    size_t pool_bytes;
    uint64_t replays; /* of all graphs that it has had */
    bool captured_before;
    uint64_t wanted; /* BG_LAZY_BACKGROUND: how many batches wanted it while it was missing */
    double took_ms;  /* its last capture in the background, with warm-ups and their work on the device; 0: unknown */
    bool poison;     /* BG_CHECK=poison: the next replay is checked first */
    bool padding;    /* BG_CHECK=padding: the next replay of a padded batch is checked first */
    bg_forward_context unbatched; /* for replays outside of a run: the context of a batch that fills the bucket */
} bg__bucket;

typedef struct bg__group {
    bg_mode mode;
    int query_len; /* as in its buckets */
    int *sizes;    /* ascending */
    int size_count;
    bg__bucket *buckets; /* those of variant v begin at v * size_count */
} bg__group;

typedef struct bg__plan {
    bg__group *groups; /* first the one for mixed batches (mode NONE: none), then by query length, ascending */
    int group_count;
    bg__bucket **order; /* in the order of capture: from large to small */
    int bucket_count;
} bg__plan;

/* Sets the runner's mode and plan to those of scope, with row_limits as further sizes, without graphs. An error changes
 * neither. */
bg_status bg__plan_make(bg_runner *runner, const bg__scope *scope);
/* Whether the plan lacks a size for one of row_limits. */
bool bg__plan_lacks_row_limits(const bg_runner *runner);
void bg__plan_free(bg__plan *plan);
typedef struct bg__dispatch_result {
    bg__bucket *bucket;  /* NULL: none */
    bg_reason reason;    /* why there is none */
    bg__bucket *missing; /* BG_LAZY_BACKGROUND: the batch's own bucket, if it is still to be captured; else NULL */
} bg__dispatch_result;

/* Returns the bucket for a batch; tokens: what the bucket must hold, the same on all ranks. */
bg__dispatch_result bg__dispatch_batch(bg_runner *runner, const bg_batch *batch, int tokens);
/* Whether the bucket is the largest of its group. */
bool bg__bucket_is_largest(const bg_runner *runner, const bg__bucket *bucket);
/* Estimates the milliseconds of its capture: those of the smallest bucket of its group that is at least as large and
 * was timed; 0: there is none. */
double bg__bucket_estimate_ms(const bg_runner *runner, const bg__bucket *bucket);

/* Returns the group of decode batches with exactly the batch's query length; NULL: there is none. */
const bg__group *bg__find_decode_group(const bg_runner *runner, const bg_batch *batch);

/* ---- what was never captured (misses.c) ---------------------------------------------------------------------- */

/* A query length or variant that no bucket has, of any size. */
typedef struct bg__miss {
    int query_len, variant; /* 0: not missing */
    uint64_t batches;
} bg__miss;

enum { BG__MISSES = 16 };
typedef struct bg__misses {
    bg__miss list[BG__MISSES];
    int count;
    uint64_t others; /* batches for which the list has no room */
} bg__misses;

/* Counts a batch that has run, if it is a miss. */
void bg__misses_add_batch(bg_runner *runner, const bg_batch *batch);
/* "query length 3 (captured: 1, 4; config.max_query_len)". Returns text. */
const char *bg__miss_text(const bg_runner *runner, const bg__miss *miss, char *text, size_t bytes);
/* The same for a batch; "": it is no miss. */
const char *bg__batch_miss_text(const bg_runner *runner, const bg_batch *batch, char *text, size_t bytes);
void bg__misses_print(const bg_runner *runner, FILE *out);

/* ---- passes (forward_context.c)
 * ----------------------------------------------------------------------------------------- */

/* Sets the calling thread's context, which must not be set. */
void bg__context_set(bg_forward_context *context);
void bg__context_reset(void);
bool bg__context_is_set(void);

/* Calls config.prepare, if there is one. */
bg_status bg__pass_prepare(bg_runner *runner, const bg_forward_context *context);
/* Calls the runner's `forward` with the thread's context; in replays too, with BG_DEBUG=forward. */
bg_status bg__pass_forward(void *runner, cudaStream_t stream);
/* Makes runner->eager. */
bg_status bg__pass_create_eager_graph(bg_runner *runner);
/* Runs `forward` eagerly with that context. */
bg_status bg__pass_run_eager(bg_runner *runner, const bg_forward_context *context);

/* ---- which ops a pass calls (pass_ops.c) ----------------------------------------------------------------------- */

/* Lists the ops that this thread calls, until the mode has been lowered to what they support. */
void bg__pass_ops_observe_begin(bg_runner *runner);
void bg__pass_ops_observe_end(void);
/* Lowers the mode to what the ops seen support, to the same on all ranks, and adds their row limits as sizes.
 * *replanned: the sizes or modes have changed. Errors: OUT_OF_MEMORY, RANKS. */
bg_status bg__pass_ops_resolve(bg_runner *runner, bool *replanned);

/* ---- captures (runner_captures.c) -------------------------------------------------------------------------------- */

/* Captures one bucket, and preserves config.state and the static inputs. batch: true: for a batch that is in the static
 * inputs; false: between batches, and the static outputs are preserved, too. A failed capture becomes the bucket's
 * failure. *replanned: the ops of the pass lowered the runner's mode, and all buckets were replaced. */
bg_status bg__capture_bucket(bg_runner *runner, bg__bucket *bucket, bool batch, bool *replanned);

/* Begins to time a capture. */
void bg__capture_timer_start(bg_runner *runner);
/* Waits for the device, and records how long the bucket's capture has taken. */
bg_status bg__capture_timer_stop(const bg_runner *runner, bg__bucket *bucket);

/* ---- the runner ---------------------------------------------------------------------------------------------- */

struct bg_runner {
    bg_runner_config config;
    bg__owned owned;  /* objects of bg_runner_own */
    bg_tensor *state; /* config.state */
    int *query_lens;  /* config.query_lens, or config.max_query_len alone */
    bg_runner_forward forward;
    void *user;
    cudaStream_t stream;
    int device;
    int query_len_count;
    uint64_t thread; /* the creating thread */
    bg__capture_info_function capture_info;
    bg_pool *pool;   /* NULL: the device does not support pools, and nothing is captured */
    void *sentry;    /* memory of cudaMalloc: freeing it waits for all work */
    bg_graph *eager; /* runs passes outside graphs */
    bg__buffers inputs, outputs, extra;
    cudaEvent_t read; /* is recorded in each run when the inputs may be written again; NULL: none */
    int rows;         /* of by_tokens buffers */

    bg_mode mode;
    int *row_limits; /* of the ops, ascending */
    int row_limit_count;
    size_t row_limit_capacity;
    bool resolved; /* the mode has been lowered to what the ops support, and their row limits are sizes */
    const bg_op **ops;
    size_t op_count, op_capacity;
    bool ops_lost; /* out of host memory for one of them */

    bg__plan plan;

    bg__ranks ranks;
    bool agreed;   /* all ranks have the same settings */
    bool compares; /* ranks compare each choice */
    uint64_t eager_runs;
    bg__mix mix;
    bg__misses misses;

    size_t expected, before, after; /* as in bg_runner_memory */

    double began_ms; /* of the capture that is timed */
    bool loaded;     /* its first pass has run */

    bool started; /* bg_runner_capture was called */
    bool frozen;  /* graphs may hold the static buffers */
    bool running;
    bool holds_pool;
};

/* ---- places (runner_checks.c)
 * ---------------------------------------------------------------------------------------- */

/* BUSY: this thread or this runner is inside a run. */
bg_status bg__runner_check_not_running(const bg_runner *runner, const char *function);
/* Fails if another device is current, or the runner's stream captures. */
bg_status bg__runner_check_thread_device(const bg_runner *runner, const char *function);
/* Locks the pool against other runners until it is released, which may follow a failure, too. BUSY: the pool is in use.
 */
bg_status bg__runner_lock_pool(bg_runner *runner, const char *function);
void bg__runner_unlock_pool(bg_runner *runner);
/* Fails if no capture can begin in this thread now. */
bg_status bg__runner_check_can_capture(const char *function);

/* ---- other ranks (runner_agreement.c) ---------------------------------------------------------------------------- */

/* "piecewise tokens 16 variant 2", "full decode 16 query_len 4" */
void bg__bucket_name(const bg__bucket *bucket, char *name, size_t bytes);

/* Compares settings with all ranks; status: this rank's earlier failure. RANKS: another rank differs or failed. The
 * second function does nothing if the settings have been compared. Without ranks, all of these functions return OK. */
bg_status bg__runner_agree(bg_runner *runner, bg_status status);
bg_status bg__runner_agree_once(bg_runner *runner);
/* Compares the mode after the ops of a pass are known. */
bg_status bg__runner_agree_on_mode(bg_runner *runner, bg_status status);
/* Checks that all ranks need this bucket now. *cannot: some rank cannot capture it here. */
bg_status bg__runner_agree_on_lazy(bg_runner *runner, const bg__bucket *bucket, bool *cannot);
/* Whether each choice is compared before it runs. */
bool bg__runner_compares_choices(const bg_runner *runner);
/* Runs a batch's eager pass. The watchdog tracks it like a replay, since other ranks may wait for it. */
bg_status bg__runner_run_eagerly(bg_runner *runner, const bg_forward_context *context);

/* ---- memory (runner_memory.c)
 * ---------------------------------------------------------------------------------------- */

/* Returns the free bytes of the device; 0: CUDA cannot say. */
size_t bg__device_free_bytes(void);
/* Estimates the memory of all buckets from the first one, and warns if that is more than is free. */
void bg__runner_estimate_memory(bg_runner *runner, const bg__bucket *first);
void bg__runner_print_memory(const bg_runner *runner, FILE *out);

/* ---- progress (runner_progress.c) -------------------------------------------------------------------------------- */

void bg__capture_progress_step(bg__progress *progress, const bg_runner *runner, const bg__bucket *bucket);
/* Removes the line, and prints the table in its place. */
void bg__capture_progress_end(bg__progress *progress, const bg_runner *runner);

/* ---- counters (counters.c) ----------------------------------------------------------------------------------- */

void bg__count_capture(const bg_graph *graph, bool again); /* graph NULL: it failed */
/* larger: the rows beyond the batch's own bucket, if a larger one has replaced it; else 0. */
void bg__count_replay(bg_mode mode, int padded_tokens, int larger);
void bg__count_idle(bool overran);
void bg__count_eager(bg_reason reason);
/* Counts a batch of a query length, or variant, that was never captured. */
void bg__count_miss(bool query_len, bool variant);
/* "too_large". Static storage. */
const char *bg__reason_name(bg_reason reason);

/* Returns the batch's family in runner->mix, also if the mode has no graphs for decode batches alone. 0: mixed; else
 * the index of a query length, from 1. */
int bg__runner_family(const bg_runner *runner, const bg_batch *batch);

#endif
