/* Runs queued work. All queued work runs through these functions. */
#ifndef HOSTCUDA_QUEUE_RUN_H
#define HOSTCUDA_QUEUE_RUN_H

#include "hostcuda/src/stream/stream.h"
#include "hostcuda/src/stream/token.h"

/* Whether a wait for the stream would have nothing to wait for. */
bool hc_run_is_done(const struct CUstream_st *stream);
/* Run queued work until everything issued before this call is done: on a stream (for the legacy stream, on all blocking
 * streams of its device), before a token, or on a device. They return the device's sticky error. The lock is released
 * while work runs. */
cudaError_t hc_run_stream(cudaStream_t stream);
cudaError_t hc_run_token(struct hc_token *token, int device);
cudaError_t hc_run_device(int device);
/* Runs queued work until `reached` returns true. */
cudaError_t hc_run_until(bool (*reached)(const void *data), const void *data);
/* Runs one step of any work, or pauses if nothing can run: for waits that other threads or processes end. */
void hc_run_step_or_pause(void);
/* Waits until no item is running; queued ones stay. */
void hc_run_wait_until_idle(void);
/* Runs one step of any work, or as many as the seed says: for programs that poll. */
void hc_run_at_query(void);
/* Runs one step of any work, unless a call runs work. Returns false if there is none. */
bool hc_run_without_call(void);
bool hc_run_has_work(void); /* whether any work is queued */
/* Called in a child of fork, where the thread that ran work does not exist. */
void hc_run_reset_in_child(void);
/* Runs work before anyone waits for it: in a seeded order, or if the queues are long. Host functions do not run, since
 * they may wait for the thread that makes this call. */
void hc_run_at_call_end(void);

#endif
