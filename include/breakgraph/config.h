/* The configuration of a runner: which graphs to capture, of which sizes, and when to run eagerly instead.
 * A configuration is a plain struct. A program sets its members, or sets them as text (bg_runner_config_set), from the
 * environment or from a file; docs/runner-config.md lists the keys.
 * Threads: pure functions of their arguments, callable from any thread; bg_runner_config_from_env reads the
 * environment, which no other thread may change meanwhile. */
#ifndef BREAKGRAPH_CONFIG_H
#define BREAKGRAPH_CONFIG_H

#include <breakgraph/capture.h>
#include <breakgraph/memory.h>

BG_BEGIN_C_

/* How batches run. In a decode batch every request has the same number of query tokens, and that number is one of the
 * configuration's query lengths (max_query_len, query_lens). Every other batch is mixed.
 *   NONE:               all eagerly
 *   PIECEWISE:          all in segments, with eager calls between them
 *   FULL:               all as one graph each, without breaks
 *   FULL_DECODE_ONLY:   decode batches as one graph each, mixed ones eagerly
 *   FULL_AND_PIECEWISE: decode batches as one graph each, mixed ones in segments */
typedef enum bg_mode {
    BG_MODE_NONE,
    BG_MODE_PIECEWISE,
    BG_MODE_FULL,
    BG_MODE_FULL_DECODE_ONLY,
    BG_MODE_FULL_AND_PIECEWISE
} bg_mode;

/* Return what decode batches, or mixed ones, run as: NONE, PIECEWISE or FULL. These and the following functions treat
 * an invalid mode as NONE. */
BG_API bg_mode bg_mode_decode(bg_mode mode);
BG_API bg_mode bg_mode_mixed(bg_mode mode);

/* Returns the higher of bg_mode_decode(mode) and bg_mode_mixed(mode), in the order NONE, PIECEWISE, FULL. */
BG_API bg_mode bg_mode_highest(bg_mode mode);

/* Return whether some batches run as one graph, or in segments. */
BG_API bool bg_mode_has_full(bg_mode mode);
BG_API bool bg_mode_has_piecewise(bg_mode mode);

/* Returns whether decode and mixed batches are captured separately: FULL_DECODE_ONLY and FULL_AND_PIECEWISE. */
BG_API bool bg_mode_separate(bg_mode mode);

/* When buckets are captured.
 *   NO:         all by bg_runner_capture
 *   ON_DEMAND:  each by the first batch that needs it, which waits for the capture
 *   BACKGROUND: bg_runner_capture captures the largest of each kind; bg_runner_idle captures the others, between two
 *               batches. A batch whose bucket is still missing runs by the next larger captured bucket, or eagerly */
typedef enum bg_lazy { BG_LAZY_NO, BG_LAZY_ON_DEMAND, BG_LAZY_BACKGROUND } bg_lazy;

/* What an input holds in the padding rows.
 *   ZERO:        0
 *   REPEAT_LAST: the batch's last row
 *   SENTINEL:    the value that the input was declared with
 *   KEEP:        what an earlier batch left there */
typedef enum bg_padding { BG_PAD_ZERO, BG_PAD_REPEAT_LAST, BG_PAD_SENTINEL, BG_PAD_KEEP } bg_padding;

/* One batch: its size, and what selects a graph of that size. */
typedef struct bg_batch {
    int tokens;          /* rows of the inputs, for all requests together */
    int requests;        /* number of sequences */
    int max_query_len;   /* largest number of query tokens of a request */
    int variant;         /* a number by which the caller separates batches (an adapter, a draft model); each variant has
                          * its own graphs */
    bool uniform_decode; /* every request has max_query_len tokens */
} bg_batch;

/* What runs now. Eager ops read it by bg_forward_context_get, since a captured graph cannot pass it as an argument. */
typedef struct bg_forward_context {
    bg_mode mode;      /* NONE, PIECEWISE or FULL */
    bg_batch batch;    /* as the caller passed it */
    int padded_tokens; /* rows that the pass computes, with padding rows; batch.tokens where nothing is padded */
    bg_phase phase;
    uint64_t replay; /* number of earlier replays of this graph */
    void *user;      /* context_user of the run */
} bg_forward_context;

/* The strings that a configuration owns. */
struct bg_config_text;

/* The configuration of a runner. BG_RUNNER_CONFIG_INIT sets the defaults. */
typedef struct bg_runner_config {
    size_t struct_size; /* set by BG_RUNNER_CONFIG_INIT */
    /* Default: PIECEWISE. Lowered, with a warning, where an op supports less (bg_op_attributes.graph_support). */
    bg_mode mode;
    /* The sizes to capture, in tokens. A list, "1,2,4,8", is used as it is; or a name, each up to max_tokens:
     *   sglang  4 to 32 by 4, to 256 by 16, to 512 by 32, to 1024 by 64, to 4096 by 256, then by 512
     *   atom    1, 2, 4, 8, then from 16 by 16
     *   vllm    1, 2, 4, from 8 to 248 by 8, from 256 by 16
     *   powers  1, 2, 4, 8, 16, ... (default) */
    const char *schedule;
    /* Tokens of the largest batch that runs as a graph, 1 to 2^24; larger ones run eagerly. Default: 512. */
    int max_tokens;
    /* Query tokens of each request in a decode batch, 1 to max_tokens; with speculative decoding, 1 + drafted tokens.
     * Not used with query_lens. Default: 1. */
    int max_query_len;
    /* Passes before each capture, 0 to 100. Default: 1. */
    int warmups;
    /* Largest ratio of a bucket's size to a batch's tokens, 1 or more; above it the batch runs eagerly. Default: 0, no
     * limit. */
    double max_padding;
    /* A list of patterns as for bg_override_eager, applied after the ops' declarations and before BG_EAGER_OPS.
     * Default: NULL, none. */
    const char *eager_ops;
    uint8_t lazy;        /* a bg_lazy; true is ON_DEMAND. Default: NO */
    bool copy_inputs;    /* false: the caller writes into the static buffers itself. Default: true */
    size_t memory_limit; /* most device memory, in bytes, that the runner's pool may take. Default: 0, no limit */
    bg_debug debug;      /* default: FROM_ENV */
    /* Called before a batch runs as a graph; returns true to run it eagerly, and may set *why to the reason. NULL:
     * none. */
    bool (*veto)(void *user, const bg_batch *batch, const char **why);
    /* Returns the number of tokens that selects the bucket, the same on all ranks: usually the largest batch of any
     * rank (bg_comm_max). It must be at least tokens, this rank's own number. A negative result is a failure: the run
     * fails with RANKS and keeps the message in bg_last_error(). NULL: this rank's own tokens. */
    int (*pad_across_ranks)(void *user, int tokens);
    /* Called before each warm-up, capture and run, with the static inputs filled. NULL: none. */
    bg_status (*prepare)(void *user, const bg_forward_context *context, cudaStream_t stream);
    void *callback_user; /* user of these callbacks */
    int worker_threads;  /* threads that instantiate graphs at capture, 0 to 64. Default: 0 */
    int variants;        /* number of variants that are captured, at most 64: variant 0 to variants - 1. 0 means 1 */
    /* Tensors that a pass changes; saved before the warm-ups, restored after the capture. Default: NULL, none. */
    const bg_tensor *state;
    size_t state_count;
    struct bg_config_text *text_; /* the strings of bg_runner_config_set. Default: NULL */
    /* The job's ranks; NULL: this process alone. The ranks compare their configurations, eager ops and buckets, and
     * capture the same buckets in the same order. A bucket that fails on one rank fails on all. With lazy ON_DEMAND a
     * bucket is captured when all ranks need it. Each rank chooses a batch's bucket for itself, by the batch, the
     * configuration, veto and pad_across_ranks: these two must return the same on all ranks. With
     * ranks->compare_choices, and in every debug mode, the ranks compare their choices of a bucket before each batch.
     */
    const bg_ranks *ranks;
    /* The query lengths of decode batches, "1,4": ascending, 1 to max_tokens. Each length has its own buckets, of the
     * schedule's sizes rounded up to whole requests. NULL: max_query_len alone. */
    const char *query_lens;
    /* Memory that runners share, such as those of a draft and a target model. Their graphs and eager passes never run
     * at the same time: on several streams, each waits for the one before. While a thread is in a run or capture of one
     * of these runners, their runs and captures in other threads return BUSY. So the pool takes only as much memory as
     * the largest bucket of all these runners. Each runner keeps the pool until it is destroyed. memory_limit and
     * memory_fraction are not used: the pool has its own limit. NULL: the runner makes one. */
    bg_pool *pool;
    /* memory_limit as a part of the device's whole memory, up to 1; the lower of the two limits applies. Default: 0, no
     * limit. */
    double memory_fraction;
    /* How segments are compiled, as bg_capture_options.level; where rules are to be proven, each capture launches its
     * segments, so that the check of rules (compile.h) has real data. Default: FROM_ENV. */
    int level;
    /* At level 3: the sizes of buckets that may use rules specialised for shapes: a list, such as "1,2,4", or
     * "schedule" for all sizes. Default: NULL, the same as "schedule". */
    const char *compile_sizes;
} bg_runner_config;

#define BG_RUNNER_CONFIG_INIT                                                                                          \
    {                                                                                                                  \
        sizeof(bg_runner_config), BG_MODE_PIECEWISE, "powers", 512, 1, 1, 0.0, NULL, false, true, 0,                   \
            BG_DEBUG_FROM_ENV, NULL, NULL, NULL, NULL, 0, 0, NULL, 0, NULL, NULL, NULL, NULL, 0.0, BG_LEVEL_FROM_ENV,  \
            NULL                                                                                                       \
    }

/* Sets one field by its name: mode, schedule, max_tokens, max_query_len, warmups, max_padding, eager_ops, lazy,
 * copy_inputs, memory_limit, debug, worker_threads, variants, memory_fraction, level or compile_sizes.
 * value is text: a mode in lower case ("full"), true or false (or 1, 0), or a decimal number. lazy is no, on-demand or
 * background; true means on-demand. For memory_limit K, M or G may follow the number (2^10, 2^20, 2^30 bytes). For
 * max_query_len it may be a list ("1,4"), which sets query_lens.
 * A string is copied; the configuration owns the copy until the same key is set again or bg_runner_config_clear.
 * Conditions on several fields (max_query_len above max_tokens, a list's sizes) are checked when a runner is created.
 * After an error the configuration is unchanged.
 * Errors: INVALID_ARGUMENT (a NULL, a value that the key does not allow; bg_last_error() lists the allowed ones),
 * NOT_FOUND (no such key; bg_last_error() lists the keys), OUT_OF_MEMORY. */
BG_API bg_status bg_runner_config_set(bg_runner_config *config, const char *key, const char *value);

/* Sets every field that an environment variable names: BG_RUNNER_ and the key in upper case, such as
 * BG_RUNNER_MAX_TOKENS. An empty variable counts as not set. Any other variable that begins with BG_RUNNER_ is an
 * error, so that a misspelt one is noticed. After an error the configuration is unchanged.
 * Errors: as for bg_runner_config_set; bg_last_error() names the variable. */
BG_API bg_status bg_runner_config_from_env(bg_runner_config *config);

/* Sets every field that a JSON file names. The file holds one object; its keys are those of bg_runner_config_set, its
 * values strings, numbers or booleans; schedule and max_query_len also allow an array of numbers. After an error the
 * configuration is unchanged.
 * Errors: IO (the file cannot be read), INVALID_ARGUMENT (not JSON, with line and column; a duplicate key; a value
 * that the key does not allow), NOT_FOUND (no such key), OUT_OF_MEMORY. */
BG_API bg_status bg_runner_config_read(bg_runner_config *config, const char *path);

/* Frees the strings that the configuration owns, and sets the fields that held them to their defaults; the others are
 * unchanged. NULL does nothing. A runner copies its configuration, which may be cleared afterwards. Of a struct that
 * was copied by assignment, clear only one copy. */
BG_API void bg_runner_config_clear(bg_runner_config *config);

BG_END_C_

#endif
