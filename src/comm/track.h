/* Where this rank's replays are: the steps that were queued and, by events after them, those that the device has done.
 */
#ifndef BG_COMM_TRACK_H
#define BG_COMM_TRACK_H

#include "base/base.h"

#include <pthread.h>

enum { BG__SPOTS = 128, BG__GRAPH_MAX = 64, BG__STEP_MAX = 96 };

typedef struct bg__spot {
    cudaEvent_t event;
    char graph[BG__GRAPH_MAX], text[BG__STEP_MAX];
    uint64_t replay;
    int step, steps;
} bg__spot;

typedef struct bg__track {
    pthread_mutex_t lock; /* guards all members below */
    bg__spot spots[BG__SPOTS];
    int first, count; /* a ring: the steps that are queued and not known to be done */
    bg__spot now;     /* the step being queued; it has no event */
    bg__spot done;    /* the last step that was done; steps is 0: none was */
    bg__spot outer;   /* now of the outer replay, while a nested one is queued */
    int depth;        /* the number of nested replays being queued: an eager call may replay, too */
    bool any;         /* there has been a replay */
    double moved_ms;
} bg__track;

/* Creates the events, on the current device. */
bg_status bg__track_init(bg__track *track);
void bg__track_free(bg__track *track);

void bg__track_enter(bg__track *track, const char *graph, uint64_t replay, int steps);
bg_status bg__track_step(bg__track *track, int step, const char *text, cudaStream_t stream);
void bg__track_leave(bg__track *track);

/* Whether a replay is being queued now, and an op may be in a call of NCCL's. */
bool bg__track_is_queueing(bg__track *track);
/* Queries the events: whether work is in flight, and for how long no step has finished. */
bool bg__track_look(bg__track *track, double *still_ms);
void bg__track_describe(bg__track *track, char *text, size_t room);

#endif
