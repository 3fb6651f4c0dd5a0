/* The runner: captures a forward pass once for each size that batches may have, and runs every batch by one of the
 * graphs.
 *   bg_runner_config config = BG_RUNNER_CONFIG_INIT;
 *   bg_runner_create(&runner, &config, forward, model, stream);
 *   bg_runner_add_input(runner, "token", BG_I32, 1, (int64_t[]){0}, BG_PAD_SENTINEL, -1, &model->token);
 *   bg_runner_add_output(runner, "logits", BG_F32, 2, (int64_t[]){0, vocabulary}, &model->logits);
 *   bg_runner_capture(runner);
 *   bg_runner_run(runner, &batch, inputs, outputs, request);
 * A bucket is one captured size. A batch runs as the graph of the smallest bucket that holds it, with its inputs padded
 * to that size. If no bucket holds it, it runs eagerly, and the runner counts the reason. `forward` reads its inputs
 * from, and writes its outputs to, static buffers that the runner owns; it computes context->padded_tokens rows.
 * Threads: only one thread at a time may use a runner, and only the thread that created it may use a runner on
 * cudaStreamPerThread. Several runners may run concurrently, unless they share a pool (config.pool). Declarations,
 * captures and runs need the runner's device as the current device and its stream not being captured; otherwise they
 * return INVALID_ARGUMENT, FOREIGN_CAPTURE or ALREADY_CAPTURING and do nothing. */
#ifndef BREAKGRAPH_RUNNER_H
#define BREAKGRAPH_RUNNER_H

#include <breakgraph/config.h>
#include <stdio.h>

BG_BEGIN_C_

/* A runner with its buckets and static buffers. */
typedef struct bg_runner bg_runner;

/* Queues one pass on stream: context->padded_tokens rows, from the static inputs to the static outputs. An error ends
 * the run, or the capture of that bucket. */
typedef bg_status (*bg_runner_forward)(void *user, const bg_forward_context *context, cudaStream_t stream);

/* Why a batch runs eagerly.
 *   MODE_NONE:      the mode runs such batches eagerly
 *   TOO_LARGE:      it is larger than the largest bucket
 *   PADDING:        the bucket's size is more than config.max_padding times the batch's size (with
 *                   config.pad_across_ranks: times its result, so that all ranks make the same choice)
 *   VETO:           config.veto returned true
 *   CAPTURE_FAILED: its bucket could not be captured
 *   NOT_CAPTURED:   bg_runner_capture has not been called (without config.lazy), the batch's variant is not captured,
 *                   its bucket cannot be captured on demand now (bg_runner_run), or neither its bucket nor a larger one
 *                   that config.max_padding allows has been captured in the background
 *   UNSUPPORTED:    the device has no virtual memory management, which every mode except NONE needs */
typedef enum bg_reason {
    BG_REASON_NONE,
    BG_REASON_MODE_NONE,
    BG_REASON_TOO_LARGE,
    BG_REASON_PADDING,
    BG_REASON_VETO,
    BG_REASON_CAPTURE_FAILED,
    BG_REASON_NOT_CAPTURED,
    BG_REASON_UNSUPPORTED
} bg_reason;

/* Creates a runner for stream's device; all its work runs on stream. config is copied; what the environment sets
 * (bg_runner_config_from_env) overrides it. `forward` and `user` must live as long as the runner. The caller owns
 * *runner, which is NULL after an error.
 * Where the device or driver has no virtual memory management, this prints a warning to standard error, and the runner
 * runs all batches eagerly, with BG_REASON_UNSUPPORTED: it has no pool and no buckets, its mode is NONE, and its
 * static buffers do not grow.
 * Errors: INVALID_ARGUMENT (a NULL; a key of config, which bg_last_error() names; config.pool of another device),
 * OUT_OF_MEMORY, CUDA. */
BG_API bg_status bg_runner_create(bg_runner **runner, const bg_runner_config *config, bg_runner_forward forward,
                                  void *user, cudaStream_t stream);

/* Declares an input, and sets *tensor to its static buffer of config.max_tokens rows, all zero. Must be called before
 * the first capture or run. dim[0] is the token dimension, and its value is ignored; the other dimensions hold for all
 * batches. The buffer grows, at the same address, when a larger batch comes.
 * padding: how padding rows are filled before each pass. BG_PAD_SENTINEL writes pad_value in the input's dtype, and
 * says that ops look for it: ops may not depend on what other padding rows of floats hold (BG_CHECK=padding).
 * Errors: INVALID_ARGUMENT (a NULL, a name that is in use, a bad rank or dimension, a pad_value that dtype cannot
 * represent), BUSY (captured or run already), OUT_OF_MEMORY, CUDA. */
BG_API bg_status bg_runner_add_input(bg_runner *runner, const char *name, bg_dtype dtype, int rank, const int64_t *dim,
                                     bg_padding padding, double pad_value, bg_tensor *tensor);

/* Replaces an input's static buffer by data, memory of the caller's with as many rows, and sets *tensor to it. Must be
 * called before the first capture or run. Use this if your input always has the same address: a batch whose rows are
 * already in data is not copied. Other batches are copied into data, and the first of them prints a
 * warning. Warm-ups fill data with padding. data must outlive the runner.
 * data may also be the static buffer of an output or of bg_runner_add_buffer, if a pass reads what an earlier pass
 * wrote. Each run then fills the padding rows of that buffer.
 * Errors: NOT_FOUND (no input of that name), INVALID_ARGUMENT (a NULL; the static buffer of an input, including this
 * one; memory that the device cannot access or that is not aligned for the dtype), BUSY (captured or run already). */
BG_API bg_status bg_runner_bind_input(bg_runner *runner, const char *name, void *data, bg_tensor *tensor);

/* Declares an output, as bg_runner_add_input does; padding rows are not filled.
 * Errors: as for bg_runner_add_input. */
BG_API bg_status bg_runner_add_output(bg_runner *runner, const char *name, bg_dtype dtype, int rank, const int64_t *dim,
                                      bg_tensor *tensor);

/* Declares a static buffer that is neither input nor output, all zero: memory that graphs may hold, and which lives as
 * long as the runner. With dim[0] 0 the buffer has config.max_tokens rows, and grows at the same address when a larger
 * batch comes. Otherwise it has exactly these dimensions; if `forward` writes beyond them in a larger batch, that is a
 * memory error, which compute-sanitizer and the host device's fences find.
 * Errors: as for bg_runner_add_input. */
BG_API bg_status bg_runner_add_buffer(bg_runner *runner, const char *name, bg_dtype dtype, int rank, const int64_t *dim,
                                      bg_tensor *tensor);

/* Captures every bucket, from large to small. It launches them only where rules are to be proven (config.level 2 and 3,
 * compile.h), on padding. Another call captures all buckets again. Progress is shown on a terminal, by rank 0.
 * With config.lazy ON_DEMAND each bucket is captured at its first use, and this function need not be called. If it is
 * called before any bucket has been captured, it captures none; buckets whose capture failed are tried again at their
 * next use. With BACKGROUND the first call captures the largest bucket of each query length and variant. If a bucket
 * has been captured already, this function captures all buckets, also those that are captured.
 * Before each capture, `forward` runs config.warmups times eagerly, on padding. config.state is restored at the end.
 * Where a bucket fails, a warning names it and the reason, and its batches run eagerly; the others are usable. Returns
 * BG_OK if a bucket was captured or there is none to capture, else the first failure.
 * Errors: BUSY (in a run, in an eager body), ALREADY_CAPTURING (a capture of this thread), those of
 * bg_capture_forward. */
BG_API bg_status bg_runner_capture(bg_runner *runner);

/* Captures buckets that are still missing, with config.lazy BACKGROUND and after bg_runner_capture; otherwise does
 * nothing. Call it when there is no batch to run, with the time until the next one in microseconds, or INT64_MAX. It
 * first captures the buckets that batches needed, the most needed ones first, then the others from large to small, and
 * waits for the device. It begins no capture whose estimate is above what is left of budget_us. The estimate is the
 * time that a capture took before: that of the smallest timed bucket of the same kind that is at least as large.
 * Without such a bucket, a capture begins if any time is left. A capture that ends later than the budget is counted
 * (bg_counters.idle_overruns). The static inputs and outputs keep their contents, and so does config.state. Other
 * memory that passes change, such as a buffer of bg_runner_add_buffer that later passes read, belongs in config.state.
 * With config.ranks all ranks call this together. They capture a bucket if it fits into the budget of each of them,
 * from large to small. A capture that fails is no error: its bucket's batches run eagerly. Errors: INVALID_ARGUMENT
 * (budget_us below 0), those of bg_runner_capture. */
BG_API bg_status bg_runner_idle(bg_runner *runner, int64_t budget_us);

/* Returns whether the batch would run by a graph. If not, *reason is the reason (reason may be NULL), and
 * bg_last_error() describes it; for a veto it contains the text that the callback set in *why. Calls config.veto. A
 * bucket that is to be captured on demand counts as captured. A NULL or invalid batch: false, BG_REASON_NONE, with
 * bg_last_error(). */
BG_API bool bg_runner_can_run(bg_runner *runner, const bg_batch *batch, bg_reason *reason);

/* Runs a batch, by a graph or eagerly. Returns when all work is queued.
 * inputs: one tensor for each declared input, in that order, with dim[0] the batch's tokens. data NULL, or the static
 * buffer's address: the rows are already in the static buffer. inputs NULL: every input is already in its static
 * buffer.
 * outputs: one tensor for each declared output, in that order. data NULL, or the static buffer's address: the tensor
 * becomes a view of the static buffer, valid until the next run. Otherwise the batch's rows are copied to data.
 * outputs NULL: no output is wanted.
 * Inputs and outputs that are copied may lie in a static buffer only in a part that this run neither reads nor writes.
 * context_user becomes the context's user. An eager run uses the same static buffers, with mode BG_MODE_NONE and
 * padded_tokens equal to tokens. In the debug mode forward the pass of a bucket is not padded either, so padded_tokens
 * equals tokens. A bucket that cannot be captured on demand now (during a capture of this thread, in an
 * eager body) is left for a later run, and this batch runs eagerly.
 * Errors: INVALID_ARGUMENT (a bad batch; rows that overlap those of a static buffer), SHAPE and DTYPE (of a tensor,
 * which bg_last_error() names), OUT_OF_MEMORY (also for a batch above config.max_tokens where static buffers do not
 * grow: see bg_runner_create), BUSY (inside a run of this thread, of this runner or, in another thread, of its pool),
 * those of `forward`, of the callbacks and of bg_replay. */
BG_API bg_status bg_runner_run(bg_runner *runner, const bg_batch *batch, const bg_tensor *inputs, bg_tensor *outputs,
                               void *context_user);

/* From now on each run records event on the runner's stream as soon as its inputs may be written again, so that the
 * program can prepare the next batch while this one is computed. That is when all inputs were copied into the static
 * buffers or, if one was in its static buffer already, when the pass has ended. Wait for it with cudaEventSynchronize
 * or cudaStreamWaitEvent. A run that fails may not have recorded it: then wait for the stream. The caller owns event;
 * it must live as long as the runner, or until this is called with another one. NULL: none.
 * Errors: INVALID_ARGUMENT (runner is NULL), BUSY (inside a run). */
BG_API bg_status bg_runner_inputs_read(bg_runner *runner, cudaEvent_t event);

/* Destroys the runner and frees all that it owns. NULL does nothing. It may be called while runs still execute on
 * the device; it waits for them before it frees memory. */
BG_API void bg_runner_destroy(bg_runner *runner);

/* Gives object to the runner: bg_runner_destroy calls destroy(object), the last object first, when it has destroyed
 * all graphs. The user of bg_runner_create then needs no other owner. After an error object stays the caller's.
 * Errors: INVALID_ARGUMENT (runner or destroy is NULL), OUT_OF_MEMORY. */
BG_API bg_status bg_runner_own(bg_runner *runner, void *object, void (*destroy)(void *object));

/* Returns the context of the run, warm-up or capture that this thread is in, for eager ops, in replays too; `forward`
 * gets it as an argument. In other replays of a runner's graph (bg_runner_get_graph), it returns the context of a batch
 * that fills the bucket. Elsewhere it returns NULL, with bg_last_error(). */
BG_API const bg_forward_context *bg_forward_context_get(void);

/* ---- queries ------------------------------------------------------------------------------------------------- */

/* Returns the pool that the buckets share, for memory that `forward` itself needs: config.pool, or the runner's own.
 * Returns NULL on a device without virtual memory management; use cudaMalloc there. */
BG_API bg_pool *bg_runner_pool(bg_runner *runner);

/* Returns the mode, after it was lowered to what the ops (bg_op_attributes.graph_support) and the device support. */
BG_API bg_mode bg_runner_mode(const bg_runner *runner);

/* A bucket, which bg_runner_get_bucket returns. */
typedef struct bg_bucket_info {
    size_t struct_size; /* set by BG_BUCKET_INFO_INIT */
    bg_mode mode;       /* piecewise or full */
    bool decode;        /* true: only for decode batches, of max_query_len tokens a request */
    int tokens, max_query_len, variant;
    bool captured;
    const char *failure; /* why the capture failed; "" if it did not, or was not tried. Valid until the next capture */
    int segments;        /* this and the following as in bg_graph_info */
    size_t nodes, pool_bytes, graph_bytes;
    double capture_ms, instantiate_ms;
    uint64_t replays;
} bg_bucket_info;
#define BG_BUCKET_INFO_INIT                                                                                            \
    {                                                                                                                  \
        sizeof(bg_bucket_info), BG_MODE_NONE, false, 0, 0, 0, false, NULL, 0, 0, 0, 0, 0.0, 0.0, 0                     \
    }

/* Returns the number of buckets. */
BG_API int bg_runner_bucket_count(const bg_runner *runner);

/* Copies the index-th bucket, in the order of capture, to *info.
 * Errors: INVALID_ARGUMENT (a NULL, bad struct_size), NOT_FOUND (no such index). */
BG_API bg_status bg_runner_get_bucket(const bg_runner *runner, int index, bg_bucket_info *info);

/* Sets *graph to the graph of the index-th bucket, for bg_check, bg_check_poison, bg_step, bg_trace and bg_graph_
 * functions. The runner owns it; it is valid until that bucket is captured again or the runner is destroyed. Use it
 * between two runs, and in the thread that uses the runner.
 * Replays outside of bg_runner_run read what the static buffers hold: the last batch and its padding. Their eager ops
 * get the context of a batch that fills the bucket, with user NULL and replay 0. bg_bucket_info does not count them.
 * Errors: INVALID_ARGUMENT (a NULL), NOT_FOUND (no such index; the bucket is not captured yet, or could not be, which
 * bg_last_error() explains). */
BG_API bg_status bg_runner_get_graph(bg_runner *runner, int index, bg_graph **graph);

/* The memory of a runner, which bg_runner_get_memory returns, in bytes. */
typedef struct bg_runner_memory {
    size_t struct_size;   /* set by BG_RUNNER_MEMORY_INIT */
    size_t buffers;       /* the static buffers, without bound ones */
    size_t pool;          /* memory that the pool holds, for all runners that share it */
    size_t graphs;        /* the instantiated graphs, as in bg_bucket_info.graph_bytes */
    size_t expected;      /* the memory that pool and graphs were expected to need, estimated from the first bucket that
                           * the last bg_runner_capture captured: the pool at that time, and a graph of that size for
                           * each bucket; 0: it captured none */
    size_t before, after; /* free memory of the device when the last bg_runner_capture began, and when it returned */
    size_t available;     /* free memory of the device now */
} bg_runner_memory;
#define BG_RUNNER_MEMORY_INIT                                                                                          \
    {                                                                                                                  \
        sizeof(bg_runner_memory), 0, 0, 0, 0, 0, 0, 0                                                                  \
    }

/* Copies the figures of the runner's memory to *memory. bg_runner_capture prints a warning if more is expected than is
 * free.
 * Errors: INVALID_ARGUMENT (a NULL, bad struct_size), CUDA. */
BG_API bg_status bg_runner_get_memory(const bg_runner *runner, bg_runner_memory *memory);

/* Prints a table of all buckets, the memory, and the batches whose query length or variant no bucket has. */
BG_API void bg_runner_print(const bg_runner *runner, FILE *out);

/* ---- batches --------------------------------------------------------------------------------------------------- */

/* Returns how many batches of that size the runner has run, by a graph or eagerly.
 * query_len: 0: mixed batches; else decode batches with query_len tokens a request. It must be one of the
 * configuration's query lengths, and may be given in every mode. tokens: 1 to config.max_tokens, with
 * config.pad_across_ranks its result; 0: all larger batches. Returns 0 for any other query_len or tokens, and for NULL.
 * It may be called while the runner runs. */
BG_API uint64_t bg_runner_batches(const bg_runner *runner, int query_len, int tokens);

/* Prints the batches by size and by the reason of eager runs, their padding rows, and the buckets with their replays
 * and memory, as one JSON object: a row of "runners" in docs/report-format.md. `breakgraph report` proposes a schedule
 * from it. */
BG_API void bg_runner_print_json(const bg_runner *runner, FILE *out);

/* ---- counters ------------------------------------------------------------------------------------------------ */

/* Counts over all runners of the process. */
typedef struct bg_counters {
    size_t struct_size;         /* set by BG_COUNTERS_INIT */
    uint64_t graphs;            /* graphs captured */
    uint64_t segments;          /* segments of these graphs */
    uint64_t captures;          /* captures tried, including those that failed */
    uint64_t replays[5];        /* replays by bg_mode: PIECEWISE or FULL */
    uint64_t eager[7];          /* eager runs by bg_reason, up to NOT_CAPTURED */
    uint64_t padded_tokens;     /* padding rows up to the batch's own bucket */
    uint64_t recaptures;        /* captures of buckets that were captured before */
    uint64_t eager_unsupported; /* eager runs by BG_REASON_UNSUPPORTED */
    uint64_t larger_replays;    /* replays by a larger bucket, since the batch's own was missing (BG_LAZY_BACKGROUND);
                                 * counted in replays, too */
    uint64_t larger_tokens;     /* padding rows beyond the batch's own bucket in larger_replays */
    uint64_t idle_captures;     /* captures in bg_runner_idle; counted in captures, too */
    uint64_t idle_overruns;     /* idle_captures that ended later than the budget */
    /* Batches whose query length, or whose variant, was never captured. A query length counts only in a mode with
     * separate graphs for decode batches. These batches ran by graphs for mixed batches, or eagerly; bg_runner_print
     * lists them. */
    uint64_t missed_query_lens, missed_variants;
} bg_counters;
#define BG_COUNTERS_INIT                                                                                               \
    {                                                                                                                  \
        sizeof(bg_counters), 0, 0, 0, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, 0, 0                \
    }

/* Copy the counters to *counters, set them to 0, or print them. */
BG_API void bg_counters_get(bg_counters *counters);
BG_API void bg_counters_reset(void);
BG_API void bg_counters_print(FILE *out);

/* Prints the counters as one JSON object. */
BG_API void bg_counters_print_json(FILE *out);

BG_END_C_

#endif
