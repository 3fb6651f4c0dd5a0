/* The nodes of one graph that are launched outside of it. */
#ifndef BG_ATTACH_CHOSEN_PLACES_H
#define BG_ATTACH_CHOSEN_PLACES_H

#include "debug/attach/graphs/attached.h"
#include "debug/graph/nodes.h"
#include "chosen_nodes.h"
#include "stages.h"

/* Whether patterns choose the node. outer: itself, or the node of the child graph that it is in: then it has the name
 * of its kernel, without a number, and the index and the stack of outer. */
bg__choice bg__node_choice(const char *graph, const bg__node *node, const bg__node *outer);

typedef struct bg__places {
    bool *outside; /* of each place */
    bool *first;   /* of those, which come before all that they do not depend on */
    size_t chosen; /* by patterns; some of them cannot be cut */
    size_t count;  /* places that are outside */
    bg__ties ties; /* kernels that wait for each other */
} bg__places;

/* Chooses among the nodes of a, whose layout has not been used up. Notes in report what stays in
 * the graph. Starts zeroed; call bg__places_free also after a failure. Errors: OUT_OF_MEMORY. */
bg_status bg__places_choose(bg__places *places, const bg__attached *a, const bg__nodes *nodes, const bg__layout *layout,
                            bg_report *report);
void bg__places_free(bg__places *places);
/* Notes that none of the chosen nodes is cut, and why. */
void bg__places_note_whole(const bg__places *places, bg_report *report, const char *why);

#endif
