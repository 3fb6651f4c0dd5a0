/* The program's own functions in streams and graphs. They run on a thread of their own, one at a time, as CUDA's do:
 * such a function may wait for the thread that made the call which runs it. */
#ifndef HOSTCUDA_HOST_FUNCTION_H
#define HOSTCUDA_HOST_FUNCTION_H

#include "hostcuda/src/op/op_kinds.h"

/* Runs the function of op, which is queued in owner, and waits for its end, but not for ever (hc_patience): NotReady
 * says that it still runs. Call again with the same owner and op when it is ready. before: the error that the function
 * is told of, if it is one of those that are. */
cudaError_t hc_host_function_run(const void *owner, struct hc_op *op, cudaError_t before);
/* None runs, or this one has returned. */
bool hc_host_function_ready(const void *owner, const struct hc_op *op);
/* Nobody will ask for its end, if it runs. */
void hc_host_function_forget(const void *owner, const struct hc_op *op);

/* Ends the thread, unless a function still runs there; no later function gets one. */
void hc_host_functions_end(void);
/* In a child of fork, where the thread is not. */
void hc_host_functions_forked(void);

#endif
