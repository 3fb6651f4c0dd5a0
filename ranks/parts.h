/* What a communicator is made of. */
#ifndef BG_RANKS_PARTS_H
#define BG_RANKS_PARTS_H

#include "exchange.h"
#include "watchdog.h"

#include <nccl.h>

struct bg_comm {
    bg__link link;
    bg__track track;
    bg__watchdog watchdog;
    bg_ranks ranks;
    int device;
    int references; /* the program's, and those of graphs. With the link's lock */
    pthread_mutex_t nccl_lock;
    ncclComm_t nccl; /* NULL: not yet, or no more. With the lock */
};

/* NCCL's part (nccl.c). init is done by all ranks together; abort and destroy end what is there, if anything. */
bg_status bg__nccl_init(bg_comm *comm);
void bg__nccl_abort(bg_comm *comm);
void bg__nccl_destroy(bg_comm *comm);
/* ncclSuccess: so far. text may be NULL. */
ncclResult_t bg__nccl_error(bg_comm *comm, char *text, size_t room);

#endif
