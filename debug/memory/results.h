/* Which tensors are the results of a pass. */
#ifndef BG_DEBUG_RESULTS_H
#define BG_DEBUG_RESULTS_H

#include "tensors.h"

/* An output of a call that no later call uses. */
typedef struct bg__result {
    const bg__call *call;
    bg__field_tensor field;
} bg__result;

/* Starts zeroed. */
typedef struct bg__results {
    bg__result *list;
    size_t count, capacity;
} bg__results;
/* Of all calls of the graph: in memory that the device reaches. Free it, also where this failed. */
bg_status bg__results_take(bg__results *results, const bg_graph *graph);
void bg__results_free(bg__results *results);

#endif
