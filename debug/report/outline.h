/* The outline of a captured pass, which the page of a report draws. */
#ifndef BG_DEBUG_OUTLINE_H
#define BG_DEBUG_OUTLINE_H

#include <cjson/cJSON.h>

#include "graph/inspect.h"
#include "report.h"

/* Makes the member "outline" of a report (docs/report-format.md), without the nodes inside child graphs. The caller
 * deletes it. Errors, with *outline NULL: OUT_OF_MEMORY, UNSUPPORTED, CUDA. */
bg_status bg__outline_create(const bg_graph *graph, cJSON **outline);
/* Adds the graph's outline to the report. */
bg_status bg__report_add_outline(bg_report *report, const bg_graph *graph);

#endif
