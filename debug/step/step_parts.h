/* The segments of a graph as a walk runs them: their nodes and calls, and the index of each. */
#ifndef BG_DEBUG_STEP_PARTS_H
#define BG_DEBUG_STEP_PARTS_H

#include "calls.h"
#include "debug/report/report.h"
#include "node_list.h"

/* A segment. */
typedef struct bg__step_part {
    bg__step_list list;
    bg__step_calls *calls; /* in bg__step_parts.calls */
    bool refused;          /* CUDA does not take one of its nodes alone */
} bg__step_part;

typedef struct bg__step_parts {
    bg_graph *graph;
    bg__nodes nodes;
    bg__step_part *list;   /* of each segment */
    bg__step_calls *calls; /* of each segment */
    cudaGraphExec_t last;  /* see bg__step_drop_last */
    int total;             /* nodes, eager calls, copies, events and whole segments: indices are below it */
} bg__step_parts;

/* Reports nodes that CUDA does not take any more. order: as for bg__step_list_create. Call bg__step_parts_free also
 * after a failure. */
bg_status bg__step_parts_read(bg__step_parts *parts, bg_graph *graph, int order, bg_report *report);
void bg__step_parts_free(bg__step_parts *parts);

/* The segment is launched as a whole; it has one index. */
bool bg__step_part_is_whole(const bg__step_part *part);

/* How many indices a step of the graph has. */
int bg__step_parts_count(const bg__step_parts *parts, bg__step_view step);
/* The first index, first or behind it, of a call ("rope#3"), or of a number that is an index; -1: there is none. */
int bg__step_parts_find(const bg__step_parts *parts, const char *text, int first);
/* A number that differs where another graph has other nodes, kernels, calls, shapes or dtypes. */
uint64_t bg__step_parts_hash(const bg__step_parts *parts);

/* Only nodes of some kinds can be disabled. CUDA refuses to tell for nodes in child graphs, and for nodes that were
 * added to the source after the instantiation. */
bg_status bg__step_is_enabled(const bg_graph *graph, int segment, const bg__node *node, bool *enabled);

#endif
