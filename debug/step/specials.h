/* What the tensors of op calls hold, before and after: NaN and infinities, and which op call first yields them. */
#ifndef BG_DEBUG_STEP_SPECIALS_H
#define BG_DEBUG_STEP_SPECIALS_H

#include "debug/report/report.h"
#include "debug/memory/tensors.h"

typedef struct bg__look {
    cudaStream_t stream;
    bg_report *report;
    bgk_specials *room;              /* in device memory */
    bool nan_reported, inf_reported; /* in the report already */
} bg__look;

/* Elements of all inputs, or outputs, of a call. */
typedef struct bg__held {
    uint64_t nan, inf;
} bg__held;

bg_status bg__look_at_inputs(bg__look *look, const bg__call *call, const void *args, bg__held *inputs);
/* Reports a birth where the inputs held none, the first of a pass. */
bg_status bg__look_at_outputs(bg__look *look, const bg__call *call, const void *args, const bg__held *inputs,
                              bg__held *outputs);

#endif
