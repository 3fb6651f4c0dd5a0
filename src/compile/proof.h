/* A proof: the calls of a run and its op, from the same memory, and what they leave. */
#ifndef BG_COMPILE_PROOF_H
#define BG_COMPILE_PROOF_H

#include "compile/compile.h"

/* A tensor of the calls; or memory of a call, which nobody compares. */
typedef struct bg__held {
    bg_tensor tensor;
    const bg__call *call;
    const bg_field *field; /* NULL: memory of the call */
    size_t bytes;
    bool written;
    bool output;    /* written, and no call reads it before */
    bool mixed;     /* two calls see it as elements of two types */
    bool reused;    /* only read, and memory of a later call */
    bool shared;    /* only read: another tensor of the run overlaps it in part, so that no copy can stand for it */
    bool constant;  /* read, of floating point, and all elements are the same */
    char *before;   /* what it held, in compiled->room; NULL: it is only read, and there is no room for that */
    char *expected; /* written: what the calls have left */
    char *copy;     /* only read, and not shared: what stands for it in some trials; NULL: nothing ever does */
    unsigned long long digest; /* only read */
} bg__held;

/* What memory holds when the calls, or the op, begin. */
typedef enum bg__contents {
    BG__CONTENTS_REAL,    /* what it held in the pass */
    BG__CONTENTS_PATTERN, /* outputs: a pattern, which is NaN in floats: what is left out is seen */
    BG__CONTENTS_PADDED,  /* and the last half of the rows of what is read: zero, as padding may be */
    BG__CONTENTS_RANDOM   /* and floats that are all the same: random numbers */
} bg__contents;

typedef struct bg__proof {
    const bg__piece *piece;
    const bg__run *run;
    cudaStream_t stream;
    bg__held *list;
    int count;
    size_t capacity;
    bg__contents contents;
    bool any_constant; /* on this rank, or on another one */
    bool differs;      /* a result, when it was compared last */
    bool calls_ops;    /* a body of the run, or of the op */
    bool failed;       /* half way: inputs may be what an op has made of them */
    void **args;       /* of bodies that have been captured, which nodes may read */
    int args_count;
    size_t args_capacity;
    bg__call op; /* the op's call, which is in no graph */
    bg__finding *finding;
} bg__proof;

static inline bool bg__proof_is_open(const bg__proof *proof)
{
    return proof->finding->state == BG_FUSION_APPLIED;
}

/* ---- what the calls have (held.c) ------------------------------------------------------------------------------- */

/* Lists it, takes room for it, and keeps what it holds. The proof is unproven where that cannot be. Errors:
 * OUT_OF_MEMORY on the host, CUDA. */
bg_status bg__held_begin(bg__proof *proof);
/* Whether memory that the calls read tells one value from another. */
bool bg__held_tells(const bg__proof *proof);
/* Puts proof->contents into memory. */
bg_status bg__held_prepare(const bg__proof *proof);
/* Keeps what the calls have left. */
bg_status bg__held_expect(const bg__proof *proof);
/* Puts back all that the run writes. */
bg_status bg__held_restore(const bg__proof *proof);
/* Digests of what the calls only read. first: keeps them. *changed: the first that is another one than was kept, or
 * NULL; it holds what it held again, if there was room to keep that. Waits for the stream. */
bg_status bg__held_check_read(bg__proof *proof, bool first, const bg__held **changed);
/* Sets the tensors of args to the copies that stand for them. */
void bg__held_use_copies(const bg__proof *proof, const bg_op *op, void *args);

/* ---- what is launched (proof_graphs.c) -------------------------------------------------------------------------- */

/* The op, or the calls, captured that many times, one behind the other, with the copies that stand for tensors. NULL in
 * *exec, and the proof is closed, where it cannot be; the proof is closed on all ranks where one rank cannot. Errors:
 * CUDA. */
bg_status bg__proof_capture(bg__proof *proof, bool op, int repeats, cudaGraphExec_t *exec);
/* Judges a call of the op's, or of the calls', that has failed: what fails is a finding, and the calls stay; where
 * memory is short, another capture tries again. Returns what is no finding: the device is gone. */
bg_status bg__proof_judge_failure(bg__proof *proof, bg_status status, bool op, const char *what);
/* A rule that one rank drops is used on none. Bodies may hold collectives: all ranks run the same ones. */
bg_status bg__proof_stop_together(bg__proof *proof);

/* ---- how long they take (times.c) ------------------------------------------------------------------------------- */

/* The op must not take longer than the calls. The times of the host device say nothing about a GPU: there it does
 * nothing. Errors: CUDA. */
bg_status bg__proof_compare_times(bg__proof *proof);

#endif
