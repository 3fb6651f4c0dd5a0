/* BG_REPORT=DIR: writes the captures, replays and findings of this process into files in DIR, for the command
 * breakgraph.
 *
 *   process-PID.json    counts of graphs and replays so far, and of what BG_CHECK and BG_SHADOW have looked at: written
 * when the library is loaded, at the first graph, the first replay, each check of a graph, a normal end
 *   graph-PID-N.json    each captured graph: a report of the tool "capture" with an outline
 *   report-PID-N.json   each report of a tool that an environment variable turned on
 *   runner-PID-N.json   each runner (runner_report.h)
 *
 * The first file that cannot be written leaves a line on standard error. */
#ifndef BG_DEBUG_PROCESS_REPORT_H
#define BG_DEBUG_PROCESS_REPORT_H

#include "graph/inspect.h"
#include "looked.h"
#include "report.h"

/* Counts a new graph and writes its file. These functions do nothing without BG_REPORT. */
void bg__process_report_add_graph(bg_graph *graph);
void bg__process_report_end_graph(const bg_graph *graph);
/* Counts a replay that has succeeded: the first of each graph, at least. graph: NULL if it is not one of the
 * library. */
void bg__process_report_count_replay(const bg_graph *graph);
/* A check of BG_CHECK, by its name, has looked at a graph with so many op calls and nodes; or does not look at that
 * graph, and why. */
void bg__process_report_checked(const char *check, size_t calls, size_t nodes);
void bg__process_report_not_checked(const char *check, const char *graph, const char *why);
/* A replay was stepped (looked.h). */
void bg__process_report_stepped(const double counts[BG__STEP_COUNTS]);
/* A replay was compared with its capture. */
void bg__process_report_compared(void);
/* BG_SHADOW: a new graph, whose replays are compared, or cannot be: it has no forward function. */
void bg__process_report_shadow_graph(bool comparable);
/* BG_SHADOW: a replay that was compared with the eager pass, or could not be. */
void bg__process_report_shadow_replay(bool compared);
/* Writes a report; the same report again replaces its file. */
void bg__process_report_add(bg_report *report);

/* For the other files of BG_REPORT (runner_report.h). Whether it is set. */
bool bg__process_report_is_wanted(void);
/* Writes the report as "KIND-PID-NUMBER.json". */
void bg__process_report_write(const bg_report *report, const char *kind, unsigned long number);
/* A file could not be written, as bg_last_error() has it: a line on standard error, once. */
void bg__process_report_warn(void);

#endif
