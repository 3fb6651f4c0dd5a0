/* The call of one rank in a joint operation (a work), and the works of a group that run as one (a batch). */
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
    size_t count; /* in the unit of the NCCL call */
    ncclDataType_t type;
    ncclRedOp_t op;
    int root;                      /* the root, or the peer of a send or receive */
    uint64_t rounds, given, taken; /* while it runs: the number of rounds, and how many were published and read */
};

/* The contents of one op of a stream or graph. It never runs twice at the same time, since a communicator's ops run in
 * order of issue. */
struct hc_nccl_batch {
    unsigned references;
    struct ncclComm *comm; /* has one reference */
    bool started;
    size_t count;
    struct hc_nccl_work works[];
};

const char *hc_nccl_kind_name(int kind);
bool hc_nccl_is_reduction(int kind);
bool hc_nccl_has_root(int kind);
bool hc_nccl_is_collective(int kind);

/* A work is done when all of its rounds are published and read. To be called only for the first unfinished work of its
 * kind. */
void hc_nccl_work_start(const struct ncclComm *comm, struct hc_nccl_work *work);
bool hc_nccl_work_done(const struct hc_nccl_work *work);
/* Runs one step if possible. Returns false if none was possible, or the communicator failed in it. */
bool hc_nccl_work_step(struct ncclComm *comm, struct hc_nccl_work *work);
bool hc_nccl_work_can_step(const struct ncclComm *comm, const struct hc_nccl_work *work);
/* Returns the ranks that the work waits for, one bit each. Meaningful only if the work cannot step. */
uint64_t hc_nccl_work_awaited_ranks(const struct ncclComm *comm, const struct hc_nccl_work *work);

/* Returns a batch with one reference; the op takes one more. NULL: no memory. */
struct hc_nccl_batch *hc_nccl_batch_make(struct ncclComm *comm, size_t count);
void hc_nccl_batch_release(struct hc_nccl_batch *batch);
struct hc_op *hc_nccl_make_op(struct hc_nccl_batch *batch); /* NULL: no memory */
/* Captures the op as nodes. Takes over the reference, also on failure. */
cudaError_t hc_nccl_capture(struct ncclComm *comm, cudaStream_t stream, struct hc_op *op);
/* Issues a collective of a communicator that has one rank. */
cudaError_t hc_nccl_issue_one_rank(const struct hc_nccl_work *work, cudaStream_t stream);
/* Whether an op of this communicator is queued in an item before this sequence number. */
bool hc_nccl_has_queued_op(const struct ncclComm *comm, uint64_t before);
#endif

#endif
