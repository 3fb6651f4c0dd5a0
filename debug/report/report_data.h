/* The report struct, for the files that read, merge and write reports. */
#ifndef BG_DEBUG_REPORT_DATA_H
#define BG_DEBUG_REPORT_DATA_H

#include <breakgraph/report.h>
#include <cjson/cJSON.h>
#include <stdio.h>

#include "debug/files/files.h"

/* The findings of one severity, in the order in which they were added. Each finding is one allocation with its strings.
 * The member `graph` of a finding is NULL if it is the graph of the report. */
typedef struct bg__report_findings {
    bg_finding **list;
    size_t count, capacity;
    size_t printed; /* number that bg__report_print_new has printed */
} bg__report_findings;

struct bg_report {
    char *tool, *graph;
    bg__report_findings of[BG_FAULT + 1];
    void *known; /* a tree of all findings (tsearch), since a report may have very many */
    int count;
    int lost;             /* findings that were lost when out of host memory */
    cJSON *parts;         /* parts of the JSON besides the findings; NULL: none */
    unsigned long number; /* number of its file in BG_REPORT, from 1; 0: none yet */
};

/* The names of NOTE, WARNING and FAULT; NULL ends them. */
extern const char *const bg__severity_names[];

/* Returns the finding of that index, faults first; NULL: there is none. */
const bg_finding *bg__report_finding_at(const bg_report *report, int index);

/* Adds a copy of `finding` unless the report has it. Of the strings of `finding`, only `graph` may be NULL. */
void bg__report_add_finding(bg_report *report, const bg_finding *finding);

/* Makes the JSON text, indented or not. The caller frees it with cJSON_free. */
bg_status bg__report_json_text(const bg_report *report, bool indented, char **text);
/* Makes the report as a cJSON object. The object refers to the parts of the report, so delete it before the report.
 * After an error, *root is NULL. Errors: OUT_OF_MEMORY. */
bg_status bg__report_to_json(const bg_report *report, cJSON **root);

/* As bg_report_write. name: where the name of the file comes from. */
bg_status bg__report_write(const bg_report *report, bg_format format, const char *path, bg__file_origin name);

/* Writes the page of BG_HTML. Errors: IO, OUT_OF_MEMORY. */
bg_status bg__report_write_page(const bg_report *report, FILE *out);

#endif
