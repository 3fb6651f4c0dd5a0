/* Which host functions of graphs run, which captures are open, and what hangs, in a file that the command reads when
 * the process has ended in one. */
#ifndef BG_DEBUG_RUNNING_H
#define BG_DEBUG_RUNNING_H

/* The file is DIR/running-PID of BG_REPORT: places of BG__RUNNING_BYTES, each empty, or with an object of JSON and a 0
 * behind it. */
enum { BG__RUNNING_PLACES = 64, BG__RUNNING_BYTES = 2048 };

/* Makes the file. Without it, as where BG_REPORT is not set, nothing is noted. */
void bg__running_begin(void);
/* It begins: row is an object of JSON without its last brace; count is how often a function ran before, or how much
 * has been captured so far.
 * Returns its place; -1: none is free. Takes no lock. */
int bg__running_enter(const char *row, unsigned long count);
void bg__running_leave(int place);

#endif
