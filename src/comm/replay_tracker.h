/* Where this rank's replays are: which steps were queued, and which the device has done. An event after each step shows
 * the latter. */
#ifndef BG_COMM_REPLAY_TRACKER_H
#define BG_COMM_REPLAY_TRACKER_H

#include "base/base.h"

#include <pthread.h>

enum { BG__TRACKED_STEPS = 128, BG__GRAPH_MAX = 64, BG__STEP_MAX = 96 };

typedef struct bg__tracked_step {
    cudaEvent_t event;
    char graph[BG__GRAPH_MAX], text[BG__STEP_MAX];
    uint64_t replay;
    int step, steps;
} bg__tracked_step;

typedef struct bg__replay_tracker {
    pthread_mutex_t lock; /* guards all members below */
    bg__tracked_step spots[BG__TRACKED_STEPS];
    int first, count;       /* a ring: the steps that are queued and not known to be done */
    bg__tracked_step now;   /* the step being queued; it has no event */
    bg__tracked_step done;  /* the last step that was done; `steps` 0: no step was done */
    bg__tracked_step outer; /* `now` of the outer replay, while a nested one is queued */
    int depth;              /* the number of nested replays being queued: an eager call may replay, too */
    bool any;               /* there has been a replay */
    double moved_ms;
} bg__replay_tracker;

/* Creates the events, on the current device. */
bg_status bg__replay_tracker_init(bg__replay_tracker *track);
void bg__replay_tracker_free(bg__replay_tracker *track);

void bg__replay_tracker_begin(bg__replay_tracker *track, const char *graph, uint64_t replay, int steps);
bg_status bg__replay_tracker_step(bg__replay_tracker *track, int step, const char *text, cudaStream_t stream);
void bg__replay_tracker_end(bg__replay_tracker *track);

/* Whether a replay is being queued now, and an op may be in a call of NCCL's. */
bool bg__replay_tracker_is_queueing(bg__replay_tracker *track);
/* Queries the events: whether work is in flight, and for how long no step has finished. */
bool bg__replay_tracker_query(bg__replay_tracker *track, double *still_ms);
void bg__replay_tracker_describe(bg__replay_tracker *track, char *text, size_t room);

#endif
