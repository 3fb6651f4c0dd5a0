/* The results of a pass: outputs that no later call uses. */
#ifndef BG_DEBUG_RESULTS_H
#define BG_DEBUG_RESULTS_H

#include "tensors.h"

/* An output of a call that no later call uses. */
typedef struct bg__result {
    const bg__call *call;
    bg__field_tensor field;
    size_t place; /* index of the call in the pass */
} bg__result;

/* Starts zeroed. */
typedef struct bg__results {
    bg__result *list;
    size_t count, capacity;
} bg__results;
/* Finds the results of a pass that are in memory that the device can access. Call bg__results_free also after a
 * failure. */
bg_status bg__results_find(bg__results *results, const bg_graph *graph);
void bg__results_free(bg__results *results);

#endif
