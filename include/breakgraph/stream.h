/* Streams that take part in a capture.
 * Threads: callable from any thread; streams of a capture only from the capture's own. */
#ifndef BREAKGRAPH_STREAM_H
#define BREAKGRAPH_STREAM_H

#include <breakgraph/op.h>
#include <breakgraph/status.h>

BG_BEGIN_C_

/* Work queued on waiter from here on runs after what is queued on `on` so far. Inside a capture it forks and joins: a
 * waiter that waits on a stream of the capture becomes a member of it, stays one across breaks, and is joined at each
 * break by itself; at the end it must have been joined (or options.join_at_end). Members must live until the end.
 * Errors: INVALID_ARGUMENT (a NULL stream); ISOLATION, where a member would wait on a stream outside its capture (the
 * capture fails, at this site); WRONG_THREAD, for a stream of another thread's capture; CUDA; the capture's first
 * error, once it has failed. */
BG_API bg_status bg_stream_wait_stream_at(cudaStream_t waiter, cudaStream_t on, const bg_site *site);
#define bg_stream_wait_stream(waiter, on) bg_stream_wait_stream_at(waiter, on, BG_SITE)

BG_END_C_

#endif
