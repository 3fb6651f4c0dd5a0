/* Shadow: the same inputs eagerly and by replay, compared.
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
    int repeats; /* how often both ways run; 0: once */
} bg_compare_options;

#define BG_COMPARE_OPTIONS_INIT                                                                                        \
    {                                                                                                                  \
        sizeof(bg_compare_options), {0, 0, 0}, NULL, 0, NULL, 0, 1                                                     \
    }

/* Runs forward(user, stream) eagerly, as plain calls, and by replay of a graph captured from it, from the same contents
 * of all tensors, and compares the outputs on the device: "mismatch" for each that differs beyond the tolerance, with
 * the largest errors, counts of NaN and infinity, the first index, digests, and the smallest tolerance that would have
 * let it pass. Then both ways go call by call (bg_step), the eager one with every op as a break, and "mismatch-born"
 * names the first op call whose outputs differ then, also where the difference is gone again in the outputs. An output
 * that two eager runs leave different gives the note "not-repeatable".
 *
 * forward runs repeats + 2 times on the host, twice of these in captures that launch nothing. When this returns, all
 * tensors hold what they held before. It takes as much device memory again as they do, and waits for the device.
 * options may be NULL. BG_OK: the tool worked, and *report is the caller's, without findings where nothing differs.
 * Errors: INVALID_ARGUMENT (a NULL, a bad tensor, a negative tolerance or repeats), BUSY (another thread captures),
 * those of bg_capture_forward, bg_replay and bg_step, and of forward itself. */
BG_API bg_status bg_shadow(bg_forward forward, void *user, cudaStream_t stream, const bg_compare_options *options,
                           bg_report **report);

BG_END_C_

#endif
