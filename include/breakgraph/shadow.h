/* Shadow: a replay and an eager pass with the same inputs, compared.
 * BG_SHADOW=1 in the environment shadows every replay of a graph made by bg_capture_forward: the pass runs eagerly as
 * by bg_forward_run, what its op calls wrote is restored, the graph is replayed, and the outputs are compared. At the
 * first replay of a graph where they differ, both are run again call by call, to name the op calls at fault.
 * BG_SHADOW=calls always compares call by call, and so finds faults that cancel in the outputs. Findings are printed to
 * standard error and written to BG_REPORT.
 * `forward` and `user` must then stay valid as long as the graph. Once for each graph, to find the cause of a
 * difference, `forward` is also captured again, without launching anything. State that is neither a tensor of an op
 * call nor in the capture's options.state changes more than once in each replay, if the pass changes it. After the
 * eager pass the tool waits only for the stream of the replay. Work of the pass on a stream that is not joined to it
 * may still be running.
 * Threads: as bg_capture_forward. */
#ifndef BREAKGRAPH_SHADOW_H
#define BREAKGRAPH_SHADOW_H

#include <breakgraph/capture.h>
#include <breakgraph/report.h>

BG_BEGIN_C_

/* An element passes if it is within any of the three limits. All 0: the results must be equal bit for bit. */
typedef struct bg_tolerance {
    double absolute; /* |eager - replay| */
    double relative; /* |eager - replay| / |eager| */
    uint64_t ulp;    /* steps between adjacent numbers of the format; for integers, |eager - replay| */
} bg_tolerance;

/* Options of bg_shadow and bg_bisect. */
typedef struct bg_compare_options {
    size_t struct_size; /* set by BG_COMPARE_OPTIONS_INIT */
    bg_tolerance tolerance;
    const bg_tensor *outputs; /* what is compared, in device memory; NULL: all outputs that no later call uses */
    size_t outputs_count;
    const bg_tensor *state; /* restored between the runs, as tensors of op calls always are */
    size_t state_count;
    int repeats;            /* how often the eager pass and the replay run; 0: once */
    const char *tolerances; /* by dtype and op, applied after `tolerance`: "f16:ulp=4; attention:rel=1e-3,abs=1e-6".
                             * NULL: none. BG_TOLERANCE in the environment has the same form, and is applied after it */
    bool outputs_only;      /* true: bg_shadow compares call by call only where the outputs differ */
    /* The job's ranks, which must call the tool together; NULL: this process alone. What differs on one rank counts as
     * differing on all, so that all run the same passes, captures and replays. Each rank reports its own findings, but
     * a bisect's culprits are reported by all. */
    const bg_ranks *ranks;
} bg_compare_options;

#define BG_COMPARE_OPTIONS_INIT                                                                                        \
    {                                                                                                                  \
        sizeof(bg_compare_options), {0, 0, 0}, NULL, 0, NULL, 0, 1, NULL, false, NULL                                  \
    }

/* Runs forward(user, stream) eagerly, as bg_forward_run does, and by replay of a graph captured from it, with the same
 * contents of all tensors, and compares the outputs on the device. Then it runs the graph call by call, and gives each
 * op call the inputs that it had in the eager run. options may be NULL. Findings:
 *   - "mismatch": an output differs beyond the tolerance; with the first index and the largest errors, rounded up so
 *     that they can be used as a tolerance. Counts of NaN and infinity, ULP and digests are in the report's JSON
 *     ("comparisons").
 *     The finding is a note if the cause is known.
 *   - "frozen-value", "unstable-pointer": an op call's outputs differ, also where the difference does not reach the
 *     outputs of the pass, because it has other arguments in the graph than in the eager run. Where the arguments are
 *     equal, `forward` is captured once more, without launching anything, and the parameters of the call's nodes are
 *     compared; so `forward` runs a third time.
 *   - "mismatch-origin": an op call's outputs differ, and neither its inputs, as far as they are known, nor its
 *     arguments and nodes do.
 *   - "frozen-control-flow": the eager run makes a call that the capture does not make, or the other way round, or a
 *     call at fault makes other nodes in the new capture. Calls inside others are compared only if the outer one is
 *     at fault.
 *   - "differs-from-reference": an op differs from its reference (bg_op_attributes.reference) on the inputs of the
 *     eager run.
 *   - "not-repeatable" (a note): two eager runs leave different contents in an output.
 *
 * A list of tolerances has items NAME:LIMIT,LIMIT... separated by ';'. NAME is a dtype (f32, f16, bf16, f64, i8, u8,
 * i32, i64, bool), or an op call as for bg_override_eager ("attention", "rope#3", "moe_*"); an item without NAME
 * applies to all. LIMIT is abs=X, rel=X or ulp=N. The last item that matches a tensor decides, and replaces those
 * before it.
 *
 * Afterwards all tensors of op calls that the device can access, and options.state, are restored; pageable host memory
 * is neither restored nor compared. Takes device memory for two copies of what the pass writes; the comparison call
 * by call takes one more copy of each output of each call, and reads each input twice. Waits for the device.
 * Returns BG_OK if the tool worked. The caller owns *report, which has no findings if nothing differs.
 * Errors: INVALID_ARGUMENT (a NULL, a bad tensor, malformed tolerances or repeats), BUSY (another thread captures),
 * those of bg_capture_forward, bg_replay, bg_step and `forward`. */
BG_API bg_status bg_shadow(bg_forward forward, void *user, cudaStream_t stream, const bg_compare_options *options,
                           bg_report **report);

/* Checks a list of tolerances, as in options.tolerances and BG_TOLERANCE. Uses no graph and no device.
 * Errors: INVALID_ARGUMENT (malformed; bg_last_error() says what is wrong and what is allowed), OUT_OF_MEMORY. */
BG_API bg_status bg_tolerances_check(const char *text);

BG_END_C_

#endif
