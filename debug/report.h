/* Making reports, for the tools. */
#ifndef BG_DEBUG_REPORT_H
#define BG_DEBUG_REPORT_H

#include <breakgraph/report.h>
#include <stdio.h>

#include "capture/capture.h"

/* An empty report of that tool ("check") on that graph; both names are copied. */
bg_status bg__report_create(bg_report **report, const char *tool, const char *graph);

/* Adds a finding. call may be NULL. kind and advice are copied; the message is printed from format. The same finding
 * (kind, call, address, message) again is not added. A report without memory for a finding says so at its end. */
void bg__report_add(bg_report *report, const char *kind, bg_severity severity, const bg__call *call,
                    const void *address, const char *advice, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

/* All findings as text. */
void bg__report_print(const bg_report *report, FILE *out);

#endif
