/* The coverage of BG_CHECK in this process, for its report: what was checked, and what was not. */
#ifndef BG_DEBUG_COVERAGE_H
#define BG_DEBUG_COVERAGE_H

#include <stddef.h>
#include <stdio.h>

/* Counts a graph that the check has checked, with its op calls and nodes. The caller must hold a lock, also for the
 * next three functions. If host memory runs out, the graph is not counted. */
void bg__coverage_add_graph(const char *check, size_t calls, size_t nodes);
/* Counts a stepped replay: nodes, calls, float elements, segments that ran as a whole, and nodes that were skipped. */
enum { BG__STEP_COUNTS = 5 };
void bg__coverage_add_stepped_replay(const double counts[BG__STEP_COUNTS]);
/* Adds a graph that the check does not check. why: "its capture launches nothing". */
void bg__coverage_add_unchecked(const char *check, const char *graph, const char *why);
/* Prints the members "checks" and "not_checked" of the report of a process, each after a comma. Prints nothing if there
 * was no check. */
void bg__coverage_print(FILE *out);
/* Resets all counts in a forked child, which has no other threads. */
void bg__coverage_reset(void);
/* Counts a replay whose graph was compared with its capture. Thread-safe. */
void bg__coverage_count_replay(void);

#endif
