/* Findings of checks: they are printed at once, and the program gets them on request. */
#ifndef BG_ATTACH_FOUND_H
#define BG_ATTACH_FOUND_H

#include "debug/report/report.h"

/* Reads BG_ATTACH_FATAL. INVALID_ARGUMENT. */
bg_status bg__found_begin(void);

/* Prints and writes the report if it has more than *told findings, and sets *told to their number. With
 * BG_ATTACH_FATAL, a fault among them aborts the process. */
void bg__found_tell(bg_report *report, int *told);

/* The reports that the program gets on request. */
typedef struct bg__found {
    bg_report **reports; /* with findings; one for each graph */
    size_t count, capacity;
    int graphs, not_checked;
} bg__found;

/* Takes ownership of the report of a destroyed graph. The program gets it on its next request if it has more than
 * `asked` findings. NULL does nothing. */
void bg__found_leave(bg_report *report, int asked);
/* Moves the reports of destroyed graphs to found. Errors: OUT_OF_MEMORY. */
bg_status bg__found_take_left(bg__found *found);

/* Takes ownership of report, even on failure. Errors: OUT_OF_MEMORY. */
bg_status bg__found_add(bg__found *found, bg_report *report);
/* Returns the number of warnings and faults. */
int bg__found_count(const bg__found *found);
/* Returns the text of bg_attach_check. The caller frees it. Errors: OUT_OF_MEMORY. */
bg_status bg__found_text(const bg__found *found, bg_format format, char **text);
void bg__found_free(bg__found *found);

#endif
