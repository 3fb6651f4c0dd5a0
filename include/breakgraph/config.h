/* What a piecewise runner is told: which graphs to capture, of which sizes, and when to run eagerly instead.
 *
 * A configuration is a plain struct. A program fills it by hand, by text (bg_runner_config_set), from the environment
 * or from a file; docs/runner-config.md lists the keys.
 *
 * Threads: pure functions of their arguments, callable from any thread; bg_runner_config_from_env reads the
 * environment, which no other thread may change meanwhile. */
#ifndef BREAKGRAPH_CONFIG_H
#define BREAKGRAPH_CONFIG_H

#include <breakgraph/capture.h>

BG_BEGIN_C_

/* How batches run. A decode batch is a uniform one, in which every request has the same number of query tokens, and
 * that number is one of the query lengths of the configuration (max_query_len, query_lens); every other batch is mixed.
 *   NONE:               all eagerly
 *   PIECEWISE:          all in segments, with the eager ops between them
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

/* What decode batches, or mixed ones, run in: NONE, PIECEWISE or FULL. Here and below a value that is no mode counts as
 * NONE. */
BG_API bg_mode bg_mode_decode(bg_mode mode);
BG_API bg_mode bg_mode_mixed(bg_mode mode);

/* The higher of both: NONE, PIECEWISE or FULL, in this order. */
BG_API bg_mode bg_mode_highest(bg_mode mode);

/* Whether some batches run as one graph; in segments. */
BG_API bool bg_mode_has_full(bg_mode mode);
BG_API bool bg_mode_has_piecewise(bg_mode mode);

/* Whether decode and mixed batches are captured apart: FULL_DECODE_ONLY and FULL_AND_PIECEWISE. */
BG_API bool bg_mode_separate(bg_mode mode);

/* What an input holds in the rows between a batch's tokens and the captured size.
 *   ZERO:        0
 *   REPEAT_LAST: the batch's last row
 *   SENTINEL:    the value that the input was declared with
 *   KEEP:        what an earlier batch left there */
typedef enum bg_padding { BG_PAD_ZERO, BG_PAD_REPEAT_LAST, BG_PAD_SENTINEL, BG_PAD_KEEP } bg_padding;

/* One batch: its size, and what decides between graphs of that size. */
typedef struct bg_batch {
    int tokens;          /* rows of the inputs, of all requests */
    int requests;        /* sequences in the batch */
    int max_query_len;   /* the most tokens of one request */
    int variant;         /* what the caller distinguishes (an adapter, a draft model): each has graphs of its own */
    bool uniform_decode; /* every request has max_query_len tokens */
} bg_batch;

/* What runs now, for eager ops: a captured graph cannot take it as an argument. */
typedef struct bg_forward_context {
    bg_mode mode;      /* NONE, PIECEWISE or FULL */
    bg_batch batch;    /* as the caller gave it */
    int padded_tokens; /* rows that the pass works on; tokens, where nothing is padded */
    bg_phase phase;
    uint64_t replay; /* how many replays of this graph came before */
    void *user;      /* the run's context_user */
} bg_forward_context;

/* Strings that a configuration owns. */
struct bg_config_text;

typedef struct bg_runner_config {
    size_t struct_size; /* set by BG_RUNNER_CONFIG_INIT */
    bg_mode mode; /* PIECEWISE; lowered, with a warning, where an op supports less (bg_op_attributes.graph_support) */
    const char
        *schedule;  /* "powers"; the sizes to capture, in tokens:
                     *   sglang  4 to 32 by 4, to 256 by 16, to 512 by 32, to 1024 by 64, to 4096 by 256, then by 512
                     *   atom    1, 2, 4, 8, then from 16 by 16
                     *   vllm    1, 2, 4, from 8 to 248 by 8, from 256 by 16
                     *   powers  1, 2, 4, 8, 16, ...
                     * each up to max_tokens; or a list, "1,2,4,8", taken as it is */
    int max_tokens; /* 512; tokens of the largest batch that is to run as a graph, 1 to 2^24; larger ones run eagerly */
    int max_query_len; /* 1; tokens of each request in a decode batch, 1 to max_tokens; 1 + drafted tokens with
                        * speculative decoding. Not read where query_lens is set */
    int warmups;       /* 1; passes before each capture, 0 to 100 */
    double
        max_padding; /* 0; above this ratio of captured size to tokens a batch runs eagerly; 1 or more; 0: no limit */
    const char *eager_ops; /* NULL; as for bg_override_eager, on top of what the ops say and before BG_EAGER_OPS */
    bool lazy;             /* false; capture a size when a batch first needs it */
    bool copy_inputs;      /* true; false: the caller writes into the static buffers itself */
    size_t memory_limit;   /* 0: none; bytes that the graphs' memory may take */
    bg_debug debug;        /* FROM_ENV */
    /* NULL, or asked before a batch runs as a graph; true refuses it, and *why may say why. */
    bool (*veto)(void *user, const bg_batch *batch, const char **why);
    /* NULL, or the tokens that all ranks run together, tokens being this rank's: at least that many. Below 0: they
     * could not be told, and the run fails with RANKS and the sentence that bg_comm_max, say, has left. */
    int (*pad_across_ranks)(void *user, int tokens);
    /* NULL, or called before each warm-up, capture and run, with the static inputs filled. */
    bg_status (*prepare)(void *user, const bg_forward_context *context, cudaStream_t stream);
    void *callback_user;
    int worker_threads;           /* 0; threads that instantiate graphs at capture, 0 to 64 */
    int variants;                 /* 0; how many variants, from 0, are captured at the start, 0 to 64; 0 means 1 */
    const bg_tensor *state;       /* NULL; state_count tensors that a pass changes, saved before the warm-ups and put */
    size_t state_count;           /* back after */
    struct bg_config_text *text_; /* NULL; the strings of bg_runner_config_set */
    /* NULL: this process alone. Else ranks capture the same buckets in the same order, after they have compared their
     * configurations, eager ops and buckets; a bucket that fails on one fails on all. A lazy bucket is captured when
     * all ranks come to it. Which bucket a batch runs by is a function of the batch and the configuration alone, so
     * that equal batches need no word; veto and pad_across_ranks must then answer alike on all ranks. With
     * ranks->compare_choices, and in every debug mode, each choice is compared before it runs. */
    const bg_ranks *ranks;
    /* NULL: max_query_len alone. Else the query lengths of decode batches, "1,4": ascending, 1 to max_tokens. Each has
     * buckets of its own, their sizes those of the schedule rounded up to whole requests. */
    const char *query_lens;
} bg_runner_config;

#define BG_RUNNER_CONFIG_INIT                                                                                          \
    {                                                                                                                  \
        sizeof(bg_runner_config), BG_MODE_PIECEWISE, "powers", 512, 1, 1, 0.0, NULL, false, true, 0,                   \
            BG_DEBUG_FROM_ENV, NULL, NULL, NULL, NULL, 0, 0, NULL, 0, NULL, NULL, NULL                                 \
    }

/* Sets one field by its name: mode, schedule, max_tokens, max_query_len, warmups, max_padding, eager_ops, lazy,
 * copy_inputs, memory_limit, debug, worker_threads or variants. The value is text: a mode in lower case ("full"), true
 * or false (or 1, 0), a decimal number, for memory_limit one that K, M or G may follow (2^10, 2^20, 2^30 bytes), for
 * max_query_len a list of them, too ("1,4"), which becomes query_lens. A string is copied; the configuration owns it
 * until the same key is set again or bg_runner_config_clear. What concerns several fields (max_query_len above
 * max_tokens, a list's sizes) is checked when a runner is created. After an error the configuration is unchanged.
 * Errors: INVALID_ARGUMENT (a NULL, a value that the key does not take, with what it does), NOT_FOUND (no such key,
 * with the keys), OUT_OF_MEMORY. */
BG_API bg_status bg_runner_config_set(bg_runner_config *config, const char *key, const char *value);

/* Sets every field that an environment variable names: BG_RUNNER_MODE, BG_RUNNER_MAX_TOKENS, ..., BG_RUNNER_ and the
 * key in upper case. An empty one counts as not set. Any other variable that begins with BG_RUNNER_ is an error, so
 * that a misspelt one does not go unseen. All or nothing. Errors: as for bg_runner_config_set, with the variable. */
BG_API bg_status bg_runner_config_from_env(bg_runner_config *config);

/* Sets every field that a JSON file names: one object, its keys those of bg_runner_config_set, its values strings,
 * numbers or booleans, for schedule and max_query_len also an array of numbers. All or nothing. Errors: IO (the file
 * cannot be read), INVALID_ARGUMENT (not JSON, with line and column; a key twice; a value that the key does not take),
 * NOT_FOUND (no such key), OUT_OF_MEMORY. */
BG_API bg_status bg_runner_config_read(bg_runner_config *config, const char *path);

/* Gives the strings back that the configuration owns; a field that held one gets its default, the others stay. A runner
 * keeps nothing of its configuration. Of a struct that was copied by assignment, clear one. NULL is fine. */
BG_API void bg_runner_config_clear(bg_runner_config *config);

BG_END_C_

#endif
