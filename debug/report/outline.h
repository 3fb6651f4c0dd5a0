/* Makes the outline of a captured pass. The page of a report draws the outline. */
#ifndef BG_DEBUG_OUTLINE_H
#define BG_DEBUG_OUTLINE_H

#include <cjson/cJSON.h>

#include "graph/inspect.h"
#include "report.h"

/* Makes the member "outline" of a report (docs/report-format.md). It lacks the nodes inside child graphs. The caller
 * deletes *outline. After an error, *outline is NULL. Errors: OUT_OF_MEMORY, UNSUPPORTED, CUDA. */
bg_status bg__outline_create(const bg_graph *graph, cJSON **outline);
/* Adds the graph's outline to the report. */
bg_status bg__report_add_outline(bg_report *report, const bg_graph *graph);

#endif
