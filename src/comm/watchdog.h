/* The thread beside each rank: it receives failures and notices ranks that leave, reports where this rank is, finds
 * replays and operations that take too long, and ends device work after a failure.
 *
 * A rank that is stuck reports that to rank 0, and reports when it moves again. Rank 0 asks all ranks where they are
 * and, if some rank is still stuck, fails the job: all ranks then have the same failure. Another rank fails the job if
 * rank 0 does not. */
#ifndef BG_COMM_WATCHDOG_H
#define BG_COMM_WATCHDOG_H

#include "comm/link.h"
#include "comm/replay_tracker.h"

typedef struct bg__watchdog {
    bg__link *link;
    bg__replay_tracker *track;
    int device;
    double limit_ms;           /* for a replay without progress; below 0: none */
    void (*abort)(void *user); /* ends collectives in flight; once */
    void *user;
    pthread_t thread;
    bool running;
    /* for the thread alone */
    struct pollfd *fds;     /* of the ranks, and the event that wakes the thread */
    bg__rank_place *places; /* by rank */
    bool stuck;             /* this rank is stuck; `why` says why */
    char why[BG__WHAT_MAX];
    bool asked;         /* rank 0: it has asked all ranks where they are */
    const char *reason; /* why rank 0 has asked: the `why` of a stuck rank */
    uint64_t question;
    double until_ms;    /* when rank 0 must have decided, or else this rank does */
    double answered_ms; /* when the last answer came */
    bool given_up;
} bg__watchdog;

bg_status bg__watchdog_start(bg__watchdog *watchdog);
/* Stops the thread, if there is one, waits for it, and frees the watchdog's memory. */
void bg__watchdog_stop(bg__watchdog *watchdog);
/* Frees the watchdog's memory; without a thread, that is all there is to do. */
void bg__watchdog_free(bg__watchdog *watchdog);

#endif
