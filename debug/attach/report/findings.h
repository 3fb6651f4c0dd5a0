/* Findings that are about no graph of the program's. */
#ifndef BG_ATTACH_FINDINGS_H
#define BG_ATTACH_FINDINGS_H

#include "graph/inspect.h"
#include "debug/attach/stacks/stacks.h"
#include "debug/report/report.h"

/* Prints it, and writes it for the command, once for each kind, subject and place. call: what the place called; NULL:
 * that is in the message. */
void bg__attach_report(const char *kind, bg_severity severity, const char *subject, const char *call,
                       const bg__stack *at, const char *advice, const char *message);
void bg__attach_report_site(const char *kind, bg_severity severity, const char *subject, const char *call, bg_site site,
                            const char *advice, const char *message);
/* The same about a node, each time. */
void bg__attach_report_at(const char *kind, bg_severity severity, const bg__call *place, const char *advice,
                          const char *message);

#endif
