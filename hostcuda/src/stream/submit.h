/* Queues or captures the work of calls. */
#ifndef HOSTCUDA_SUBMIT_H
#define HOSTCUDA_SUBMIT_H

#include "hostcuda/src/kernel/cooperation.h"
#include "hostcuda/src/op/op_kinds.h"
#include "hostcuda/src/stream/stream.h"

/* Finds the stream behind a handle for a call that issues work. Fails if the stream's capture is invalid, and
 * invalidates a blocking capture that the legacy stream would have to wait for. */
cudaError_t hc_stream_for_work(cudaStream_t handle, cudaStream_t *stream);
/* Queues or captures an op on a stream from hc_stream_for_work. Takes over the reference, also on failure. */
cudaError_t hc_stream_submit(cudaStream_t stream, struct hc_op *op);
/* Queues or captures a launch on a stream of the calling thread's device. cooperation may be NULL. */
cudaError_t hc_stream_launch(const struct cudaKernelNodeParams *params, const struct hc_cooperation *cooperation,
                             cudaStream_t handle);
/* Called when the program destroys the stream: a capture that it takes part in is updated. Work queued there still
 * runs. */
void hc_stream_destroy(cudaStream_t stream);

#endif
