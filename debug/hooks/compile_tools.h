/* The tools that compilation (src/compile) calls: comparisons, and reports on rules. */
#ifndef BG_DEBUG_COMPILE_TOOLS_H
#define BG_DEBUG_COMPILE_TOOLS_H

#include "graph/inspect.h"
#include "kernels/library/compare.h"

/* Entries of the table of hooks (graph/debug_table.h). */
bg_status bg__compile_check_tolerance(const char *text, const char *from);
bg_status bg__compile_compare(const bg_tensor *tensor, const void *expected, const bg__call *call, const char *text,
                              bgk_difference *difference, cudaStream_t stream);
void bg__compile_describe(const bg_tensor *tensor, const bgk_difference *difference, char *text, size_t bytes);
void bg__compile_report_fusions(const bg_graph *graph);

#endif
