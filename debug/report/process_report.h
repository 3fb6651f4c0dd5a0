/* BG_REPORT=DIR: writes the captures, replays and findings of this process into files in DIR, for the command
 * breakgraph.
 *
 *   process-PID.json    counts of graphs and replays, and the coverage of BG_CHECK and BG_SHADOW: written when the
 * library is loaded, at the first graph, the first replay, each check of a graph, and a normal end
 *   graph-PID-N.json    each captured graph: a report of the tool "capture" with an outline
 *   report-PID-N.json   each report of a tool that an environment variable has turned on
 *   runner-PID-N.json   each runner (runner_report.h)
 *
 * The first file that cannot be written prints a line to standard error. */
#ifndef BG_DEBUG_PROCESS_REPORT_H
#define BG_DEBUG_PROCESS_REPORT_H

#include "graph/inspect.h"
#include "coverage.h"
#include "report.h"

/* Counts a new graph and writes its file. All these functions do nothing without BG_REPORT. */
void bg__process_report_add_graph(bg_graph *graph);
void bg__process_report_end_graph(const bg_graph *graph);
/* Counts a replay that has succeeded, at least the first one of each graph. graph: NULL if it is not a graph of the
 * library. */
void bg__process_report_count_replay(const bg_graph *graph);
/* Record that a check of BG_CHECK has checked a graph with that many op calls and nodes, or that it does not check the
 * graph, and why. */
void bg__process_report_add_checked(const char *check, size_t calls, size_t nodes);
void bg__process_report_add_unchecked(const char *check, const char *graph, const char *why);
/* Counts a stepped replay (coverage.h). */
void bg__process_report_add_stepped_replay(const double counts[BG__STEP_COUNTS]);
/* Counts a replay whose graph was compared with its capture. */
void bg__process_report_count_compared_replay(void);
/* BG_SHADOW: counts a new graph whose replays are compared, or cannot be, since it has no forward function. */
void bg__process_report_count_shadow_graph(bool comparable);
/* BG_SHADOW: counts a replay that was compared with the eager pass, or could not be. */
void bg__process_report_count_shadow_replay(bool compared);
/* Writes a report. Another call for the same report replaces its file. */
void bg__process_report_add(bg_report *report);

/* Whether BG_REPORT is set; for its other files (runner_report.h). */
bool bg__process_report_is_wanted(void);
/* Writes the report as "KIND-PID-NUMBER.json". */
void bg__process_report_write(const bg_report *report, const char *kind, unsigned long number);
/* Warns once on standard error that a file could not be written, with bg_last_error(). */
void bg__process_report_warn_once(void);

#endif
