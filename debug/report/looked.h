/* What the checks of BG_CHECK have looked at in this process, and what not, for its report. */
#ifndef BG_DEBUG_LOOKED_H
#define BG_DEBUG_LOOKED_H

#include <stddef.h>
#include <stdio.h>

/* The check has looked at one graph with so many op calls and nodes. The caller keeps other threads away, also in the
 * next three. Out of host memory it is not counted. */
void bg__looked_add(const char *check, size_t calls, size_t nodes);
/* A replay was stepped: so many nodes, calls, elements of type float, segments that ran as a whole, nodes that were
 * skipped. */
enum { BG__STEP_COUNTS = 5 };
void bg__looked_add_step(const double counts[BG__STEP_COUNTS]);
/* The check does not look at the graph. why: "its capture launches nothing". */
void bg__looked_not(const char *check, const char *graph, const char *why);
/* Prints the members "checks" and "not_checked" of a process's report, each with a comma before it; nothing where there
 * was no check. */
void bg__looked_print(FILE *out);
/* Forgets all that was counted: in a child that was forked, whose other threads are gone. */
void bg__looked_forget(void);
/* A replay was compared with its capture. Any thread may call this. */
void bg__looked_count_replay(void);

#endif
