/* Making reports, for the tools. */
#ifndef BG_DEBUG_REPORT_H
#define BG_DEBUG_REPORT_H

#include <breakgraph/report.h>
#include <cjson/cJSON.h>
#include <stdio.h>

#include "capture/inspect.h"

enum { BG__REPORT_VERSION = 2 }; /* of the JSON; a reader refuses others */

/* An empty report of that tool ("check") on that graph; both names are copied. */
bg_status bg__report_create(bg_report **report, const char *tool, const char *graph);

/* Adds a finding. call may be NULL. kind and advice are copied; the message is printed from format. The same finding
 * (kind, call, address, message) again is not added. A report without memory for a finding says so at its end. */
void bg__report_add(bg_report *report, const char *kind, bg_severity severity, const bg__call *call,
                    const void *address, const char *advice, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

/* Whether there is a finding of that kind on that call. */
bool bg__report_has(const bg_report *report, const char *kind, const char *call);

/* What a report holds beside its findings, in the form of its JSON (docs/report-format.md): the list of that name
 * ("comparisons", "trials"), made where it is not there yet; NULL: out of host memory. set_outline takes outline over,
 * which may be NULL for out of host memory. */
cJSON *bg__report_part(bg_report *report, const char *name);
bg_status bg__report_set_outline(bg_report *report, cJSON *outline);

/* All findings as text, in lines as wide as the terminal, or of 120 columns where out is none. */
void bg__report_print(const bg_report *report, FILE *out);

#endif
