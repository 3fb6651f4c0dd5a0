/* Compares ops with their references (bg_op_attributes.reference) on the same inputs. */
#ifndef BG_DEBUG_REFERENCES_H
#define BG_DEBUG_REFERENCES_H

#include "debug/compare/compare.h"
#include "debug/report/report.h"
#include "debug/compare/tolerance.h"

/* A call while its body runs. */
typedef struct bg__reference_call {
    const bg__call *call;
    void **inputs; /* for each tensor a device copy from before the call; NULL: the call does not change it */
    int tensors;
} bg__reference_call;

typedef struct bg__references {
    bg_report *report;
    const bg__tolerances *tolerances;
    bgk_difference *room;
    bg__reference_call *stack; /* outer calls come before their inner calls */
    size_t count, capacity;
} bg__references;

/* Called before and after the body of a call; they do nothing if its op has no reference. `after` runs the reference
 * with outputs of its own, and reports differences. */
bg_status bg__references_before(bg__references *references, const bg__call *call, const void *args,
                                cudaStream_t stream);
bg_status bg__references_after(bg__references *references, const bg__call *call, const void *args, cudaStream_t stream);
void bg__references_free(bg__references *references);

#endif
