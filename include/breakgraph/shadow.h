/* Shadow: the same inputs eagerly and by replay, compared.
 *
 * BG_SHADOW=1 in the environment shadows every replay of a graph made by bg_capture_forward: the pass runs eagerly,
 * what its op calls wrote is put back, the graph is replayed, and the outputs are compared. Where they differ, both
 * ways then go call by call, to name the op calls that are at fault; BG_SHADOW=calls goes call by call in any case, and
 * so finds faults that cancel in the outputs. Findings go to standard error, as text, and to BG_REPORT. forward then
 * must stay valid, with user, as long as the graph; what the pass changes that is no tensor of an op call, and not in
 * the capture's options.state, changes twice. The eager pass runs as by bg_forward_run, and is
 * waited for on the graph's stream, to which it joins its others.
 *
 * Threads: as bg_capture_forward. */
#ifndef BREAKGRAPH_SHADOW_H
#define BREAKGRAPH_SHADOW_H

#include <breakgraph/capture.h>
#include <breakgraph/report.h>

BG_BEGIN_C_

/* An element passes that is within any of the three; all 0: bit for bit. */
typedef struct bg_tolerance {
    double absolute; /* |eager - replay| */
    double relative; /* that, divided by |eager| */
    uint64_t ulp;    /* steps from one number of the format to the next; of integers, |eager - replay| */
} bg_tolerance;

typedef struct bg_compare_options {
    size_t struct_size;
    bg_tolerance tolerance;
    const bg_tensor *outputs; /* what is compared, in device memory; NULL: all outputs that no later call uses */
    size_t outputs_count;
    const bg_tensor *state; /* also put back between the runs; tensors of op calls always are */
    size_t state_count;
    int repeats;            /* how often both ways run; 0: once */
    const char *tolerances; /* by dtype and op, on top of tolerance: "f16:ulp=4; attention:rel=1e-3,abs=1e-6"; NULL:
                             * none. BG_TOLERANCE in the environment has the same form, and comes after it */
    bool outputs_only;      /* true: bg_shadow goes call by call only where the outputs differ */
    const bg_ranks *ranks;  /* NULL: this process alone. Else all ranks call the tool together: what differs on one rank
                             * counts as differing on all, so that all run the same passes, captures and replays; each
                             * reports what it finds itself, a bisect's culprits all */
} bg_compare_options;

#define BG_COMPARE_OPTIONS_INIT                                                                                        \
    {                                                                                                                  \
        sizeof(bg_compare_options), {0, 0, 0}, NULL, 0, NULL, 0, 1, NULL, false, NULL                                  \
    }

/* Runs forward(user, stream) eagerly, as bg_forward_run does, and by replay of a graph captured from it, from the same
 * contents of all tensors, and compares the outputs on the device: "mismatch" for each that differs beyond the
 * tolerance, with the largest errors, counts of NaN and infinity, the first index, digests, and the smallest tolerance
 * that would have let it pass. Then the graph goes call by call: each op call gets the inputs that the eager run gave
 * it, and "mismatch-origin" names each whose outputs differ all the same, also where the difference is gone again in
 * the outputs. A call that the eager run or the capture makes alone, outside other calls, is "frozen-control-flow". An
 * op with a reference (bg_op_attributes.reference) is compared with that, too, on the inputs of the eager run
 * ("differs-from-reference"). An output that two eager runs leave different gives the note "not-repeatable".
 *
 * A list of tolerances has items NAME:LIMIT,LIMIT... with ';' between. NAME is a dtype (f32, f16, bf16, f64, i8, u8,
 * i32, i64, bool), or an op call as in bg_override_eager ("attention", "rope#3", "moe_*"); without NAME an item is for
 * all. A LIMIT is abs=X, rel=X or ulp=N. The last item that fits a tensor decides, and replaces those before it.
 *
 * When this returns, all tensors of op calls that the device reaches, and options.state, hold what they held before;
 * pageable host memory is neither put back nor compared. It takes device memory for two copies of what the pass writes,
 * call by call for one of each output of each call, and waits for the device.
 * options may be NULL. BG_OK: the tool worked, and *report is the caller's, without findings where nothing differs.
 * Errors: INVALID_ARGUMENT (a NULL, a bad tensor, a malformed tolerance or repeats), BUSY (another thread captures),
 * those of bg_capture_forward, bg_replay and bg_step, and of forward itself. */
BG_API bg_status bg_shadow(bg_forward forward, void *user, cudaStream_t stream, const bg_compare_options *options,
                           bg_report **report);

/* Whether text is a list of tolerances as options.tolerances and BG_TOLERANCE have it; reads no graph and no device.
 * Errors: INVALID_ARGUMENT, with what is wrong and what is allowed; OUT_OF_MEMORY. */
BG_API bg_status bg_tolerances_check(const char *text);

BG_END_C_

#endif
