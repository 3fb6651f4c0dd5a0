/* Counts NaN and infinities in the tensors of op calls before and after each call, and finds where they originate. */
#ifndef BG_DEBUG_STEP_SPECIALS_H
#define BG_DEBUG_STEP_SPECIALS_H

#include "debug/report/report.h"
#include "debug/memory/tensors.h"

typedef struct bg__specials_search {
    cudaStream_t stream;
    bg_report *report;
    bgk_specials *room; /* counters, in device memory */
    bool nan_reported, inf_reported, mask_reported;
    uint64_t elements; /* counted, in inputs and outputs */
} bg__specials_search;

/* How many elements in all inputs, or in all outputs, of a call are NaN or infinite. */
typedef struct bg__special_counts {
    uint64_t nan, inf;
    uint64_t padding_nan, padding_inf; /* in inputs only: in the padding rows of a runner's batch */
} bg__special_counts;

bg_status bg__specials_count_inputs(bg__specials_search *look, const bg__call *call, const void *args,
                                    bg__special_counts *inputs);
/* Reports NaN or infinities if the inputs had none. Only the first call of a pass that makes them is reported; the
 * first call that makes a mask (-inf and 0 alone) gets a note. */
bg_status bg__specials_check_outputs(bg__specials_search *look, const bg__call *call, const void *args,
                                     const bg__special_counts *inputs, bg__special_counts *outputs);

#endif
