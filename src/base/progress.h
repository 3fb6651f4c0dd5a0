/* A line on a terminal that shows how much of something long is done. */
#ifndef BG_PROGRESS_H
#define BG_PROGRESS_H

#include <stdbool.h>

typedef struct bg__progress {
    const char *what; /* "capture" */
    bool shown;       /* standard error is a terminal */
    bool drawn;       /* the line is there now */
    int first, done, total;
    double began_ms;
} bg__progress;

/* first: what was done before, which took no time. */
bg__progress bg__progress_begin(const char *what, int first, int total);
/* Draws the line with what is done, text behind it, and the seconds that have passed and are left:
 * "capture [##  ] 2 of 4, TEXT, 3 s, 3 s left". It is cut at the width of the terminal. */
void bg__progress_draw(bg__progress *progress, const char *text);
/* Whether a line that changes very often should be drawn: it is shown, and none was drawn in the last tenth of a
 * second, by any thread. */
bool bg__progress_is_due(const bg__progress *progress);
/* Removes the line, for other output. */
void bg__progress_clear(bg__progress *progress);

#endif
