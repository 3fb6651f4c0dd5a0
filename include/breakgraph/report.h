/* What a debugging tool found: a list of findings, as text, as JSON, or one by one.
 *
 * The kinds of findings are stable; docs/findings.md lists them.
 *
 * Threads: a report serves one thread at a time. */
#ifndef BREAKGRAPH_REPORT_H
#define BREAKGRAPH_REPORT_H

#include <breakgraph/status.h>

BG_BEGIN_C_

typedef struct bg_report bg_report;

/* NOTE: worth knowing, nothing is wrong. WARNING: likely wrong. FAULT: wrong. */
typedef enum bg_severity { BG_NOTE, BG_WARNING, BG_FAULT } bg_severity;

typedef struct bg_finding {
    size_t struct_size; /* set by BG_FINDING_INIT */
    const char *kind;   /* "freed", "unstable-pointer", ...; docs/findings.md */
    bg_severity severity;
    const char *call; /* the op call, "rope#3"; "" where none is known */
    const char *file; /* of the call; "" where unknown */
    int line;
    const void *address; /* that it is about; NULL: none */
    const char *message; /* a sentence: what, where */
    const char *advice;  /* a sentence: what to do */
} bg_finding;

#define BG_FINDING_INIT                                                                                                \
    {                                                                                                                  \
        sizeof(bg_finding), NULL, BG_NOTE, NULL, NULL, 0, NULL, NULL, NULL                                             \
    }

typedef enum bg_format { BG_TEXT, BG_JSON, BG_HTML } bg_format;

/* How many findings there are; 0 for NULL. */
BG_API int bg_report_count(const bg_report *report);

/* The index-th finding, faults first, else in the order in which they were found. The strings live as long as the
 * report. NOT_FOUND beyond. */
BG_API bg_status bg_report_get(const bg_report *report, int index, bg_finding *finding);

/* Writes the whole report to a file, or to standard output for "-". BG_HTML is one page that needs nothing else: the
 * pass as segments, breaks and streams, the findings on it, a table of the compared calls, a bisect's trials. A file is
 * written whole or not at all. Errors: INVALID_ARGUMENT, IO, OUT_OF_MEMORY. */
BG_API bg_status bg_report_write(const bg_report *report, bg_format format, const char *path);

/* Reads what bg_report_write wrote as BG_JSON; *report is the caller's. Errors: INVALID_ARGUMENT, IO (path cannot be
 * read, or holds no report), UNSUPPORTED (it is of another version), OUT_OF_MEMORY. */
BG_API bg_status bg_report_read(bg_report **report, const char *path);

/* Adds what from holds to report: findings that it does not have yet, and what the pages show beside them. The outline
 * of the pass is report's own, where it has one. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. */
BG_API bg_status bg_report_merge(bg_report *report, const bg_report *from);

/* NULL is fine. */
BG_API void bg_report_destroy(bg_report *report);

BG_END_C_

#endif
