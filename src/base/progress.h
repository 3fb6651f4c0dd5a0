/* A progress line on a terminal. */
#ifndef BG_PROGRESS_H
#define BG_PROGRESS_H

#include <stdbool.h>

typedef struct bg__progress {
    const char *what; /* "capture" */
    bool shown;       /* standard error is a terminal */
    bool drawn;       /* the line is on the terminal now */
    int first, done, total;
    double began_ms;
} bg__progress;

/* first: the number of items that were done before, and took no time. */
bg__progress bg__progress_begin(const char *what, int first, int total);
/* Draws the line: the items that are done, text, and the seconds that have passed and are left:
 * "capture [##  ] 2 of 4, TEXT, 3 s, 3 s left". It is cut at the width of the terminal. */
void bg__progress_draw(bg__progress *progress, const char *text);
/* Whether to draw a line that changes very often: it is shown, and no thread has drawn one in the last tenth of a
 * second. */
bool bg__progress_is_due(const bg__progress *progress);
/* Removes the line, for other output. */
void bg__progress_clear(bg__progress *progress);

#endif
