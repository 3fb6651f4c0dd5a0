/* The connections of this rank. Rank 0 has two to each other rank, the others two to rank 0: one for operations, one
 * for the watchdog's thread. The first failure on any rank is fatal on all ranks. */
#ifndef BG_COMM_LINK_H
#define BG_COMM_LINK_H

#include "comm/comm_job.h"
#include "comm/rank_places.h"
#include "comm/wire.h"

#include <pthread.h>

enum { BG__FAILURE_TEXT_MAX = 1000 }; /* what bg_last_error() holds, with a short prefix */

typedef struct bg__failure {
    bg_status status;
    unsigned char loud; /* 1: each rank prints it to standard error */
    char text[BG__FAILURE_TEXT_MAX];
} bg__failure;

typedef struct bg__peer {
    int work, watch;   /* -1: none */
    uint64_t instance; /* identifies its process: both connections must have the same */
    bool left, ended;  /* it has sent BYE; its connection is closed. Guarded by lock */
    bg__reader from_work, from_watch;
    /* for the watchdog's thread, on rank 0 */
    bool answered, stuck;
    char place[BG__PLACE_MAX], why[BG__WHAT_MAX]; /* where it is; why it is stuck */
} bg__peer;

typedef struct bg__link {
    int rank, size;
    double timeout_ms;
    uint64_t sequence;
    bg__peer *peers;          /* by rank; this rank's own is empty. Ranks other than 0 use only rank 0's */
    void (*idle)(void *user); /* called now and then while an operation waits; may be NULL */
    void *idle_user;
    int failed_event; /* readable once there is a failure */
    int wake_event;   /* readable when the watchdog's thread must wake */
    pthread_mutex_t sending;
    pthread_mutex_t lock; /* guards the members below */
    bool failed;
    bg__failure failure;
    double failed_ms;
    char at[BG__WHAT_MAX]; /* this rank's last operation */
    bool waiting;          /* that operation has not returned */
    double waiting_ms;     /* when that operation began */
    bool stuck;            /* that operation takes too long */
    bool stop;             /* the watchdog's thread is to end */
} bg__link;

bg_status bg__link_init(bg__link *link, const bg__job *job);
void bg__link_free(bg__link *link);

/* Connects to the other ranks (join.c). */
bg_status bg__link_join(bg__link *link, const bg__job *job);

/* The number of peers to which this rank may be connected: on rank 0 all, on the others only rank 0. */
int bg__link_peer_count(const bg__link *link);

/* Reads the failure in a FAILED frame; false: the frame is of another type, or malformed. */
bool bg__failure_parse(const bg__frame *frame, bg__failure *failure);

/* Sets the failure, unless there is one, and sends it to the connected ranks. */
void bg__link_fail(bg__link *link, const bg__failure *failure);
void bg__link_fail_text(bg__link *link, bg_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns BG_OK or the failure, with bg_last_error() set. */
bg_status bg__link_check(bg__link *link);
bool bg__link_failed(bg__link *link);
/* Waits until that time for a failure, which the watchdog's thread may receive. */
bool bg__link_await_failure(bg__link *link, double until_ms);

/* Sends a frame to the watchdog's thread of a rank. */
void bg__link_send(bg__link *link, int rank, const bg__frame *frame);
void bg__link_send_bye(bg__link *link);
void bg__link_wake_watchdog(bg__link *link);

#endif
