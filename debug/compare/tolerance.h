/* Tolerances by dtype and op call: "f16:ulp=4; attention:rel=1e-3,abs=1e-6". */
#ifndef BG_DEBUG_TOLERANCE_H
#define BG_DEBUG_TOLERANCE_H

#include <breakgraph/shadow.h>

#include "graph/inspect.h"

typedef struct bg__tolerance_item {
    char *name; /* name of a call, or a pattern; NULL: the item is for a dtype, or for all tensors */
    int dtype;  /* -1: any dtype */
    bg_tolerance tolerance;
} bg__tolerance_item;

/* Starts zeroed. */
typedef struct bg__tolerances {
    bg_tolerance base;
    bg__tolerance_item *list;
    size_t count, capacity;
} bg__tolerances;

/* Adds the tolerances in `text` (NULL: none). from: the name of the variable or option that `text` comes from, for
 * messages. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
bg_status bg__tolerances_add(bg__tolerances *tolerances, const char *text, const char *from);
/* Adds tolerances for one call. The items in `text` have no names before them. */
bg_status bg__tolerances_add_call(bg__tolerances *tolerances, const bg__call *call, const char *text);
/* Returns the tolerance for a tensor of that dtype of a call. This is the last item that matches, or the base if no
 * item matches. `call` may be NULL. */
const bg_tolerance *bg__tolerances_find(const bg__tolerances *tolerances, const bg__call *call, bg_dtype dtype);
void bg__tolerances_free(bg__tolerances *tolerances);

#endif
