/* What ranks do together, one call each (a work), and those of one group that run as one (a batch). */
#ifndef HOSTCUDA_NCCL_WORK_H
#define HOSTCUDA_NCCL_WORK_H

#include "hostcuda/src/nccl/nccl_comm.h"

#ifdef HC_HAVE_NCCL
enum hc_nccl_kind {
    HC_NCCL_ALL_REDUCE,
    HC_NCCL_REDUCE,
    HC_NCCL_ALL_GATHER,
    HC_NCCL_REDUCE_SCATTER,
    HC_NCCL_BROADCAST,
    HC_NCCL_SEND,
    HC_NCCL_RECV,
};

struct hc_nccl_work {
    enum hc_nccl_kind kind;
    const void *send;
    void *receive;
    size_t count; /* as in the call of this kind */
    ncclDataType_t type;
    ncclRedOp_t op;
    int root;                      /* or the peer of a send or receive */
    uint64_t rounds, given, taken; /* while it runs: of how many, those done */
};

/* The contents of one op of a stream or graph. Runs in one place at a time, since a communicator's ops run in order of
 * issue. */
struct hc_nccl_batch {
    unsigned references;
    struct ncclComm *comm; /* one reference */
    bool started;
    size_t count;
    struct hc_nccl_work works[];
};

const char *hc_nccl_kind_name(int kind);
bool hc_nccl_reduces(int kind);
bool hc_nccl_has_root(int kind);
bool hc_nccl_collective(int kind);

/* Rounds: a work is done when all of its rounds are given and taken. Only for the first unfinished work of its kind. */
void hc_nccl_work_start(const struct ncclComm *comm, struct hc_nccl_work *work);
bool hc_nccl_work_done(const struct hc_nccl_work *work);
/* One round, if that can be done now. False: nothing was done, or the communicator failed over it. */
bool hc_nccl_work_step(struct ncclComm *comm, struct hc_nccl_work *work);
bool hc_nccl_work_can_step(const struct ncclComm *comm, const struct hc_nccl_work *work);
/* The ranks that it waits for, a bit each; means something where it cannot step. */
uint64_t hc_nccl_work_waits_for(const struct ncclComm *comm, const struct hc_nccl_work *work);

/* NULL: no memory. One reference; the op takes one more. */
struct hc_nccl_batch *hc_nccl_batch_make(struct ncclComm *comm, size_t count);
void hc_nccl_batch_release(struct hc_nccl_batch *batch);
struct hc_op *hc_nccl_op(struct hc_nccl_batch *batch); /* NULL: no memory */
/* The op as nodes of the stream's capture. Takes over the reference, whatever it returns. */
cudaError_t hc_nccl_capture(struct ncclComm *comm, cudaStream_t stream, struct hc_op *op);
/* A collective of a communicator of one rank. */
cudaError_t hc_nccl_alone(const struct hc_nccl_work *work, cudaStream_t stream);
/* Is any op of this communicator queued in an item before this number? */
bool hc_nccl_queued(const struct ncclComm *comm, uint64_t before);
#endif

#endif
