/* The piecewise runner, for its own files. A runner has groups of buckets: one for mixed batches and, where the mode
 * has decode batches apart, one for each query length of theirs; a group has a bucket for each variant and size. */
#ifndef BG_RUNNER_RUNNER_H
#define BG_RUNNER_RUNNER_H

#include <breakgraph/runner.h>

#include "capture/capture.h"
#include "memory/memory.h"
#include "memory/pages.h"
#include "runner/config.h"

#include <cuda.h>
#include "kernels/library/rows.h"

/* ---- static buffers (buffers.c) ------------------------------------------------------------------------------ */

typedef struct bg__buffer {
    char *name;
    bg_tensor tensor; /* with all its rows */
    bool by_tokens;   /* dim[0] is the token dimension: it has as many rows as all such buffers */
    bg__pages pages;  /* of one by tokens: it grows where it lies. Without a base the buffer is an allocation of the
                       * driver's, whose end the device and its checkers know */
    bool bound;       /* the memory is the caller's */
    size_t row;       /* bytes of one */
    bg_padding padding;
    uint64_t pattern; /* that padding rows are filled with */
    bool elsewhere;   /* a batch came at another address than the one that is to be used in place */
} bg__buffer;

typedef struct bg__buffers {
    bg__buffer *list;
    size_t count, capacity;
} bg__buffers;

/* The 8 bytes that value fills a buffer of that dtype with, over and over (pattern.c); false: dtype cannot hold it. */
bool bg__pattern_make(bg_dtype dtype, double value, uint64_t *pattern);
void bg__buffers_free(bg__buffers *buffers);
/* Makes the buffers by tokens at least so many rows long, where they lie. */
bg_status bg__buffers_grow(bg_runner *runner, int rows);
/* Notes in a graph of so many rows where the buffers lie, for the checks. */
bg_status bg__buffers_note(const bg_runner *runner, int rows, bg_graph *graph);

/* ---- batches (batches.c) ------------------------------------------------------------------------------------- */

/* Whether a kernel of the runner's device reaches ptr; pageable memory and other devices' a copy must. */
bg_status bg__reach_check(const bg_runner *runner, const void *ptr, bool *reached);
/* Fills rows of all inputs as padding does, for passes whose results are discarded. */
bg_status bg__inputs_fill(bg_runner *runner, int rows);
/* Brings a batch's rows in and pads them. */
bg_status bg__inputs_load(bg_runner *runner, const bg_tensor *tensors, int tokens, int padded);
bg_status bg__outputs_check(const bg_runner *runner, const bg_tensor *tensors, int tokens);
/* Hands a batch's rows out, by copies or views. */
bg_status bg__outputs_store(bg_runner *runner, bg_tensor *tensors, int tokens);

/* ---- buckets (buckets.c) ------------------------------------------------------------------------------------- */

typedef struct bg__bucket {
    struct bg_runner *runner;
    bg_mode mode;  /* piecewise or full */
    int query_len; /* of each request in decode batches; 0: for mixed ones */
    int tokens, variant;
    bg_graph *graph; /* NULL: not captured */
    char *failure;   /* of its last capture; NULL: none */
    size_t pool_bytes;
    uint64_t replays; /* of all graphs that it has had */
    bool captured_before;
} bg__bucket;

typedef struct bg__group {
    bg_mode mode;
    int query_len; /* as in its buckets */
    int *sizes;    /* ascending */
    int size_count;
    bg__bucket *buckets; /* those of variant v begin at v * size_count */
} bg__group;

typedef struct bg__plan {
    bg__group *groups; /* mixed batches' first, of mode NONE where there is none; then by query length, ascending */
    int group_count;
    bg__bucket **order; /* of capture: from large to small */
    int bucket_count;
} bg__plan;

/* The runner's mode becomes that of scope, its plan what scope asks for, without graphs. After an error both are as
 * before. */
bg_status bg__plan_make(bg_runner *runner, const bg__scope *scope);
void bg__plan_free(bg__plan *plan);
/* The bucket for a batch, of which all ranks run `tokens` together; NULL: none, and *reason says why. */
bg__bucket *bg__dispatch(bg_runner *runner, const bg_batch *batch, int tokens, bg_reason *reason);

/* ---- passes (pass.c) ----------------------------------------------------------------------------------------- */

/* Sets the calling thread's context; only where there is none. */
void bg__context_set(bg_forward_context *context);
void bg__context_reset(void);
bool bg__context_is_set(void);

/* config.prepare; OK without one. */
bg_status bg__pass_prepare(bg_runner *runner, const bg_forward_context *context);
/* runner's forward of the thread's context: with BG_DEBUG=forward in replays, too, and then of the run's. */
bg_status bg__pass_forward(void *runner, cudaStream_t stream);
/* Makes runner->eager. */
bg_status bg__pass_create(bg_runner *runner);
/* forward, run eagerly in the thread's context. */
bg_status bg__pass_eager(bg_runner *runner, const bg_forward_context *context);

/* ---- captures (captures.c) ----------------------------------------------------------------------------------- */

/* Captures one bucket: for a lazy runner. What fails is the bucket's failure; *replanned: the op calls that were seen
 * lowered the runner's mode, and all buckets are others now. */
bg_status bg__capture_lazily(bg_runner *runner, bg__bucket *bucket, bool *replanned);

/* ---- the runner ---------------------------------------------------------------------------------------------- */

struct bg_runner {
    bg_runner_config config;
    bg_tensor *state; /* config.state */
    int *query_lens;  /* config.query_lens, or config.max_query_len alone */
    bg_runner_forward forward;
    void *user;
    cudaStream_t stream;
    int device;
    int query_len_count;
    uint64_t thread; /* that made it */
    bg__capture_info capture_info;
    bg_pool *pool;   /* NULL: the device can have none, and nothing is captured */
    bg_graph *eager; /* its passes outside graphs */
    bg__buffers inputs, outputs, extra;
    int rows; /* of buffers by tokens */

    bg_mode mode;
    bool resolved; /* the mode is what the ops of a pass support */
    const bg_op **ops;
    size_t op_count, op_capacity;
    bool ops_lost; /* out of host memory for one of them */

    bg__plan plan;

    bg__ranks ranks;
    bool agreed;   /* all ranks have the same settings */
    bool compares; /* each choice */
    uint64_t eager_runs;

    bool frozen; /* graphs may hold the static buffers */
    bool running;
};

/* ---- places (place.c) ---------------------------------------------------------------------------------------- */

/* BUSY inside a run of this thread or of this runner. */
bg_status bg__runner_check_idle(const bg_runner *runner, const char *function);
/* What the runner queues would go astray: another current device, a stream that captures. */
bg_status bg__runner_check_place(const bg_runner *runner, const char *function);
/* No capture can begin in this thread now. */
bg_status bg__runner_check_capture(const char *function);

/* ---- other ranks (agreement.c) ------------------------------------------------------------------------------- */

/* "piecewise tokens 16 variant 2", "full decode 16 query_len 4" */
void bg__bucket_name(const bg__bucket *bucket, char *name, size_t bytes);

/* Whether all ranks have the same settings, and can (status: this one's failure): RANKS where not. Once: where that
 * has not been asked yet. OK without ranks, as all of these. */
bg_status bg__runner_agree(bg_runner *runner, bg_status status);
bg_status bg__runner_agree_once(bg_runner *runner);
/* On the mode after the ops of a pass have been seen. */
bg_status bg__runner_agree_on_mode(bg_runner *runner, bg_status status);
/* That all ranks need this bucket now; *cannot: one of them, or this one, cannot capture it here. */
bg_status bg__runner_agree_on_lazy(bg_runner *runner, const bg__bucket *bucket, bool *cannot);
/* Whether each choice is compared before it runs. */
bool bg__runner_compares(const bg_runner *runner);
/* A batch's eager pass. It is reported to the ranks' watchdog as a replay, since other ranks may wait for it. */
bg_status bg__runner_run_eagerly(bg_runner *runner, const bg_forward_context *context);

/* ---- progress (progress.c) ----------------------------------------------------------------------------------- */

typedef struct bg__progress {
    bool shown;
    int done, total;
    double began_ms;
} bg__progress;
bg__progress bg__progress_begin(int total);
void bg__progress_step(bg__progress *progress, const bg_runner *runner, const bg__bucket *bucket);
void bg__progress_end(const bg__progress *progress, const bg_runner *runner);

/* ---- counters (counters.c) ----------------------------------------------------------------------------------- */

void bg__count_capture(const bg_graph *graph, bool again); /* graph NULL: it failed */
void bg__count_replay(bg_mode mode, int padded_tokens);
void bg__count_eager(bg_reason reason);

#endif
