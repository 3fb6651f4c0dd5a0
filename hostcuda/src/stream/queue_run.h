/* The one place that runs queued work. */
#ifndef HOSTCUDA_QUEUE_RUN_H
#define HOSTCUDA_QUEUE_RUN_H

#include "hostcuda/src/stream/stream.h"
#include "hostcuda/src/stream/token.h"

/* Nothing is queued that a wait for the stream would wait for. */
bool hc_run_is_done(const struct CUstream_st *stream);
/* Run queued work until everything issued before this call is done, on a stream (the legacy one: on all
 * blocking streams of its device), before a token, on a device. They return the device's sticky error. The lock is
 * released while work runs. */
cudaError_t hc_run_stream(cudaStream_t stream);
cudaError_t hc_run_token(struct hc_token *token, int device);
cudaError_t hc_run_device(int device);
/* The same until the question is answered with yes. */
cudaError_t hc_run_until(bool (*reached)(const void *data), const void *data);
/* One step of any work, or a pause where nothing can run: for waits that other threads or processes end. */
void hc_run_meanwhile(void);
/* Until no item is running; queued ones stay. */
void hc_run_settle(void);
/* One step of any work, or as many as the seed says, for programs that poll. */
void hc_run_step(void);
/* One step of any work, unless a call runs work. False: there is none. */
bool hc_run_uncalled(void);
bool hc_run_queued(void); /* is anything? */
/* In a child of fork: whoever ran something is not there. */
void hc_run_forked(void);
/* What runs before anyone waits for it: in a seeded order, and where very much is queued; the program's own functions
 * do not, since they may wait for the thread that makes this call. */
void hc_run_early(void);

#endif
