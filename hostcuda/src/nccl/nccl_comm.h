/* NCCL's communicators, and what they have to do. Where the toolkit has no nccl.h, the host device has no NCCL. */
#ifndef HOSTCUDA_NCCL_COMM_H
#define HOSTCUDA_NCCL_COMM_H

#include "hostcuda/src/core/core_state.h"
#include "hostcuda/src/nccl/nccl_arena.h"

#if __has_include(<nccl.h>)
#define HC_HAVE_NCCL 1
#pragma GCC visibility push(default)
#include <nccl.h>
#pragma GCC visibility pop

enum hc_comm_life { HC_COMM_OPEN, HC_COMM_FINALIZED, HC_COMM_DESTROYED, HC_COMM_ABORTED };

/* One rank. Guarded by the lock, except what its running batch needs, which only the thread that runs it touches. */
struct ncclComm {
    struct ncclComm *next; /* all of this process */
    unsigned references;   /* the program's, and those of batches */
    struct hc_arena *arena;
    int rank, ranks, device;
    bool blocking;       /* calls wait for the other ranks */
    int life;            /* enum hc_comm_life; atomic: a running batch looks at it */
    const void *running; /* the batch that has begun and is not done; compared only */
    /* In captures: its own event, NULL until the first, and its last node in that one, which the next follows. */
    cudaEvent_t event;
    uint64_t capture_id;
    cudaGraphNode_t last_node;
    /* Waiting, in nanoseconds: when it last said that it waits, how long it has waited since something moved, when it
     * last made sure that processes are alive. */
    uint64_t polled, waited, looked;
    uint64_t ended; /* ranks whose processes have ended, a bit each */
    bool told;      /* that it has waited long */
};

bool hc_comm_is(ncclComm_t comm);
/* Takes over the arena's reference, unless there is no memory; then it is NULL. */
struct ncclComm *hc_comm_make(struct hc_arena *arena, int rank, int device);
/* The program's handle ends, and its reference; the other ranks see it go. */
void hc_comm_retire(struct ncclComm *comm, enum hc_comm_life life);
void hc_comm_release(struct ncclComm *comm);
/* Before work is issued: no earlier failure, and all ranks there. */
ncclResult_t hc_comm_check(ncclComm_t comm);
/* Two ranks of one process on one device cannot run at once on a GPU, and NCCL refuses them. Each process has devices
 * of its own here. */
ncclResult_t hc_comm_check_devices(const struct ncclComm *comm);
/* Until all ranks are there; the lock is released meanwhile. */
ncclResult_t hc_comm_wait(struct ncclComm *comm);
ncclResult_t hc_comm_state(const struct ncclComm *comm); /* ncclInProgress: ranks are missing */

/* Ends what the ranks do together, with this sentence on all of them, or with an earlier one. */
void hc_comm_fail(struct ncclComm *comm, ncclResult_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool hc_comm_failed(const struct ncclComm *comm);

/* Waiting: to be called again and again, with the lock. It fails the communicator when it takes too long, and says who
 * is awaited; `in` is the call. False: too soon after the last time to look at more. */
bool hc_comm_waits(struct ncclComm *comm, uint64_t on, const char *in);
void hc_comm_moved(struct ncclComm *comm);
/* The first of these ranks that will do nothing any more, and why; -1: none. */
int hc_comm_gone(const struct ncclComm *comm, uint64_t on, const char **why);

/* Keeps a sentence for ncclGetLastError and gives the code. */
ncclResult_t hc_nccl_error(ncclResult_t code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* That sentence. */
const char *hc_nccl_last_error(void);
/* The beginning of a call: takes the lock, whatever it returns. */
ncclResult_t hc_nccl_begin(const char *call);

/* Groups: errors, and the communicators that are being made, are kept until the group ends. */
bool hc_nccl_in_group(void);
ncclResult_t hc_nccl_group_error(ncclResult_t code);
ncclResult_t hc_nccl_group_joins(ncclComm_t *slot, struct ncclComm *comm);
#endif

#endif
