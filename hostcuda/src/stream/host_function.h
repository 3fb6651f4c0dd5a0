/* The program's host functions in streams and graphs. They run on a thread of their own, one at a time, as in CUDA: a
 * function may wait for the thread whose API call runs it. */
#ifndef HOSTCUDA_HOST_FUNCTION_H
#define HOSTCUDA_HOST_FUNCTION_H

#include "hostcuda/src/op/op_kinds.h"

/* Runs the function of `op`, which is queued in `owner`, and waits at most hc_progress_timeout for its end. Returns
 * NotReady if the function still runs: call again with the same owner and op when hc_host_function_ready says so.
 * `before` is the error that a stream callback gets. */
cudaError_t hc_host_function_run(const void *owner, struct hc_op *op, cudaError_t before);
/* Whether no function runs, or this one has returned. */
bool hc_host_function_ready(const void *owner, const struct hc_op *op);
/* If the function of `op` runs, nobody will wait for its end. */
void hc_host_function_forget(const void *owner, const struct hc_op *op);

/* Ends the thread, unless a function still runs on it. Later functions get no thread. */
void hc_host_functions_stop(void);
/* Called in a child of fork, where the thread does not exist. */
void hc_host_functions_reset_in_child(void);

#endif
