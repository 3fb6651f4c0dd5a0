/* The segments of a graph as a walk runs them: nodes, calls and indices. */
#ifndef BG_DEBUG_STEP_PARTS_H
#define BG_DEBUG_STEP_PARTS_H

#include "step_calls.h"
#include "debug/report/report.h"
#include "node_list.h"

/* A segment. */
typedef struct bg__step_part {
    bg__step_list list;
    bg__step_calls *calls; /* in bg__step_parts.calls */
    bool refused;          /* CUDA refuses one of its nodes in a graph of its own */
} bg__step_part;

typedef struct bg__step_parts {
    bg_graph *graph;
    bg__nodes nodes;
    bg__step_part *list;   /* of each segment */
    bg__step_calls *calls; /* of each segment */
    cudaGraphExec_t last;  /* see bg__step_release_last_exec */
    int total;             /* number of indices: nodes, eager calls, copies, events and whole segments */
} bg__step_parts;

/* Lists all segments, and reports nodes that CUDA refuses. order: as in bg__step_list_create. Call bg__step_parts_free
 * also after a failure. */
bg_status bg__step_parts_read(bg__step_parts *parts, bg_graph *graph, int order, bg_report *report);
void bg__step_parts_free(bg__step_parts *parts);

/* Whether the segment is launched as a whole; then it has one index. */
bool bg__step_part_is_whole(const bg__step_part *part);

/* Returns how many indices a step of the graph has. */
int bg__step_parts_count(const bg__step_parts *parts, bg__step_view step);
/* Returns the first index, from first on, of a call ("rope#3"), or the number in text if it is an index; -1: none. */
int bg__step_parts_find(const bg__step_parts *parts, const char *text, int first);
/* Returns a hash that differs between graphs with different nodes, kernels, calls, shapes or dtypes. */
uint64_t bg__step_parts_hash(const bg__step_parts *parts);

/* Only some kinds of nodes can be disabled. CUDA refuses the query for nodes in child graphs, and for nodes that were
 * added to the source after the instantiation; these count as enabled. */
bg_status bg__step_node_is_enabled(const bg_graph *graph, int segment, const bg__node *node, bool *enabled);

#endif
