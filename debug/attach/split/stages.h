/* The order in which the parts of a graph, and the nodes outside of it, are launched. */
#ifndef BG_ATTACH_STAGES_H
#define BG_ATTACH_STAGES_H

#include "debug/graph/layout.h"

/* Places are numbered as in the layout. A stage begins when the stage before it has ended. An even stage is launched as
 * a graph; the nodes of an odd stage are launched one after the other. Starts zeroed. */
typedef struct bg__stages {
    size_t *order; /* places, as bg__layout_visit_in_order visits them */
    size_t *stage; /* of each place */
    bool *ahead;   /* of each place: it is in `first`, or a place in `first` depends on it */
    size_t count;  /* number of places */
    size_t last;   /* the last stage */
} bg__stages;

/* Pairs of places that must have the same stage, since their kernels wait for each other. */
typedef struct bg__coresident_pairs {
    struct bg__coresident_pair {
        size_t one, other;
    } * tie;
    size_t count, capacity;
} bg__coresident_pairs;

/* Assigns a stage to each place. outside, first: one entry for each place; a place in `first` is also in `outside`.
 * Edges never lead to an earlier stage, and no path leaves a part and comes back. A place is ahead if it is in `first`,
 * or if a path leads from it to such a place. A place that is not ahead has no earlier stage than a place that is
 * ahead. Uses up the layout. *possible: false if no order keeps all ties. Call bg__stages_free also after a failure.
 * Errors: OUT_OF_MEMORY. */
bg_status bg__stages_assign(bg__stages *stages, bg__layout *layout, const bool *outside, const bool *first,
                            const bg__coresident_pairs *ties, bool *possible);
void bg__stages_free(bg__stages *stages);

#endif
