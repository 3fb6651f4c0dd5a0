/* Findings of checks: they are printed at once, and the program gets them on request. */
#ifndef BG_ATTACH_REPORT_LIST_H
#define BG_ATTACH_REPORT_LIST_H

#include "debug/report/report.h"

/* Reads BG_ATTACH_FATAL. Errors: INVALID_ARGUMENT. */
bg_status bg__report_list_begin(void);

/* Prints and writes the report if it has more than *told findings, and sets *told to their number. With
 * BG_ATTACH_FATAL, a fault among them aborts the process. */
void bg__report_publish_new(bg_report *report, int *told);

/* The reports that the program gets on request. */
typedef struct bg__report_list {
    bg_report **reports; /* with findings; one for each graph */
    size_t count, capacity;
    int graphs, not_checked;
} bg__report_list;

/* Takes ownership of the report of a destroyed graph. The program gets it on its next request if it has more than
 * `asked` findings. NULL does nothing. */
void bg__report_queue(bg_report *report, int asked);
/* Moves the reports of destroyed graphs to `found`. Errors: OUT_OF_MEMORY. */
bg_status bg__report_list_add_queued(bg__report_list *found);

/* Takes ownership of report, even on failure. Errors: OUT_OF_MEMORY. */
bg_status bg__report_list_add(bg__report_list *found, bg_report *report);
/* Returns the number of warnings and faults. */
int bg__report_list_count(const bg__report_list *found);
/* Returns the text of bg_attach_check. The caller frees it. Errors: OUT_OF_MEMORY. */
bg_status bg__report_list_format(const bg__report_list *found, bg_format format, char **text);
void bg__report_list_free(bg__report_list *found);

#endif
