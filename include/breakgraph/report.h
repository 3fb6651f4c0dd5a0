/* Reports: what a debugging tool found, as a list of findings that can be read one by one, or written as text, JSON or
 * HTML.
 * The kinds of findings are stable; docs/findings.md lists them.
 * Threads: a report serves one thread at a time. */
#ifndef BREAKGRAPH_REPORT_H
#define BREAKGRAPH_REPORT_H

#include <breakgraph/status.h>

BG_BEGIN_C_

/* A list of findings, and the other data of the report's page. */
typedef struct bg_report bg_report;

/* How serious a finding is.
 *   NOTE:    information; nothing is wrong
 *   WARNING: probably wrong
 *   FAULT:   wrong */
typedef enum bg_severity { BG_NOTE, BG_WARNING, BG_FAULT } bg_severity;

/* One finding. */
typedef struct bg_finding {
    size_t struct_size; /* set by BG_FINDING_INIT */
    const char *kind;   /* "freed", "unstable-pointer", ...; see docs/findings.md */
    bg_severity severity;
    const char *call; /* the op call, "rope#3"; "" where unknown */
    const char *file; /* of the call; "" where unknown */
    int line;
    const void *address; /* the address that the finding is about; NULL: none */
    const char *message; /* one sentence: what, where */
    const char *advice;  /* one sentence: what to do */
    const char *others;  /* the other calls of a finding about several calls, separated by ", "; "": none */
    const char *graph;   /* the graph that the finding is about (a merged report has several); "": none */
} bg_finding;

#define BG_FINDING_INIT                                                                                                \
    {                                                                                                                  \
        sizeof(bg_finding), NULL, BG_NOTE, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL                                 \
    }

/* The forms in which a report is written. BG_HTML is one page that needs no other file. For each graph it has the
 * pass as segments, breaks and streams, its findings, a list of its calls, the compared calls and the times. */
typedef enum bg_format { BG_TEXT, BG_JSON, BG_HTML } bg_format;

/* Returns the number of findings; 0 for NULL. */
BG_API int bg_report_count(const bg_report *report);

/* Copies the index-th finding to *finding: faults first, otherwise in the order in which they were found. The strings
 * are valid as long as the report.
 * Errors: INVALID_ARGUMENT (a NULL, bad struct_size), NOT_FOUND (no such index). */
BG_API bg_status bg_report_get(const bg_report *report, int index, bg_finding *finding);

/* Writes the whole report to a file, or to standard output for "-". A file is written whole or not at all.
 * Errors: INVALID_ARGUMENT, IO, OUT_OF_MEMORY. */
BG_API bg_status bg_report_write(const bg_report *report, bg_format format, const char *path);

/* Reads a report that bg_report_write wrote as BG_JSON. The caller owns *report.
 * Errors: INVALID_ARGUMENT, IO (path cannot be read, or contains no report), UNSUPPORTED (a report of another
 * version), OUT_OF_MEMORY. */
BG_API bg_status bg_report_read(bg_report **report, const char *path);

/* Copies from `from` into `report` every finding that `report` lacks, and the other data of its page. Data of different
 * graphs stay separate, by the graph's name. Two graphs of one name whose outlines differ are two graphs: the second is
 * renamed, "decode (2)". Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
BG_API bg_status bg_report_merge(bg_report *report, const bg_report *from);

/* Adds schedules to each runner of the report, chosen for the batches that it has run: for several numbers of sizes,
 * the sizes with the fewest padding rows, their padding and memory, and which schedule is recommended. The text and the
 * JSON have them from then on. cover: percent of the batches that are to run by a graph, above 0, up to 100; the
 * largest batches are left to run eagerly. A runner without such batches, or whose data is malformed, gets none; "why"
 * in the JSON says so. Errors: INVALID_ARGUMENT, NOT_FOUND (the report has no runner), OUT_OF_MEMORY. */
BG_API bg_status bg_report_propose_schedules(bg_report *report, double cover);

/* Destroys the report. NULL does nothing. */
BG_API void bg_report_destroy(bg_report *report);

BG_END_C_

#endif
