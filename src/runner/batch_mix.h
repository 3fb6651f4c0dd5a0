/* The mix of batches that a runner has run. */
#ifndef BG_RUNNER_BATCH_MIX_H
#define BG_RUNNER_BATCH_MIX_H

#include <breakgraph/runner.h>
#include <stdatomic.h>

/* Reports are written again at each power of two of batches, and then after every so many: a process may be killed. */
enum { BG__MIX_REPORT_INTERVAL = 1 << 16 };

typedef struct bg__mix {
    /* By family, of max_tokens + 1 sizes each. batches: all; unsized: those that ran eagerly for a reason other than
     * their size, which no schedule changes. Family 0 is mixed batches, the others are the query lengths. */
    _Atomic uint64_t *batches, *unsized;
    _Atomic bool *seen; /* by page of sizes: whether a batch had one of them, so that few pages are read */
    int max_tokens;
    _Atomic int largest; /* the largest batch above max_tokens */
    _Atomic uint64_t count, eager[BG_REASON_UNSUPPORTED + 1];
    /* Of the batches that ran as a graph: their rows; all padding rows; the padding rows up to the result of
     * config.pad_across_ranks. */
    _Atomic uint64_t rows, padding_rows, rank_rows;
} bg__mix;

/* Errors: OUT_OF_MEMORY. */
bg_status bg__mix_create(bg__mix *mix, int query_len_count, int max_tokens);
/* mix may be zeroed. */
void bg__mix_free(bg__mix *mix);

/* How a batch ran. */
typedef struct bg__mix_run {
    bg_reason reason;  /* NONE: as a graph */
    int tokens;        /* that the bucket had to hold */
    int padded_tokens; /* rows that the pass computed */
} bg__mix_run;

/* Counts a batch of that family. Returns whether to write reports again. */
bool bg__mix_add_batch(bg__mix *mix, int family, const bg_batch *batch, const bg__mix_run *run);

typedef struct bg__mix_size {
    uint64_t batches, unsized;
} bg__mix_size;
/* tokens 0: the batches above max_tokens. */
bg__mix_size bg__mix_read_size(const bg__mix *mix, int family, int tokens);
/* Returns the first size, from tokens on, that may have batches; max_tokens + 1: none. */
int bg__mix_next_size(const bg__mix *mix, int tokens);

#endif
