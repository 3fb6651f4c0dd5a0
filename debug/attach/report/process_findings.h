/* Findings that belong to no graph of the program. */
#ifndef BG_ATTACH_PROCESS_FINDINGS_H
#define BG_ATTACH_PROCESS_FINDINGS_H

#include "graph/inspect.h"
#include "debug/attach/stacks/stacks.h"
#include "debug/report/report.h"

/* Prints a finding and writes it for the command, once for each kind, subject and place. call: what the place calls;
 * NULL: the message says it. */
void bg__attach_report_once(const char *kind, bg_severity severity, const char *subject, const char *call,
                            const bg__stack *at, const char *advice, const char *message);
void bg__attach_report_once_at(const char *kind, bg_severity severity, const char *subject, const char *call,
                               bg_site site, const char *advice, const char *message);
/* Prints and writes a finding about a node, each time. */
void bg__attach_report_call(const char *kind, bg_severity severity, const bg__call *place, const char *advice,
                            const char *message);

#endif
