/* Measures the steps of a replay, and nodes that run alone. */
#ifndef BG_DEBUG_TIMING_H
#define BG_DEBUG_TIMING_H

#include <cjson/cJSON.h>

#include "graph/inspect.h"
#include "debug/report/report.h"
#include "debug/step/node_list.h"

/* Microseconds since the replay began, by the host's clock. Device times are relative to an event that is recorded on
 * the idle device, so they are late by the time of that recording. */
typedef struct bg__interval {
    double begin, end;
} bg__interval;

typedef struct bg__node_creation_time {
    int segment;
    long outer;     /* place in the segment's list; for a node in a child graph, the place of the child's node */
    size_t order;   /* in which the nodes ran */
    char place[48]; /* "3", or "3.1" in a child graph */
    const char *kind;
    char kernel[256]; /* "": not a kernel, or without a name */
    unsigned grid[3], block[3];
    const bg__call *call; /* the innermost call; NULL: unknown */
    double us;            /* on the device, alone */
} bg__node_creation_time;

typedef struct bg__timing {
    bg__interval *cpu, *gpu;       /* of each step: until the host has issued it; between the events around it */
    bg__node_creation_time *nodes; /* by segment, in the order of cudaGraphGetNodes */
    size_t count, capacity;
} bg__timing;

/* Replays graph with a CUDA event before and after each step. timing starts zeroed; call bg__timing_free also after a
 * failure. Errors: those of bg_replay. */
bg_status bg__timing_measure_replay(bg_graph *graph, cudaStream_t stream, bg__timing *timing);
/* The same, for a caller between bg__replay_enter and bg__replay_leave. */
bg_status bg__timing_measure_steps(bg_graph *graph, cudaStream_t stream, bg__timing *timing);
/* Replays node by node and fills in timing->nodes. Segments that run only as a whole get a note in report. Errors:
 * those of bg_replay and bg_step. */
bg_status bg__timing_measure_nodes(bg_graph *graph, cudaStream_t stream, bg__timing *timing, bg_report *report);
void bg__timing_free(bg__timing *timing);

/* Creates the timer's events, for a caller with its own walk. Call bg__timer_destroy also after a failure. Errors:
 * CUDA. */
bg_status bg__timer_create(bg__timer *timer);
void bg__timer_destroy(bg__timer *timer);
/* Adds a node that ran alone. Call bg__timing_sort_nodes after the last one. Errors: OUT_OF_MEMORY. */
bg_status bg__timing_add_node(bg__timing *timing, const bg__step_node *ran, const bg__call *call, double us);
void bg__timing_sort_nodes(bg__timing *timing);

/* Names a step: "segment 0", "call attention#0", "copy attention#0", "forward", "wait", "record", "sync". */
const char *bg__timing_step_name(bg__step_view step, char *text, size_t bytes);

/* Replays graph once, or runs its steps if the caller is inside a replay of it. Adds the times of segments, eager calls
 * and copies to list, a report's "timings" (docs/report-format.md). nodes: the sorted times of nodes that ran alone, or
 * NULL. Errors: those of bg_replay, OUT_OF_MEMORY. */
bg_status bg__timings_measure(bg_graph *graph, cudaStream_t stream, const bg__timing *nodes, cJSON *list);

#endif
