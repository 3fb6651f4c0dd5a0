/* One launch of a graph, run several times from the same memory, each time in another order of its nodes. */
#ifndef BG_ATTACH_RUNS_H
#define BG_ATTACH_RUNS_H

#include "debug/attach/events/tracked_graph.h"
#include "image.h"
#include "serial.h"

/* Starts zeroed. */
typedef struct bg__runs {
    bg__tracked_graph *attached;
    cudaStream_t stream;
    bool launched;   /* the program's graph has been launched */
    CUresult answer; /* and what the program gets for it */
    bg__nodes nodes;
    bg__order order;
    bool ordered; /* it leaves the order of no two nodes open */
    bg__image image;
    size_t *steps;      /* the first order */
    bg__digests result; /* of reach, after it */
    bg__spans unstable; /* what differs between two runs of the first order */
} bg__runs;

/* What a check has seen of a graph in earlier launches. */
typedef struct bg__fusions_check bg__fusions_check;
typedef struct bg__seen {
    const bg__fusions_check *check;
    int launches;
    bool done;         /* not to be looked at any more */
    bool counted;      /* as looked at */
    bool busy;         /* a launch could not be looked at: a stream was captured */
    int useful;        /* of the check */
    bool noted;        /* that its nodes do not repeat what they compute */
    void *own;         /* of the check */
    bg__spans written; /* blocks that a launch has changed, where there is no room for a copy of all */
} bg__seen;
void bg__seen_drop(void *seen); /* as bg__launcher.drop */
/* As bg__launcher.end: tells of a graph that was never looked at. */
void bg__runs_end(bg__tracked_graph *a);
/* The check has looked at the graph of runs. */
void bg__seen_count(bg__seen *seen, const bg__runs *runs);

/* What looks at launches by running their nodes more than once. */
struct bg__fusions_check {
    const char *name;     /* "orders" */
    int launches;         /* of each graph, updates or not: it looks at the first ones, as long as seen->own is NULL */
    bool whole;           /* all that the nodes reach is copied, also what earlier launches did not write */
    bool complete;        /* the runs must do all that a launch does: graphs with host functions are left out */
    bool (*wanted)(void); /* whether to look at a launch; NULL: always */
    bool unordered;       /* graphs that leave no order open need no look */
    /* The first order has been run twice. look restores memory, unless it sets runs->launched. */
    bg_status (*look)(bg__runs *runs, bg__seen *seen);
    void (*drop)(void *own); /* frees seen->own; NULL: it has none */
};
/* While one thread runs the nodes of a launch, and restores memory, no other may launch: its work would be undone. Nor
 * may one begin a capture, which what waits for the device would break. All launches, but what the program launches
 * outside of graphs, and all begins of captures are made between enter_launch and leave_launch. */
void bg__runs_enter_launch(void);
/* Alone, without captures, until leave_launch. false: a capture is open, and nothing was entered. */
bool bg__runs_enter_alone(void);
void bg__runs_leave_launch(void);
/* For bg__launcher.launch: also launches the graph, unless the check has something of its own to launch (seen->own). A
 * graph that cannot be looked at, or whose look fails, is named once, and left alone from then on. */
bool bg__runs_launch(bg__tracked_graph *a, cudaStream_t stream, CUresult *result, const bg__fusions_check *check);
/* Launches the program's own graph in the place of the program's launch, and waits. */
bg_status bg__runs_launch_graph(bg__runs *runs);
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
