/* Finds races: two calls of a segment that access the same bytes without an order between them, if one of the calls
 * writes. */
#ifndef BG_DEBUG_RACES_H
#define BG_DEBUG_RACES_H

#include "debug/report/report.h"

typedef struct bg__race_access {
    const bg__call *call;
    char name[96]; /* name of the tensor */
    bool write;
} bg__race_access;

/* `earlier` was captured before `later`. */
typedef struct bg__race {
    bg__race_access earlier, later;
    uintptr_t begin; /* the bytes that both access */
    size_t bytes;
    const bg__stream_wait
        *wait; /* the later call's stream waited for the earlier call's stream, but too early; NULL: not known */
} bg__race;

/* BG_CHECK_OVERLAP: tensors of one call that overlap (overlap.c), and calls without an order (races.c). */
bg_status bg__check_overlap(bg_graph *graph, bg_report *report);
bg_status bg__check_races(bg_graph *graph, bg_report *report);
/* Calls each() once for every race of the graph. Launches no work. */
bg_status bg__find_races(const bg_graph *graph, void (*each)(void *user, const bg__race *race), void *user);
/* Adds the finding, on the later call. */
void bg__report_race(bg_report *report, bg_severity severity, const bg__race *race);

#endif
