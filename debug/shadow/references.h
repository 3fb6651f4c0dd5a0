/* Ops beside their references (bg_op_attributes.reference): both on the same inputs. */
#ifndef BG_DEBUG_REFERENCES_H
#define BG_DEBUG_REFERENCES_H

#include "debug/compare/compare.h"
#include "debug/report/report.h"
#include "debug/compare/tolerance.h"

/* A call whose body runs. */
typedef struct bg__reference_call {
    const bg__call *call;
    void **inputs; /* for each tensor what it held before the call, in device memory; NULL: the body leaves it alone */
    int tensors;
} bg__reference_call;

typedef struct bg__references {
    bg_report *report;
    const bg__tolerances *tolerances;
    bgk_difference *room;
    bg__reference_call *stack; /* a call around those inside it */
    size_t count, capacity;
} bg__references;

/* Around the body of a call; nothing happens where its op has no reference. after runs the reference, with outputs of
 * its own, and reports what differs. */
bg_status bg__references_before(bg__references *references, const bg__call *call, const void *args,
                                cudaStream_t stream);
bg_status bg__references_after(bg__references *references, const bg__call *call, const void *args, cudaStream_t stream);
void bg__references_free(bg__references *references);

#endif
