/* Counts NaN and infinities in the tensors of op calls before and after each call, and finds where they originate. */
#ifndef BG_DEBUG_STEP_SPECIALS_H
#define BG_DEBUG_STEP_SPECIALS_H

#include "debug/report/report.h"
#include "debug/memory/tensors.h"

typedef struct bg__look {
    cudaStream_t stream;
    bg_report *report;
    bgk_specials *room; /* in device memory */
    bool nan_reported, inf_reported, mask_reported;
    uint64_t elements; /* that were counted, of inputs and outputs */
} bg__look;

/* How many elements of all inputs, or of all outputs, of a call are NaN and infinite. */
typedef struct bg__held {
    uint64_t nan, inf;
    uint64_t padding_nan, padding_inf; /* of inputs alone: in the padding rows of a runner's batch */
} bg__held;

bg_status bg__look_at_inputs(bg__look *look, const bg__call *call, const void *args, bg__held *inputs);
/* Reports NaN, and infinities, if the inputs held none; only the first call of a pass that makes them is reported, and
 * the first that makes a mask, an output of -inf and 0 alone, with a note. */
bg_status bg__look_at_outputs(bg__look *look, const bg__call *call, const void *args, const bg__held *inputs,
                              bg__held *outputs);

#endif
