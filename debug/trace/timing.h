/* How long the parts of a graph take: the steps of one replay, and nodes that run alone. */
#ifndef BG_DEBUG_TIMING_H
#define BG_DEBUG_TIMING_H

#include <cjson/cJSON.h>

#include "capture/inspect.h"
#include "debug/report/report.h"

/* Microseconds since the replay began, by the host's clock; the device's times are brought to it by an event that is
 * recorded while the device has nothing to do, and so are late by what that takes. */
typedef struct bg__interval {
    double begin, end;
} bg__interval;

typedef struct bg__node_time {
    int segment;
    long outer;     /* its place in the segment's list; of a node in a child graph, the child's */
    size_t order;   /* among all, as they ran */
    char place[48]; /* "3", or "3.1" in a child graph */
    const char *kind;
    char kernel[256]; /* "": it is none, or nameless */
    unsigned grid[3], block[3];
    const bg__call *call; /* the innermost one; NULL: none is known */
    double us;            /* on the device, alone */
} bg__node_time;

typedef struct bg__timing {
    bg__interval *cpu, *gpu; /* of each step: until the host has issued it; between events around it */
    bg__node_time *nodes;    /* by segment, in the order of their making */
    size_t count, capacity;
} bg__timing;

/* A whole replay, with an event of CUDA's on either side of each step. timing starts zeroed; free it, also where this
 * failed. Errors: those of bg_replay. */
bg_status bg__timing_replay(bg_graph *graph, cudaStream_t stream, bg__timing *timing);
/* The same between bg__replay_enter and leave. */
bg_status bg__timing_steps(bg_graph *graph, cudaStream_t stream, bg__timing *timing);
/* Another replay, node by node: fills in nodes. Segments that cannot be taken apart have none, of which report gets a
 * note. Errors: those of bg_replay and bg_step. */
bg_status bg__timing_nodes(bg_graph *graph, cudaStream_t stream, bg__timing *timing, bg_report *report);
void bg__timing_free(bg__timing *timing);

/* What a step is called: "segment 0", "call attention#0", "copy attention#0", "forward", "wait", "record", "sync". */
const char *bg__timing_what(bg__step_view step, char *text, size_t bytes);

/* Replays graph once, also inside a replay of it in place of its walk, and adds what its segments, eager calls and
 * copies took to list, a report's "timings" (docs/report-format.md). Errors: those of bg_replay, OUT_OF_MEMORY. */
bg_status bg__timings_take(bg_graph *graph, cudaStream_t stream, cJSON *list);

#endif
