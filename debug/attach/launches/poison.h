/* Runs of a graph's nodes with patterns in memory that holds nothing when the graph begins. */
#ifndef BG_ATTACH_POISON_H
#define BG_ATTACH_POISON_H

#include "debug/attach/runs/runs.h"

typedef enum bg__cell_kind {
    BG__CELL_UNKNOWN,
    BG__CELL_FLOATS,
    BG__CELL_OTHER /* some that point there are pointers to what is no floating-point number */
} bg__cell_kind;

/* Memory that is filled as one, from a pointer of a node's to the next. */
typedef struct bg__cell {
    uintptr_t begin, end;
    bg__cell_kind kind;
} bg__cell;

/* In order of their addresses. Starts zeroed. */
typedef struct bg__cells {
    bg__cell *list;
    size_t count, capacity;
} bg__cells;

/* Cuts empty at the pointers of the kernel nodes. Call bg__cells_free also after a failure. Errors: OUT_OF_MEMORY,
 * UNSUPPORTED, CUDA. */
bg_status bg__cells_take(bg__cells *cells, const bg__spans *empty, const bg__nodes *nodes);
void bg__cells_free(bg__cells *cells);

/* Starts zeroed, but for runs, which have begun. */
typedef struct bg__poisoned {
    bg__runs *runs;
    bg__spans empty;   /* what holds nothing */
    bg__cells cells;   /* of it */
    bg__spans written; /* besides, floating-point numbers of which each is written by a step before one reads it */
} bg__poisoned;

/* Finds what is written: runs the steps, and those that may write floating-point numbers also with patterns there. */
bg_status bg__poisoned_find_written(bg__poisoned *p);

/* Restores memory, marks the first `marked` cells and clears the others. Cells of floating-point numbers are marked
 * with NaN; all others with 1 in each 8 bytes: an index, or a number of rows, of -1 would end the program. */
bg_status bg__poisoned_fill(const bg__poisoned *p, size_t marked);
/* The same, and runs the first `count` steps. */
bg_status bg__poisoned_run(const bg__poisoned *p, size_t marked, size_t count);
uint64_t bg__cell_mark(const bg__cell *cell);
/* The steps have run with all cells clear: those that hold what looks like floating-point numbers are cells of these,
 * where nothing says otherwise. */
bg_status bg__poisoned_guess(bg__poisoned *p);
/* Adds to compared what is stable, without memory of which the result is not compared. */
bg_status bg__poisoned_rest(const bg__poisoned *p, const bg__spans *without, bg__spans *compared);

/* The result depends on a cell, marked or not: searches for the cell and for the first node that reads it, and adds the
 * finding. compared, differing: of the result; clear: its digests where no cell is marked. */
bg_status bg__poisoned_report(const bg__poisoned *p, const bg__spans *compared, const bg__digests *clear,
                              const bg__spans *differing);
/* Launches the graph itself, with patterns in all cells and in what is written. Adds a finding where the result is not
 * that of its steps: *found. Not for graphs with host functions, which the program would see more often. */
bg_status bg__poisoned_launch(const bg__poisoned *p, bool *found);
void bg__poisoned_free(bg__poisoned *p);

#endif
