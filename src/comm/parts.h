/* The struct of a communicator, and the functions of its parts (NCCL, fork). */
#ifndef BG_COMM_PARTS_H
#define BG_COMM_PARTS_H

#include "comm/exchange.h"
#include "comm/watchdog.h"

#include <nccl.h>

struct bg_comm {
    bg__link link;
    bg__replay_tracker track;
    bg__watchdog watchdog;
    bg_ranks ranks;
    int device;
    unsigned forks; /* the number of forks when it was made */
    int references; /* the program's, and those of graphs. Guarded by link.lock */
    pthread_mutex_t nccl_lock;
    ncclComm_t nccl; /* NULL: before init, or after release. Guarded by nccl_lock */
};

/* NCCL's communicator (nccl.c). All ranks call `init` together; `abort` and `destroy` do nothing if there is none. */
bg_status bg__nccl_init(bg_comm *comm);
void bg__nccl_abort(bg_comm *comm);
void bg__nccl_destroy(bg_comm *comm);
/* The asynchronous error of NCCL's communicator. text may be NULL. */
ncclResult_t bg__nccl_error(bg_comm *comm, char *text, size_t room);

/* In a child after fork() each call fails before it takes a lock (comm_fork.c); only bg__comm_release_forked is
 * allowed. */
bg_status bg__comm_init_fork_check(bg_comm *comm);
bool bg__comm_is_forked(const bg_comm *comm);
bg_status bg__comm_fail_forked(const bg_comm *comm, const char *call);
void bg__comm_release_forked(bg_comm *comm);
#define BG__NEED_NOT_FORKED(comm)                                                                                      \
    do {                                                                                                               \
        if (bg__comm_is_forked(comm))                                                                                  \
            return bg__comm_fail_forked(comm, __func__);                                                               \
    } while (0)

#endif
