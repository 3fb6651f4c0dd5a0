/* What a report holds, for the files that read it, merge it, and make pages of it. */
#ifndef BG_DEBUG_REPORT_DATA_H
#define BG_DEBUG_REPORT_DATA_H

#include "report.h"

typedef struct bg__report_entry {
    struct bg__report_entry *next;
    bg_finding finding; /* its strings lie behind it */
} bg__report_entry;

struct bg_report {
    char *tool, *graph;
    bg__report_entry *first, *last;
    int count;
    int lost;             /* findings that there was no memory for */
    cJSON *parts;         /* of the JSON, beside the findings; NULL: none */
    unsigned long number; /* of its file in BG_REPORT, from 1; 0: it has none yet */
};

/* NOTE, WARNING, FAULT; NULL ends them. */
extern const char *const bg__severity_names[];

/* Adds a copy of finding, of which no string is NULL, unless the report has it. */
void bg__report_put(bg_report *report, const bg_finding *finding);

/* The JSON text, indented or not, to be freed by cJSON_free. */
bg_status bg__report_json(const bg_report *report, bool indented, char **text);

/* The page of BG_HTML. Errors: IO, OUT_OF_MEMORY. */
bg_status bg__report_page(const bg_report *report, FILE *out);

#endif
