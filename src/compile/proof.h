/* A proof: runs the calls of a run, and its op, from the same memory, and compares the results. */
#ifndef BG_COMPILE_PROOF_H
#define BG_COMPILE_PROOF_H

#include "compile/compile.h"
#include "kernels/library/compare.h"
#include "kernels/library/probe.h"

/* A tensor of the calls, or a call's own memory, which is not compared. */
typedef struct bg__proof_tensor {
    bg_tensor tensor;
    const bg__call *call;
    const bg_field *field; /* NULL: memory of the call */
    size_t bytes;
    const bg__call *writer; /* the first call that writes it */
    bool written;
    bool output;    /* written, and no call reads it earlier */
    bool read;      /* written, and a later call reads it */
    bool mixed;     /* two calls use it with different types */
    bool reused;    /* an input, and a later call reuses its memory */
    bool shared;    /* an input: another tensor of the run overlaps it in part, so that no copy can replace it */
    bool constant;  /* an input whose elements are all equal */
    char *before;   /* its initial contents, in compiled->room; NULL: an input, and there was no room */
    char *expected; /* if written: its contents after the calls */
    char *copy;     /* an input's copy, which some trials use instead; NULL: none does */
} bg__proof_tensor;

/* The contents of memory when the calls, or the op, begin. */
typedef enum bg__trial_contents {
    BG__CONTENTS_REAL,    /* as in the pass */
    BG__CONTENTS_PATTERN, /* outputs hold a pattern, NaN for floats, which shows elements that are not written */
    BG__CONTENTS_PADDED,  /* as PATTERN, and the second half of the inputs' rows is zero, as padding may be */
    BG__CONTENTS_RANDOM   /* as PATTERN, and constant float inputs hold random numbers */
} bg__trial_contents;

/* The launches of a trial: the calls, the calls again, and the op. BEFORE: the contents before them. */
typedef enum bg__trial_slot {
    BG__SLOT_BEFORE,
    BG__SLOT_CALLS,
    BG__SLOT_AGAIN,
    BG__SLOT_OP,
    BG__TRIAL_SLOTS
} bg__trial_slot;

/* What the device has found, by slot and tensor. */
typedef struct bg__proof_results {
    bgk_difference *differences; /* of written tensors, from the expected contents */
    bgk_probe *probes;           /* of inputs */
    unsigned long long *heads;   /* by tensor: its first bytes */
} bg__proof_results;

typedef struct bg__proof {
    const bg__piece *piece;
    const bg__fusion *run;
    cudaStream_t stream;
    bg__proof_tensor *list;
    int count;
    size_t capacity;
    bg__proof_results room, found; /* in compiled->room, and copied to memory */
    void *memory;
    bg__trial_contents contents;
    bool parted;       /* this rank makes no more exchanges in this proof */
    bool any_constant; /* on this rank or another one */
    bool calls_ops;    /* a body has called an op */
    bool failed;       /* half way: the op may have changed inputs */
    void **args;       /* arguments of captured bodies, which nodes may read */
    int args_count;
    size_t args_capacity;
    bg__call op; /* the op's call, which is in no graph */
    bg__proof_outcome *finding;
} bg__proof;

static inline bool bg__proof_is_open(const bg__proof *proof)
{
    return proof->finding->state == BG_FUSION_APPLIED;
}

/* ---- room (proof_tensors.c) ------------------------------------------------------------------------------------- */

/* Device memory for results, copies of tensors and saved contents: compiled->room. */
enum { BG__PROOF_ALIGNMENT = 256 };
static inline size_t bg__proof_align(size_t bytes)
{
    return (bytes + BG__PROOF_ALIGNMENT - 1) / BG__PROOF_ALIGNMENT * BG__PROOF_ALIGNMENT;
}
bg_status bg__proof_reserve(const bg__proof *proof, size_t bytes);
/* The results come first in it. */
static inline size_t bg__proof_results_bytes(const bg__proof *proof)
{
    return (size_t)proof->count *
           (BG__TRIAL_SLOTS * (sizeof(bgk_difference) + sizeof(bgk_probe)) + sizeof(unsigned long long));
}

/* ---- the tensors of the calls (proof_tensors.c) ----------------------------------------------------------------- */

/* Lists the tensors. Sets the finding to UNPROVEN if they cannot be compared. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__proof_tensors_collect(bg__proof *proof);
/* Allocates copies, and saves the contents. Sets the finding to UNPROVEN if there is too little memory. Errors: CUDA.
 */
bg_status bg__proof_tensors_save(bg__proof *proof);
/* Fills memory as proof->contents says. This function and those below only queue work. */
bg_status bg__proof_tensors_fill(const bg__proof *proof);
/* Fills the op's scratch with a pattern, if outputs have one. */
bg_status bg__proof_fill_scratch(const bg__proof *proof);
/* Saves the calls' results as the expected contents. */
bg_status bg__proof_save_expected(const bg__proof *proof);
/* Restores all memory that the run writes. */
bg_status bg__proof_tensors_restore(const bg__proof *proof);
/* The first returns the address where a trial reads an input; the second restores a changed input, if it was saved. */
const char *bg__proof_input_address(const bg__proof *proof, const bg__proof_tensor *held);
bg_status bg__proof_restore_input(const bg__proof *proof, const bg__proof_tensor *held);
/* Points the tensors of args to their copies. */
void bg__proof_substitute_copies(const bg__proof *proof, const bg_op *op, void *args);

/* ---- what the device finds (proof_results.c) -------------------------------------------------------------------- */

/* Sets `constant` of each tensor, and any_constant. Waits for the device. */
bg_status bg__proof_find_constants(bg__proof *proof);
/* After bg__proof_find_constants: whether the inputs vary enough to tell one op from another. */
bool bg__proof_is_conclusive(const bg__proof *proof);
/* Begins a trial: fills memory as proof->contents says, and digests the inputs. */
bg_status bg__proof_begin_trial(bg__proof *proof);
/* After a launch: the first digests the inputs, the second compares written tensors with the expected contents. Neither
 * waits. */
bg_status bg__proof_digest_inputs(const bg__proof *proof, bg__trial_slot slot);
bg_status bg__proof_compare_outputs(const bg__proof *proof, bg__trial_slot slot);
/* Waits for the results, reads them, and restores inputs that were changed. */
bg_status bg__proof_end_trial(bg__proof *proof);
/* After bg__proof_end_trial: the first input that a slot has changed; the first tensor that it has written with other
 * contents than expected. NULL: none. */
const bg__proof_tensor *bg__proof_find_changed_input(const bg__proof *proof, bg__trial_slot slot);
const bg__proof_tensor *bg__proof_find_differing(const bg__proof *proof, bg__trial_slot slot,
                                                 const bgk_difference **difference);

/* ---- what is launched (proof_graphs.c) -------------------------------------------------------------------------- */

/* Captures the op, or the calls, that many times in sequence, with the copies in place of tensors. If that fails, *exec
 * is NULL and the proof is closed; if it fails on one rank, the proof is closed on all. Errors: CUDA. */
bg_status bg__proof_capture_graph(bg__proof *proof, bool op, int repeats, cudaGraphExec_t *exec);
/* Turns a failure into a finding; the calls stay in the graph. by_op: the op's body failed. Later captures then do not
 * try again, unless memory was short or CUDA's error is not about captures. Returns an error only if the device is
 * gone. */
bg_status bg__proof_classify_failure(bg__proof *proof, bg_status status, bool by_op, const char *what);
/* Closes the proof if another rank has closed it. Bodies may hold collectives, so all ranks must run the same ones. */
bg_status bg__proof_agree_to_stop(bg__proof *proof);
/* This rank has failed: the others stop at their next exchange, and get the reason after the proof. */
void bg__proof_leave_ranks(bg__proof *proof);

/* ---- how long they take (proof_times.c)
 * ------------------------------------------------------------------------------- */

/* Closes the proof if the op takes longer than the calls. Does nothing on the host device, whose times say nothing
 * about a GPU. Errors: CUDA. */
bg_status bg__proof_compare_times(bg__proof *proof);

#endif
