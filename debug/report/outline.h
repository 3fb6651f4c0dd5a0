/* The pass as it was captured: what a report's pages draw. */
#ifndef BG_DEBUG_OUTLINE_H
#define BG_DEBUG_OUTLINE_H

#include <cjson/cJSON.h>

#include "capture/inspect.h"
#include "report.h"

/* A report's "outline" (docs/report-format.md), which is the caller's; nodes inside child graphs are not in it. Changes
 * nothing. Errors, with *outline NULL: OUT_OF_MEMORY, UNSUPPORTED, CUDA. */
bg_status bg__outline(const bg_graph *graph, cJSON **outline);
/* Gives it to the report. */
bg_status bg__outline_note(bg_report *report, const bg_graph *graph);

#endif
