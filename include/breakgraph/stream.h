/* Streams and events that take part in a capture, or in a pass that runs eagerly (bg_forward_run, a runner).
 *
 * Outside both these do what CUDA's own do. Inside a capture, they let it follow which streams take part in it, across
 * breaks: breakgraph/hooks.h maps CUDA's names onto them. In a capture, an event is recorded and waited on through
 * these, or by bare CUDA calls, but not by turns.
 *
 * Threads: callable from any thread; streams of a capture, and events recorded in it, only from the capture's own. */
#ifndef BREAKGRAPH_STREAM_H
#define BREAKGRAPH_STREAM_H

#include <breakgraph/op.h>
#include <breakgraph/status.h>

BG_BEGIN_C_

/* Work queued on waiter from here on runs after what is queued on `on` so far. Inside a capture it forks and joins: a
 * waiter that waits on a stream of the capture becomes a member of it, stays one across breaks, and is joined at each
 * break by itself; at the end it must have been joined (or options.join_at_end). Members must live until the end.
 * Errors: INVALID_ARGUMENT (a NULL stream); ISOLATION, where a member would wait on a stream outside its capture (the
 * capture fails, at this site); WRONG_THREAD, for a stream of another thread's capture; UNSUPPORTED, where more than
 * 256 streams would take part in the process's captures at once (the capture fails); CUDA; the capture's first error,
 * once it has failed. */
BG_API bg_status bg_stream_wait_stream_at(cudaStream_t waiter, cudaStream_t on, const bg_site *site);
#define bg_stream_wait_stream(waiter, on) bg_stream_wait_stream_at(waiter, on, BG_SITE)

/* Records event on stream. In a capture, a record on one of its streams belongs to the pass as the capture sees it:
 *   - wherever the event is waited on after a break, that wait holds, in each replay too: in later segments, in a body,
 *     and in a segment for what a body recorded. The wait of a body must be made through bg_stream_wait_event, and
 *     already when the body runs at capture; for a body that does not run there (options.launch_segments false, a
 *     capture stub), replays record each event before it that nothing has waited on in its own segment;
 *   - when the capture has ended the event is recorded once more, after it, so that it can be asked and waited for.
 *     Replays leave it alone, unless a body waits on it: to know when a replay is done, record an event after
 *     bg_replay.
 * The event is the caller's. If recorded in a capture it must live until that has ended, or be destroyed by
 * bg_event_destroy; if it carries a wait into or out of a body, as long as the graph.
 * flags: 0, or cudaEventRecordExternal (in a capture: a node that records the event in each replay; left to CUDA).
 * stream may be NULL, the legacy stream, which takes part in no capture.
 * Errors: INVALID_ARGUMENT (a NULL event, bad flags); WRONG_THREAD, for a stream of another thread's capture; CUDA; the
 * capture's first error, once it has failed. In a capture every failure is the capture's, and names its site. */
BG_API bg_status bg_event_record_at(cudaEvent_t event, cudaStream_t stream, unsigned flags, const bg_site *site);
#define bg_event_record(event, stream) bg_event_record_at(event, stream, 0, BG_SITE)

/* Work queued on waiter from here on runs after what event's last record stands for. In a capture, a stream that waits
 * on an event of the capture becomes a member of it, as for bg_stream_wait_stream; so does one that waits, after a
 * break, on an event from before it. An event without a record is no wait.
 * flags: 0, or cudaEventWaitExternal (in a capture: a node that waits in each replay; left to CUDA).
 * Errors: as above, UNSUPPORTED as for bg_stream_wait_stream, and ISOLATION, where a member would wait on an event that
 * was recorded outside the capture; FOREIGN_CAPTURE, where waiter is captured by someone else and the event belongs to
 * this thread's capture. */
BG_API bg_status bg_stream_wait_event_at(cudaStream_t waiter, cudaEvent_t event, unsigned flags, const bg_site *site);
#define bg_stream_wait_event(waiter, event) bg_stream_wait_event_at(waiter, event, 0, BG_SITE)

/* cudaEventDestroy for an event that may have been recorded in a capture of this thread, which then forgets it. Waits
 * that were made on it stay. Errors: INVALID_ARGUMENT (NULL), CUDA. */
BG_API bg_status bg_event_destroy(cudaEvent_t event);

BG_END_C_

#endif
