/* In which order the parts of a graph, and the nodes outside of it, are launched. */
#ifndef BG_ATTACH_STAGES_H
#define BG_ATTACH_STAGES_H

#include "debug/graph/layout.h"

/* Places are those of the layout. A stage begins when the one before it has ended. Nodes of an even stage are launched
 * as a graph, those of an odd stage one after the other, in order. Starts zeroed. */
typedef struct bg__stages {
    size_t *order; /* places, as bg__layout_in_order visits them */
    size_t *stage; /* of each place */
    bool *ahead;   /* of each place: it is one of the first, or one of these depends on it */
    size_t count;  /* of places */
    size_t last;   /* stage */
} bg__stages;

/* Pairs of places that must be of one stage, since their kernels wait for each other. */
typedef struct bg__ties {
    struct bg__tie {
        size_t one, other;
    } * tie;
    size_t count, capacity;
} bg__ties;

/* outside, first: of each place; the first are outside. Every path of the graph leads from a stage to the same one or a
 * later one, and none leaves a part and comes back. No stage of what is not ahead is before one of what is. Uses up the
 * layout. *possible: false where no order keeps all ties. Call bg__stages_free also after a failure. Errors:
 * OUT_OF_MEMORY. */
bg_status bg__stages_find(bg__stages *stages, bg__layout *layout, const bool *outside, const bool *first,
                          const bg__ties *ties, bool *possible);
void bg__stages_free(bg__stages *stages);

#endif
