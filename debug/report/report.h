/* Functions by which tools make reports. */
#ifndef BG_DEBUG_REPORT_H
#define BG_DEBUG_REPORT_H

#include <breakgraph/report.h>
#include <cjson/cJSON.h>
#include <stdio.h>

#include "graph/inspect.h"

enum { BG__REPORT_VERSION = 2 }; /* version of the JSON; a reader refuses other versions */

/* Creates an empty report of that tool ("check") on that graph; both names are copied. */
bg_status bg__report_create(bg_report **report, const char *tool, const char *graph);

/* Changes the name of the graph. Errors: OUT_OF_MEMORY. */
bg_status bg__report_set_graph(bg_report *report, const char *graph);

/* Sets a function that may change the message of each finding before the finding is added. The message is in a buffer
 * of `bytes` bytes. */
void bg__report_set_message_editor(void (*edit)(char *message, size_t bytes));

/* Adds a finding. `call` may be NULL. `kind` and `advice` are copied, and the message is printed from `format`. The
 * same finding (kind, call, address, message) is added once. Findings that are lost when out of host memory are
 * counted. */
void bg__report_add(bg_report *report, const char *kind, bg_severity severity, const bg__call *call,
                    const void *address, const char *advice, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

/* Calls that share a finding, each once. Starts zeroed. */
typedef struct bg__finding_calls {
    const bg__call **calls;
    size_t count, capacity;
} bg__finding_calls;
/* Adds `call` unless `about` has it. Errors: OUT_OF_MEMORY. */
bg_status bg__finding_calls_add(bg__finding_calls *about, const bg__call *call);
void bg__finding_calls_free(bg__finding_calls *about);
/* Adds a finding on the first of the calls in `about`. The finding also names the other calls. */
void bg__report_add_for_calls(bg_report *report, const char *kind, bg_severity severity, const bg__finding_calls *about,
                              const void *address, const char *advice, const char *format, ...)
    __attribute__((format(printf, 7, 8)));
/* Whether the finding is on that call, alone or among others. Returns false if `call` is "". */
bool bg__finding_has_call(const bg_finding *finding, const char *call);

/* Whether the report has a finding of that kind on that call. */
bool bg__report_has_finding(const bg_report *report, const char *kind, const char *call);

/* Parts of a report besides its findings, as in its JSON (docs/report-format.md). `part` returns the list of that name
 * ("comparisons", "trials"), and creates it if needed; NULL: out of host memory. set_outline takes ownership of
 * `outline`, and fails if it is NULL. */
cJSON *bg__report_part(bg_report *report, const char *name);
bg_status bg__report_set_outline(bg_report *report, cJSON *outline);

/* Prints all findings, wrapped at the width of the terminal, or at 120 columns if out is not a terminal. */
void bg__report_print(const bg_report *report, FILE *out);
/* Prints the first `most` findings, and the number of the others. */
void bg__report_print_first(const bg_report *report, int most, FILE *out);
/* Prints the findings that were added since the last call. Returns false if there are none. */
bool bg__report_print_new(bg_report *report, FILE *out);

#endif
