/* The piecewise runner: a forward pass captured once for each size that batches may have, and replayed for every batch
 * that fits one of them.
 *
 *   bg_runner_config config = BG_RUNNER_CONFIG_INIT;
 *   bg_runner_create(&runner, &config, forward, model, stream);
 *   bg_runner_add_input(runner, "token", BG_I32, 1, (int64_t[]){0}, BG_PAD_SENTINEL, -1, &model->token);
 *   bg_runner_add_output(runner, "logits", BG_F32, 2, (int64_t[]){0, vocabulary}, &model->logits);
 *   bg_runner_capture(runner);
 *   bg_runner_run(runner, &batch, inputs, outputs, request);
 *
 * A bucket is one captured size. A batch runs by the smallest bucket that it fits, its inputs padded to that size;
 * where there is none it runs eagerly, and the reason is counted. forward finds its inputs and leaves its outputs in
 * static buffers that the runner owns; it computes context->padded_tokens rows.
 *
 * Threads: a runner serves one thread at a time, on cudaStreamPerThread the one that made it; several runners may run
 * at once. What runs on a device (declarations, captures, runs) needs the runner's device as the current one, and its
 * stream out of captures: else INVALID_ARGUMENT, FOREIGN_CAPTURE or ALREADY_CAPTURING, and nothing has happened. */
#ifndef BREAKGRAPH_RUNNER_H
#define BREAKGRAPH_RUNNER_H

#include <breakgraph/config.h>
#include <stdio.h>

BG_BEGIN_C_

typedef struct bg_runner bg_runner;

/* Queues one pass on stream: context->padded_tokens rows, from the static inputs to the static outputs. Its status
 * other than OK ends the run, or the capture of that bucket. */
typedef bg_status (*bg_runner_forward)(void *user, const bg_forward_context *context, cudaStream_t stream);

/* Why a batch does not run by a graph.
 *   MODE_NONE:      the mode runs such batches eagerly
 *   TOO_LARGE:      it is above the largest bucket
 *   PADDING:        the bucket's size is more than config.max_padding times the batch's (with config.pad_across_ranks,
 *                   times what all ranks run together, so that they choose alike)
 *   VETO:           config.veto refused
 *   CAPTURE_FAILED: its bucket could not be captured
 *   NOT_CAPTURED:   before bg_runner_capture; a variant that is not captured; a lazy bucket where none can be
 *   UNSUPPORTED:    the device has no virtual memory management, which graphs' memory needs, in every mode but NONE */
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

/* Makes a runner for stream's device; all that it does runs on stream. What config says is copied, with what the
 * environment sets on top (bg_runner_config_from_env). forward and user must live as long as the runner. On a device,
 * or with a driver, without virtual memory management it says so on standard error, and the runner runs all batches
 * eagerly, as BG_REASON_UNSUPPORTED: it has no pool and no buckets, its mode is NONE, and its static buffers do not
 * grow. Errors: INVALID_ARGUMENT (a NULL; a key of config, which is named), OUT_OF_MEMORY, CUDA. *runner is NULL after
 * an error. */
BG_API bg_status bg_runner_create(bg_runner **runner, const bg_runner_config *config, bg_runner_forward forward,
                                  void *user, cudaStream_t stream);

/* Declares an input. dim[0] is the token dimension, its value ignored; the others hold for all batches. *tensor
 * becomes the static buffer, with config.max_tokens rows, zeroed; where a larger batch comes it grows, and stays where
 * it is. Before each pass rows beyond the batch are filled up to the bucket's size: BG_PAD_ZERO, BG_PAD_SENTINEL with
 * pad_value in the input's dtype, BG_PAD_REPEAT_LAST with the batch's last row, BG_PAD_KEEP not at all. Only before the
 * first capture or run. Errors: INVALID_ARGUMENT (a NULL, a name that is taken, a rank or dimension, a pad_value that
 * dtype cannot hold), BUSY (captured or run already), OUT_OF_MEMORY, CUDA. */
BG_API bg_status bg_runner_add_input(bg_runner *runner, const char *name, bg_dtype dtype, int rank, const int64_t *dim,
                                     bg_padding padding, double pad_value, bg_tensor *tensor);

/* Puts data, memory of the caller's with as many rows as the static buffer, in that buffer's place; *tensor becomes the
 * new one. For callers who own a stable address: batches that come there are not copied. Where batches keep coming
 * from elsewhere they are copied there, with a message once. Warm-ups fill it with padding. data outlives the runner.
 * It may be an output's static buffer, or one of bg_runner_add_buffer, for a pass that feeds itself: the run's padding
 * then fills the rows beyond the batch there. Only before the first capture or run. Errors: NOT_FOUND (no input of that
 * name), INVALID_ARGUMENT (a NULL; the static buffer of an input, this one's own included; memory that the device does
 * not reach, or of no alignment for the dtype), BUSY (captured or run already). */
BG_API bg_status bg_runner_bind_input(bg_runner *runner, const char *name, void *data, bg_tensor *tensor);

/* Declares an output, as for inputs; nothing is padded. */
BG_API bg_status bg_runner_add_output(bg_runner *runner, const char *name, bg_dtype dtype, int rank, const int64_t *dim,
                                      bg_tensor *tensor);

/* A static buffer beside inputs and outputs, zeroed: memory that graphs may hold, which lives as long as the runner.
 * With dim[0] 0 that is the token dimension: the buffer has config.max_tokens rows, and as inputs and outputs it grows
 * where it is when a larger batch comes. Else it has exactly these dimensions, and what forward writes beyond them in a
 * larger batch is an error of memory, which compute-sanitizer and the host device's fences find. Errors as for inputs.
 */
BG_API bg_status bg_runner_add_buffer(bg_runner *runner, const char *name, bg_dtype dtype, int rank, const int64_t *dim,
                                      bg_tensor *tensor);

/* Captures every bucket, from large to small, without launching it; with config.lazy each at its first use instead.
 * Before it forward runs config.warmups times eagerly on padding; config.state is put back afterwards. A bucket that
 * fails is named with the reason in a warning, and its batches run eagerly; the others stay usable: OK if any was
 * captured, or there is none to capture, else the first failure. A further call captures all anew. On a terminal it
 * shows progress. Errors: BUSY (in a run, in an eager body), ALREADY_CAPTURING (a capture of this thread), those of
 * bg_capture_forward. */
BG_API bg_status bg_runner_capture(bg_runner *runner);

/* Whether the batch would run by a graph; else *reason (may be NULL) says why not, and bg_last_error() in a sentence, a
 * veto's with its own words. A lazy bucket that is still to be captured counts as there. The veto is asked. A NULL or
 * invalid batch: false, REASON_NONE, with bg_last_error(). */
BG_API bool bg_runner_can_run(bg_runner *runner, const bg_batch *batch, bg_reason *reason);

/* Runs a batch. inputs: one tensor for each input, in the order of declaration, with dim[0] the batch's tokens; one
 * whose data is NULL or the static buffer's is in that buffer already; NULL: all are. outputs likewise (NULL: none
 * wanted): one whose data is NULL, or the static buffer's, comes back as a view of that, valid until the next run; else
 * the rows of the batch are copied there. Rows that are copied may lie in a static buffer only where the run does not
 * fill or read it. A lazy bucket that cannot be captured here (beside a capture of this thread, in an eager body) waits
 * for a later run, and this batch runs eagerly. It returns when all is queued. context_user is what the context's user
 * shows. An eager run reads the same static buffers, with mode BG_MODE_NONE and padded_tokens == tokens. Errors:
 * INVALID_ARGUMENT (a bad batch; rows that overlap those of a static buffer), SHAPE, DTYPE (a tensor, which is named),
 * OUT_OF_MEMORY (for a batch above config.max_tokens, always where static buffers do not grow), BUSY (inside a run of
 * this thread or of this runner), those of forward, of the callbacks and of bg_replay. */
BG_API bg_status bg_runner_run(bg_runner *runner, const bg_batch *batch, const bg_tensor *inputs, bg_tensor *outputs,
                               void *context_user);

/* Gives back all that the runner owns. NULL is fine, runs in flight too. */
BG_API void bg_runner_destroy(bg_runner *runner);

/* The context of the run, warm-up or capture that this thread is in: forward gets it as an argument, an eager op reads
 * it here, in replays too. NULL, with bg_last_error(), outside. */
BG_API const bg_forward_context *bg_forward_context_get(void);

/* ---- what there is ------------------------------------------------------------------------------------------- */

/* The pool that buckets share; for forward's own memory. It goes with the runner. NULL on a device that can have none:
 * take memory by cudaMalloc there. */
BG_API bg_pool *bg_runner_pool(bg_runner *runner);
/* The mode after it was lowered to what the ops support (bg_op_attributes.graph_support), or the device. */
BG_API bg_mode bg_runner_mode(const bg_runner *runner);

typedef struct bg_bucket_info {
    size_t struct_size; /* set by BG_BUCKET_INFO_INIT */
    bg_mode mode;       /* piecewise or full */
    bool decode;        /* only for uniform decode batches, of max_query_len tokens a request */
    int tokens, max_query_len, variant;
    bool captured;
    const char
        *failure; /* why it could not be captured; "" if it was, or was not tried. Lives until the next capture */
    int segments;
    size_t nodes, pool_bytes, graph_bytes;
    double capture_ms, instantiate_ms;
    uint64_t replays;
} bg_bucket_info;
#define BG_BUCKET_INFO_INIT                                                                                            \
    {                                                                                                                  \
        sizeof(bg_bucket_info), BG_MODE_NONE, false, 0, 0, 0, false, NULL, 0, 0, 0, 0, 0.0, 0.0, 0                     \
    }
BG_API int bg_runner_bucket_count(const bg_runner *runner);
/* The index-th bucket, in the order of capture. NOT_FOUND beyond. */
BG_API bg_status bg_runner_get_bucket(const bg_runner *runner, int index, bg_bucket_info *info);
/* A table of all buckets. */
BG_API void bg_runner_print(const bg_runner *runner, FILE *out);

/* ---- counters ------------------------------------------------------------------------------------------------ */

/* Of all runners of the process. */
typedef struct bg_counters {
    size_t struct_size;         /* set by BG_COUNTERS_INIT */
    uint64_t graphs;            /* captured */
    uint64_t segments;          /* of them */
    uint64_t captures;          /* tried, those that failed too */
    uint64_t replays[5];        /* by bg_mode: piecewise or full */
    uint64_t eager[7];          /* eager runs by bg_reason, up to NOT_CAPTURED */
    uint64_t padded_tokens;     /* rows computed for nothing */
    uint64_t recaptures;        /* of buckets that were captured before */
    uint64_t eager_unsupported; /* eager runs by BG_REASON_UNSUPPORTED */
} bg_counters;
#define BG_COUNTERS_INIT                                                                                               \
    {                                                                                                                  \
        sizeof(bg_counters), 0, 0, 0, {0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0}, 0, 0, 0                                  \
    }
BG_API void bg_counters_get(bg_counters *counters);
BG_API void bg_counters_reset(void);
BG_API void bg_counters_print(FILE *out);
/* One JSON object. */
BG_API void bg_counters_print_json(FILE *out);

BG_END_C_

#endif
