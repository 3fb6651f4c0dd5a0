/* BG_REPORT=DIR: what this process captures, replays and finds, as files there, for the command breakgraph.
 *
 *   process-PID.json     what the process has done so far: written when the library is loaded, at the first graph, at
 *                        the first replay, and at a normal end
 *   graph-PID-N.json     each captured graph: a report of the tool "capture" with an outline
 *   report-PID-N.json    each report of a tool that the environment asked for
 *
 * What cannot be written leaves a line on standard error, once. */
#ifndef BG_DEBUG_PROCESS_REPORT_H
#define BG_DEBUG_PROCESS_REPORT_H

#include "capture/inspect.h"
#include "report.h"

/* Notes with the graph that it is there, where there is a directory. */
void bg__process_report_add_graph(bg_graph *graph);
void bg__process_report_end_graph(const bg_graph *graph);
/* A replay has succeeded. */
void bg__process_report_count_replay(void);
/* The same report once more takes the place of what it was. */
void bg__process_report_add(bg_report *report);

#endif
