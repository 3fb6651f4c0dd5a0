/* The mix of batches that a runner has run. */
#ifndef BG_RUNNER_MIX_H
#define BG_RUNNER_MIX_H

#include <breakgraph/runner.h>
#include <stdatomic.h>

/* After so many batches, and at each power of two before, reports are written again: a process may be killed. */
enum { BG__MIX_MANY = 1 << 16 };

typedef struct bg__mix {
    /* By family, of max_tokens + 1 sizes each: all batches; and those that ran eagerly for another reason than their
     * size, which no schedule changes. Family 0 is that of mixed batches, then come those of the query lengths. */
    _Atomic uint64_t *batches, *unsized;
    _Atomic bool *seen; /* for each page of sizes, whether there was a batch of one: so few pages are read */
    int max_tokens;
    _Atomic int largest; /* of the batches above max_tokens */
    _Atomic uint64_t count, eager[BG_REASON_UNSUPPORTED + 1];
    /* Of the batches that ran by a graph: their rows; all padding rows; of these, those up to the result of
     * config.pad_across_ranks. */
    _Atomic uint64_t rows, padding_rows, rank_rows;
} bg__mix;

/* Errors: OUT_OF_MEMORY. */
bg_status bg__mix_create(bg__mix *mix, int query_len_count, int max_tokens);
/* mix may be zeroed. */
void bg__mix_free(bg__mix *mix);

/* How a batch ran. */
typedef struct bg__mix_run {
    bg_reason reason;  /* NONE: by a graph */
    int tokens;        /* that the bucket had to hold */
    int padded_tokens; /* rows that the pass computed */
} bg__mix_run;

/* Counts a batch of that family. Returns whether reports are to be written again. */
bool bg__mix_count(bg__mix *mix, int family, const bg_batch *batch, const bg__mix_run *run);

typedef struct bg__mix_size {
    uint64_t batches, unsized;
} bg__mix_size;
/* tokens 0: of the batches above max_tokens. */
bg__mix_size bg__mix_get(const bg__mix *mix, int family, int tokens);
/* The first of these sizes, from tokens on, of which there may be batches; max_tokens + 1: there is none. */
int bg__mix_next(const bg__mix *mix, int tokens);

#endif
