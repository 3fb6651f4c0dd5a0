/* The report struct, for the files that read, merge and write reports. */
#ifndef BG_DEBUG_REPORT_DATA_H
#define BG_DEBUG_REPORT_DATA_H

#include <breakgraph/report.h>
#include <cjson/cJSON.h>
#include <stdio.h>

#include "debug/files/files.h"

/* The findings of one severity, in the order in which they were added. Each is one allocation with its strings. Their
 * graph is NULL where it is the report's own. */
typedef struct bg__report_findings {
    bg_finding **list;
    size_t count, capacity;
    size_t printed; /* by bg__report_print_new */
} bg__report_findings;

struct bg_report {
    char *tool, *graph;
    bg__report_findings of[BG_FAULT + 1];
    void *known; /* all findings, as a tree (tsearch): a report may have very many */
    int count;
    int lost;             /* findings that were not added, out of host memory */
    cJSON *parts;         /* of the JSON, besides the findings; NULL: none */
    unsigned long number; /* of its file in BG_REPORT, from 1; 0: it has none yet */
};

/* NOTE, WARNING, FAULT; NULL ends them. */
extern const char *const bg__severity_names[];

/* The finding of that index, faults first; NULL: there is none. */
const bg_finding *bg__report_find(const bg_report *report, int index);

/* Adds a copy of finding, of which no string but graph is NULL, unless the report has it. */
void bg__report_put(bg_report *report, const bg_finding *finding);

/* The JSON text, indented or not, to be freed by cJSON_free. */
bg_status bg__report_json(const bg_report *report, bool indented, char **text);
/* The report as JSON, to be deleted before the report, whose parts it refers to. Errors, with *root NULL:
 * OUT_OF_MEMORY. */
bg_status bg__report_root(const bg_report *report, cJSON **root);

/* As bg_report_write, with the origin of the file's name. */
bg_status bg__report_write(const bg_report *report, bg_format format, const char *path, bg__file_name name);

/* The page of BG_HTML. Errors: IO, OUT_OF_MEMORY. */
bg_status bg__report_page(const bg_report *report, FILE *out);

#endif
