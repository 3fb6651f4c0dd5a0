/* Work that calls issue: queued or captured. */
#ifndef HOSTCUDA_SUBMIT_H
#define HOSTCUDA_SUBMIT_H

#include "hostcuda/src/kernel/cooperation.h"
#include "hostcuda/src/op/op_kinds.h"
#include "hostcuda/src/stream/stream.h"

/* The stream behind a handle, for a call that issues work: it fails on an invalidated capture, and breaks a blocking
 * one that the legacy stream would have to wait for. */
cudaError_t hc_stream_for_work(cudaStream_t handle, cudaStream_t *stream);
/* Queues or captures an op on a stream of hc_stream_for_work. Takes over the reference, whatever it returns. */
cudaError_t hc_stream_submit(cudaStream_t stream, struct hc_op *op);
/* A launch, queued or captured on a stream of the calling thread's device. cooperation NULL: none. */
cudaError_t hc_launch(const struct cudaKernelNodeParams *params, const struct hc_cooperation *cooperation,
                      cudaStream_t handle);
/* The program's stream ends: a capture that it takes part in hears of it. What is queued there still runs. */
void hc_stream_destroy(cudaStream_t stream);

#endif
