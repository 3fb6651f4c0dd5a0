/* One launch of a graph, run several times from the same memory, each time in another order of its nodes. */
#ifndef BG_ATTACH_RUNS_H
#define BG_ATTACH_RUNS_H

#include "debug/attach/graphs/attached.h"
#include "image.h"
#include "serial.h"

/* Starts zeroed. */
typedef struct bg__runs {
    const bg__attached *attached;
    cudaStream_t stream;
    bg__nodes nodes;
    bg__order order;
    bg__image image;
    size_t *steps;      /* the first order */
    bg__digests result; /* of reach, after it */
    bg__spans unstable; /* what differs between two runs of the first order */
} bg__runs;

/* nodes, order and image have been taken: runs the first order twice. *contained: all that it has changed is in the
 * copy; else it ran once. Call bg__runs_free also after a failure. */
bg_status bg__runs_begin(bg__runs *runs, bool *contained);
void bg__runs_free(bg__runs *runs);
/* Restores memory and runs these steps. Adds what differs from the first order's result, but for what is unstable. */
bg_status bg__runs_compare(bg__runs *runs, const size_t *steps, bg__spans *differing);

/* Two nodes without an order between them, on which the result depends: steps, and all that runs before them. */
typedef struct bg__pair {
    size_t earlier, later; /* as they are in the first order */
    size_t *before;
    size_t count;
} bg__pair;

/* Given another order with another result: the pair that makes the difference. *found: false where a run that was
 * repeated gave something else. The caller frees pair->before. */
bg_status bg__runs_find_pair(bg__runs *runs, const size_t *other, bg__pair *pair, bool *found);
/* Adds the finding to report. how: "order 2 of 4, seed 1". */
bg_status bg__runs_report_pair(bg__runs *runs, const bg__pair *pair, const char *how, bg_report *report);

#endif
