/* Nodes that look at what others have written, in a copy of the program's graph. */
#ifndef BG_ATTACH_PROBES_H
#define BG_ATTACH_PROBES_H

#include "kernels/library/probe.h"
#include "debug/attach/runs/runs.h"

enum { BG__PROBE_ROWS = 256 }; /* launches that may go before they are read */

/* A range that a chosen node writes. */
typedef struct bg__probe {
    cudaGraphNode_t node; /* of the graph that was copied */
    const bg__call *call; /* NULL: it has none */
    const char *name;     /* of the call, or the node's kind */
    size_t step;          /* of the runs */
    uintptr_t begin, end;
    int format;        /* as of bgk_probe_memory */
    const char *mixed; /* why other nodes may write there: it is not compared, and NaN are not counted; NULL: none do */
    bool unstable;     /* two runs of the same order left other bytes there: it is not compared */
    bgk_probe other;   /* NaN and infinities between what the node writes, from before */
    bgk_probe alone;   /* where the nodes ran one after the other, from the memory of the first launch */
    bgk_probe last;    /* of the last launch that was read */
    unsigned long long changes, nan, inf; /* launches with another digest than the one before; with such numbers */
} bg__probe;

typedef struct bg__probes {
    bg__tracked_graph *attached;
    bg__probe *list; /* in the graph's order */
    size_t count, capacity;
    cudaGraphExec_t exec; /* the copy */
    bgk_probe *results;   /* in device memory, and behind them the count of turns */
    bgk_probe *ring;      /* in the host's, BG__PROBE_ROWS for each, and behind it the count of those that are there */
    unsigned long long before;         /* launches of the graph before the first of these */
    unsigned long long launched, read; /* launches */
    unsigned long long lost;           /* of those read, whose rows later ones had overwritten */
    bool partial;                      /* the nodes one after the other did not do all that a launch does */
} bg__probes;

/* What a node writes, which may lie between what a probed one does. */
typedef struct bg__probe_write {
    size_t step;
    bg__span range;
} bg__probe_write;

/* Starts zeroed. */
typedef struct bg__probe_writes {
    bg__probe_write *list;
    size_t count, capacity;
} bg__probe_writes;

/* Adds the ranges that the chosen nodes write, by running the nodes of runs one after the other. Restores memory. */
bg_status bg__probes_learn(bg__probes *probes, bg__runs *runs);
/* Marks those into which other nodes write that have no order with theirs, and those that differ from run to run. */
bg_status bg__probes_mark(bg__probes *probes, const bg__runs *runs, const bg__probe_writes *writes);
/* Makes the copy. Errors: CUDA, OUT_OF_MEMORY. */
bg_status bg__probes_build(bg__probes *probes, const bg__runs *runs);
/* How many launches have left a row. The device writes that behind the row. */
unsigned long long bg__probes_told(const bg__probes *probes);
/* Waits for the launches so far, but not for ever: the program may have to go on before they can end. */
void bg__probes_wait(const bg__probes *probes);
/* Reads what has arrived. No call of CUDA. */
void bg__probes_read(bg__probes *probes);
/* Adds a row for each probe to the part "probes" of the graph's report, or adds to that which the same node had before
 * the graph was updated. */
void bg__probes_list(const bg__probes *probes);
void bg__probes_free(bg__probes *probes);

#endif
