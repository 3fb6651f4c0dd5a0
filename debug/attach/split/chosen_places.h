/* The nodes of one graph that are launched outside of it. */
#ifndef BG_ATTACH_CHOSEN_PLACES_H
#define BG_ATTACH_CHOSEN_PLACES_H

#include "debug/attach/events/tracked_graph.h"
#include "debug/graph/nodes.h"
#include "node_patterns.h"
#include "stages.h"

/* Whether patterns choose the node. outer: the node itself, or the node of the child graph that contains it. A node of
 * a child graph matches by its kernel's name (no "#3" after it), and by the index and the stack of `outer`. */
bg__choice bg__node_choice(const char *graph, const bg__node *node, const bg__node *outer);

typedef struct bg__chosen_places {
    bool *outside;             /* of each place */
    bool *first;               /* of each place: launched before all that it does not depend on */
    size_t chosen;             /* nodes that patterns choose; some cannot be launched outside */
    size_t count;              /* places that are outside */
    bg__coresident_pairs ties; /* kernels that wait for each other */
} bg__chosen_places;

/* Chooses among the nodes of `a`. `layout` must not have been used up. Adds a note to report for what stays in the
 * graph. places starts zeroed; call bg__chosen_places_free also after a failure. Errors: OUT_OF_MEMORY. */
bg_status bg__chosen_places_find(bg__chosen_places *places, const bg__tracked_graph *a, const bg__nodes *nodes,
                                 const bg__layout *layout, bg_report *report);
void bg__chosen_places_free(bg__chosen_places *places);
/* Adds a note that the graph is not split, and why. */
void bg__chosen_places_report_whole(const bg__chosen_places *places, bg_report *report, const char *why);

#endif
