/* A proof: the calls of a run and its op, from the same memory, and what they leave. */
#ifndef BG_COMPILE_PROOF_H
#define BG_COMPILE_PROOF_H

#include "compile/compile.h"
#include "kernels/library/compare.h"
#include "kernels/library/probe.h"

/* A tensor of the calls; or memory of a call, which nobody compares. */
typedef struct bg__held {
    bg_tensor tensor;
    const bg__call *call;
    const bg_field *field; /* NULL: memory of the call */
    size_t bytes;
    const bg__call *writer; /* the first that writes it */
    bool written;
    bool output;    /* written, and no call reads it before */
    bool read;      /* written, and a later call reads of it */
    bool mixed;     /* two calls see it as elements of two types */
    bool reused;    /* only read, and memory of a later call */
    bool shared;    /* only read: another tensor of the run overlaps it in part, so that no copy can stand for it */
    bool constant;  /* read, of floating point, and all elements are the same */
    char *before;   /* what it held, in compiled->room; NULL: it is only read, and there is no room for that */
    char *expected; /* written: what the calls have left */
    char *copy;     /* only read, and not shared: what stands for it in some trials; NULL: nothing ever does */
} bg__held;

/* What memory holds when the calls, or the op, begin. */
typedef enum bg__contents {
    BG__CONTENTS_REAL,    /* what it held in the pass */
    BG__CONTENTS_PATTERN, /* outputs: a pattern, which is NaN in floats: what is left out is seen */
    BG__CONTENTS_PADDED,  /* and the last half of the rows of what is read: zero, as padding may be */
    BG__CONTENTS_RANDOM   /* and floats that are all the same: random numbers */
} bg__contents;

/* A run of the calls, or of the op, in a trial; BEFORE: none, what there is when the calls begin. */
typedef enum bg__slot { BG__SLOT_BEFORE, BG__SLOT_CALLS, BG__SLOT_AGAIN, BG__SLOT_OP, BG__SLOTS } bg__slot;

/* What the device has found: of each slot, and in it of each tensor. */
typedef struct bg__proof_results {
    bgk_difference *differences; /* of what is written, from what was expected */
    bgk_probe *probes;           /* of what is only read */
    unsigned long long *heads;   /* of each tensor: its first bytes */
} bg__proof_results;

typedef struct bg__proof {
    const bg__piece *piece;
    const bg__run *run;
    cudaStream_t stream;
    bg__held *list;
    int count;
    size_t capacity;
    bg__proof_results room, found; /* in compiled->room, and copied to memory */
    void *memory;
    bg__contents contents;
    bool parted;       /* ranks do not meet any more in this proof */
    bool any_constant; /* on this rank, or on another one */
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

/* ---- room (held.c) ---------------------------------------------------------------------------------------------- */

/* Memory of the device for results, copies of tensors, and what they held: compiled->room. */
enum { BG__ROOM_ALIGNED = 256 };
static inline size_t bg__room_aligned(size_t bytes)
{
    return (bytes + BG__ROOM_ALIGNED - 1) / BG__ROOM_ALIGNED * BG__ROOM_ALIGNED;
}
bg_status bg__room_need(const bg__proof *proof, size_t bytes);
/* The results are first in it. */
static inline size_t bg__proof_results_bytes(const bg__proof *proof)
{
    return (size_t)proof->count *
           (BG__SLOTS * (sizeof(bgk_difference) + sizeof(bgk_probe)) + sizeof(unsigned long long));
}

/* ---- what the calls have (held.c) ------------------------------------------------------------------------------- */

/* Lists it. The proof is unproven where nothing can be proven with it. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__held_list(bg__proof *proof);
/* Takes room for it, and keeps what it holds. The proof is unproven where there is no room. Errors: CUDA. */
bg_status bg__held_keep(bg__proof *proof);
/* Puts proof->contents into memory. It and what follows is queued. */
bg_status bg__held_prepare(const bg__proof *proof);
/* Fills the op's scratch with a pattern, where outputs have one. */
bg_status bg__held_fill_scratch(const bg__proof *proof);
/* Keeps what the calls have left. */
bg_status bg__held_expect(const bg__proof *proof);
/* Puts back all that the run writes. */
bg_status bg__held_restore(const bg__proof *proof);
/* Where a trial reads what is only read; puts that back which was changed, if there was room to keep it. */
const char *bg__held_read_at(const bg__proof *proof, const bg__held *held);
bg_status bg__held_put_back(const bg__proof *proof, const bg__held *held);
/* Sets the tensors of args to the copies that stand for them. */
void bg__held_use_copies(const bg__proof *proof, const bg_op *op, void *args);

/* ---- what the device finds (proof_results.c) -------------------------------------------------------------------- */

/* Sets constant of what is listed, and any_constant. Waits. */
bg_status bg__proof_find_constants(bg__proof *proof);
/* Then: whether memory that the calls read tells one value from another. */
bool bg__proof_tells(const bg__proof *proof);
/* In a trial: puts proof->contents into memory, and digests what is only read. */
bg_status bg__proof_begin_trial(bg__proof *proof);
/* After a run: digests of what is only read; differences of what is written from what was expected. Neither waits. */
bg_status bg__proof_probe(const bg__proof *proof, bg__slot slot);
bg_status bg__proof_compare(const bg__proof *proof, bg__slot slot);
/* Waits, and reads what has been found. What is only read and was changed is put back. */
bg_status bg__proof_end_trial(bg__proof *proof);
/* Then: the first tensor that is only read, and that a run has changed; the first one that it has written otherwise
 * than expected. NULL: there is none. */
const bg__held *bg__proof_changed(const bg__proof *proof, bg__slot slot);
const bg__held *bg__proof_differing(const bg__proof *proof, bg__slot slot, const bgk_difference **difference);

/* ---- what is launched (proof_graphs.c) -------------------------------------------------------------------------- */

/* The op, or the calls, captured that many times, one behind the other, with the copies that stand for tensors. NULL in
 * *exec, and the proof is closed, where it cannot be; the proof is closed on all ranks where one rank cannot. Errors:
 * CUDA. */
bg_status bg__proof_capture(bg__proof *proof, bool op, int repeats, cudaGraphExec_t *exec);
/* Judges a call that has failed: what fails is a finding, and the calls stay. by_op: in the op's body; where CUDA has
 * failed otherwise than by the rules of captures, or memory is short, another capture tries again. Returns what is no
 * finding: the device is gone. */
bg_status bg__proof_judge_failure(bg__proof *proof, bg_status status, bool by_op, const char *what);
/* A rule that one rank drops is used on none. Bodies may hold collectives: all ranks run the same ones. */
bg_status bg__proof_stop_together(bg__proof *proof);
/* This rank fails: the others stop where they meet next, and hear the reason behind the proof. */
void bg__proof_part(bg__proof *proof);

/* ---- how long they take (times.c) ------------------------------------------------------------------------------- */

/* The op must not take longer than the calls. The times of the host device say nothing about a GPU: there it does
 * nothing. Errors: CUDA. */
bg_status bg__proof_compare_times(bg__proof *proof);

#endif
