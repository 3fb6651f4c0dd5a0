/* Calls between ncclGroupStart and ncclGroupEnd. A single call is a group of one. */
#ifndef HOSTCUDA_NCCL_GROUP_H
#define HOSTCUDA_NCCL_GROUP_H

#include "hostcuda/src/nccl/nccl_work.h"

#ifdef HC_HAVE_NCCL
/* Queues or captures the work, now or when the calling thread's group ends. Needs the lock. */
ncclResult_t hc_nccl_issue(struct ncclComm *comm, const struct hc_nccl_work *work, cudaStream_t stream);
#endif

#endif
