/* Streams and events that take part in a capture, or in an eager pass (bg_forward_run, a runner's warm-ups
 * and eager runs).
 * Outside of captures and eager passes, these functions do what CUDA's own do. In a capture they track which streams
 * take part in it, across breaks. breakgraph/hooks.h maps CUDA's names to them. In a capture, record and wait on an
 * event either through these functions or by bare CUDA calls; do not mix the two for one event.
 * Threads: callable from any thread; streams of a capture, and events recorded in it, only from the capture's own
 * thread. */
#ifndef BREAKGRAPH_STREAM_H
#define BREAKGRAPH_STREAM_H

#include <breakgraph/op.h>
#include <breakgraph/status.h>

BG_BEGIN_C_

/* Makes future work on waiter wait for the work queued on `on` so far. In a capture it forks and joins: a waiter that
 * waits on a stream of the capture becomes a member of the capture, stays one across breaks, and is joined at each
 * break automatically. If it has work after the last break, the program must join it before the end (or set
 * options.join_at_end). Members must live until the end.
 * Errors: INVALID_ARGUMENT (a NULL stream), ISOLATION (a member would wait on a stream outside its capture; the
 * capture fails, at this site), WRONG_THREAD (a stream of another thread's capture), UNSUPPORTED (more than 256
 * streams would take part in the process's captures; the capture fails), CUDA, the capture's first error once it has
 * failed. */
BG_API bg_status bg_stream_wait_stream_at(cudaStream_t waiter, cudaStream_t on, const bg_site *site);
#define bg_stream_wait_stream(waiter, on) bg_stream_wait_stream_at(waiter, on, BG_SITE)

/* Records event on stream. In a capture, a record on one of its streams becomes part of the pass:
 *   - A wait on the event also takes effect across breaks, at capture and in each replay. A later segment or an eager
 *     body may wait on an event of a segment, and a segment may wait on an event that a body recorded. A body must wait
 *     through bg_stream_wait_event, also when it runs at capture, since the library learns of the wait there. If a body
 *     does not run at capture (options.launch_segments false, a capture stub, a runner), the library does not know what
 *     it waits on or records: a segment that waits for an event recorded by the body must pass cudaEventWaitExternal.
 *     Each replay then records, just before that body, every event that was recorded in an earlier segment and on which
 *     no stream waited within that segment.
 *   - After the end of the capture the event is recorded once more, so that it can be queried and waited for. Replays
 *     do not record it, unless a body waits on it or may do so: to know when a replay is done, record an event after
 *     bg_replay.
 * The caller owns the event. An event recorded in a capture must live until the end, or be destroyed by
 * bg_event_destroy. It must live as long as the graph if a body waits on it, or may do so because the body does not run
 * at capture. The same holds if a body records it and a segment waits on it.
 * flags: 0, or cudaEventRecordExternal: in a capture a node records the event at this place, in each replay. If a body
 * after a break makes another stream wait on the event, that stream then waits only for the work before this place, not
 * for the whole segment. The event is also known outside the graph. Streams that wait on it in the segment itself fork
 * as above. The node is work of the stream, which must be joined before the end. The event must live as long as the
 * graph. In a body that runs at a break, and in a pass that bg_forward_run or a runner runs outside of graphs, the flag
 * does nothing.
 * stream NULL: the legacy stream, which takes part in no capture.
 * Errors: INVALID_ARGUMENT (a NULL event, bad flags), WRONG_THREAD (a stream of another thread's capture), CUDA, the
 * capture's first error once it has failed. In a capture every error makes the capture fail, at this site. */
BG_API bg_status bg_event_record_at(cudaEvent_t event, cudaStream_t stream, unsigned flags, const bg_site *site);
#define bg_event_record(event, stream) bg_event_record_at(event, stream, 0, BG_SITE)

/* Makes future work on waiter wait for the work that event's last record covers. In a capture, a stream that waits on
 * an event of the capture becomes a member of it, as for bg_stream_wait_stream, also where the event was recorded
 * before a break. Waiting on an event that was never recorded does nothing.
 * flags: 0, or cudaEventWaitExternal: in a capture, on an event that a body or work outside the capture records, a node
 * waits at this place, in each replay, so that the segment's work before it does not wait. The node is work of
 * `waiter`, which must be a stream of the capture. The event must live as long as the graph. On an event of the
 * capture's own segments, in a body that runs at a break and in a pass that bg_forward_run or a runner runs outside of
 * graphs, the flag does nothing. With both flags a copy or a collective can run beside the pass until a later segment
 * needs it: a segment prepares the work, and a body begins it on a stream of its own. Errors: those of bg_event_record,
 * UNSUPPORTED as for bg_stream_wait_stream, ISOLATION (a member would wait on an event that was recorded outside the
 * capture), FOREIGN_CAPTURE (waiter is in a foreign capture and the event belongs to this thread's capture). */
BG_API bg_status bg_stream_wait_event_at(cudaStream_t waiter, cudaEvent_t event, unsigned flags, const bg_site *site);
#define bg_stream_wait_event(waiter, event) bg_stream_wait_event_at(waiter, event, 0, BG_SITE)

/* Destroys an event, as cudaEventDestroy does. If the event was recorded in a capture of this thread, the capture
 * forgets it. Waits that were made on the event before stay.
 * Errors: INVALID_ARGUMENT (NULL; a node of the capture records or waits for the event: cudaEventRecordExternal,
 * cudaEventWaitExternal), CUDA. */
BG_API bg_status bg_event_destroy(cudaEvent_t event);

BG_END_C_

#endif
