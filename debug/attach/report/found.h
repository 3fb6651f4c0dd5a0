/* What checks have found: told to the user at once, and to the program when it asks. */
#ifndef BG_ATTACH_FOUND_H
#define BG_ATTACH_FOUND_H

#include "debug/report/report.h"

/* Reads BG_ATTACH_FATAL. INVALID_ARGUMENT. */
bg_status bg__found_begin(void);

/* Prints and writes the report if it has more than *told findings, and notes their number there. With BG_ATTACH_FATAL a
 * fault among them ends the process. */
void bg__found_tell(bg_report *report, int *told);

/* What the program is given when it asks. */
typedef struct bg__found {
    bg_report **reports; /* with findings; one for each graph */
    size_t count, capacity;
    int graphs, not_checked;
} bg__found;

/* Takes report over, which a graph that is gone has left: the program gets it when it asks next, if report has more
 * than `asked` findings. NULL does nothing. */
void bg__found_leave(bg_report *report, int asked);
/* Gives these to the program. Errors: OUT_OF_MEMORY. */
bg_status bg__found_take_left(bg__found *found);

/* Takes report over, also where it fails. Errors: OUT_OF_MEMORY. */
bg_status bg__found_add(bg__found *found, bg_report *report);
/* Warnings and faults. */
int bg__found_count(const bg__found *found);
/* As bg_attach_check gives it. The caller frees it. Errors: OUT_OF_MEMORY. */
bg_status bg__found_text(const bg__found *found, bg_format format, char **text);
void bg__found_free(bg__found *found);

#endif
