/* NCCL's communicators and their work. Without the toolkit's nccl.h, the host device has no NCCL. */
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

/* A communicator of one rank. The lock guards it, except for members that a running batch needs: only the batch's
 * thread uses these. */
struct ncclComm {
    struct ncclComm *next; /* list of all communicators of this process */
    unsigned references;   /* the program's reference and those of batches */
    struct hc_arena *arena;
    int rank, ranks, device;
    bool blocking;       /* calls wait for the other ranks */
    int life;            /* an enum hc_comm_life; atomic, since a running batch reads it */
    const void *running; /* the batch that has begun and is not done; only compared */
    /* For captures: the event (NULL before the first capture), the id of the last capture that has work of the
     * communicator, and the communicator's last node in it. The next kernel depends on that node. */
    cudaEvent_t event;
    uint64_t capture_id;
    cudaGraphNode_t last_node;
    /* For waits, in nanoseconds: the time of the last poll, how long the communicator has waited since the last move,
     * and the time of the last check of the ranks' processes. */
    uint64_t polled, waited, looked;
    uint64_t ended; /* ranks whose processes have ended, one bit each */
    bool told;      /* the warning about a long wait was printed */
};

bool hc_comm_is_handle(ncclComm_t comm);
/* Takes over the arena's reference. Returns NULL, and does not take it over, if there is no memory. */
struct ncclComm *hc_comm_make(struct hc_arena *arena, int rank, int device);
/* Ends the program's handle and its reference; the other ranks see that the rank has left. */
void hc_comm_end(struct ncclComm *comm, enum hc_comm_life life);
void hc_comm_release(struct ncclComm *comm);
/* Checks, before work is issued, that nothing has failed and all ranks have joined. */
ncclResult_t hc_comm_check_ready(ncclComm_t comm);
/* Two ranks of one process on one device cannot run at the same time on a GPU, and NCCL refuses them. Here, each
 * process has its own devices. */
ncclResult_t hc_comm_check_devices(const struct ncclComm *comm);
/* Waits until all ranks have joined; releases the lock meanwhile. */
ncclResult_t hc_comm_wait_for_ranks(struct ncclComm *comm);
ncclResult_t hc_comm_state(const struct ncclComm *comm); /* ncclInProgress: ranks are missing */

/* Fails the communicator on all ranks with this sentence, unless it has failed before. */
void hc_comm_fail(struct ncclComm *comm, ncclResult_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool hc_comm_failed(const struct ncclComm *comm);

/* To be called repeatedly during a wait for the ranks in `on`, with the lock held; `in` is the call. Warns of a long
 * wait and fails the communicator after the timeout, naming the ranks. Returns false if it is too early to check
 * processes and deadlocks again. */
bool hc_comm_poll_wait(struct ncclComm *comm, uint64_t on, const char *in);
void hc_comm_reset_wait(struct ncclComm *comm);
/* Returns the first rank in `on` that has left or ended, and why; -1: none. */
int hc_comm_find_gone_rank(const struct ncclComm *comm, uint64_t on, const char **why);

/* Stores a sentence for ncclGetLastError and returns the code. */
ncclResult_t hc_nccl_set_error(ncclResult_t code, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns the sentence that hc_nccl_set_error has stored. */
const char *hc_nccl_last_error(void);
/* Begins a call. Takes the lock, even if it returns an error. */
ncclResult_t hc_nccl_begin(const char *call);

/* Whether the calling thread has an open group. A group keeps errors and new communicators until it ends. */
bool hc_nccl_in_group(void);
ncclResult_t hc_nccl_group_error(ncclResult_t code);
ncclResult_t hc_nccl_group_add_comm(ncclComm_t *slot, struct ncclComm *comm);
#endif

#endif
