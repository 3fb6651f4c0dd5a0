/* Conformance, first part: forks and joins, beginning and ending, events. One source for both devices; the expected
 * values are what an H100 answered, or, where a case says [H], the toolkit's headers. */
#include "conformance_kernels.h"
#include "scene.h"

/* ---- forks and joins ----------------------------------------------------------------------------------------- */

static void fork_empty_joined(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    fork_stream(s, s->a, s->b);
    add(s, s->b);
    fork_stream(s, s->b, s->a);
    add(s, s->a);
    note_end(s, s->a);
    note_status(s, s->b);
    note(s, run_graph(s, s->graph, s->a));
}

static void unjoined(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    fork_stream(s, s->a, s->b);
    add(s, s->b);
    add(s, s->a);
    note_end(s, s->a);
    note_status(s, s->b);
}

static void used_after_join(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    fork_stream(s, s->a, s->b);
    add(s, s->b);
    fork_stream(s, s->b, s->a);
    add(s, s->b);
    note_end(s, s->a);
    note_status(s, s->b);
}

static void later_than_joined_event(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    fork_stream(s, s->a, s->b);
    add(s, s->b);
    STEP(cudaEventRecord(s->f, s->b));
    add(s, s->b);
    STEP(cudaStreamWaitEvent(s->a, s->f, 0));
    note_end(s, s->a);
}

static void idle_fork(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    add(s, s->a);
    fork_stream(s, s->a, s->b);
    note_end(s, s->a);
    note_status(s, s->b);
}

static void fork_of_fork(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    add(s, s->a);
    fork_stream(s, s->a, s->b);
    fork_stream(s, s->b, s->c);
    add(s, s->c);
    fork_stream(s, s->c, s->b);
    fork_stream(s, s->b, s->a);
    note_end(s, s->a);
    note(s, run_graph(s, s->graph, s->a));
}

static void joined_by_update(struct scene *s)
{
    enum cudaStreamCaptureStatus status;
    cudaGraph_t graph = NULL;
    cudaGraphNode_t nodes[4];
    size_t count = 4;
    begin(s->a, THREAD_LOCAL);
    fork_stream(s, s->a, s->b);
    add(s, s->b);
    add(s, s->a);
    STEP(cudaStreamGetCaptureInfo(s->a, &status, NULL, &graph, NULL, NULL, NULL));
    STEP(cudaGraphGetNodes(graph, nodes, &count));
    note(s, cudaStreamUpdateCaptureDependencies(s->a, nodes, NULL, count, cudaStreamAddCaptureDependencies));
    note_end(s, s->a);
    note_status(s, s->b);
}

static void dropped_nodes(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    add(s, s->a);
    fork_stream(s, s->a, s->b);
    add(s, s->b);
    note(s, cudaStreamUpdateCaptureDependencies(s->b, NULL, NULL, 0, cudaStreamSetCaptureDependencies));
    note_end(s, s->a);
}

static void events_add_no_node(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    add(s, s->a);
    fork_stream(s, s->a, s->b);
    fork_stream(s, s->b, s->a);
    note_status(s, s->b);
    note_end(s, s->a);
}

/* ---- ending and beginning ------------------------------------------------------------------------------------- */

static void end_on_fork(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    fork_stream(s, s->a, s->b);
    note_end(s, s->b);
    note_status(s, s->a);
    note_end(s, s->a);
}

static cudaError_t end_call(void *stream)
{
    cudaGraph_t graph = NULL;
    return cudaStreamEndCapture(stream, &graph);
}

static void end_in_thread(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    note(s, in_thread(end_call, s->a));
    note_end(s, s->a);
}

static void end_without_begin(struct scene *s)
{
    note_end(s, s->a);
}

static void invalidate(struct scene *s)
{
    void *memory = NULL;
    begin(s->a, THREAD_LOCAL);
    note(s, cudaMalloc(&memory, 16));
    note_status(s, s->a);
}

static void end_invalidated(struct scene *s)
{
    invalidate(s);
    note_end(s, s->a);
}

static void launch_into_invalidated(struct scene *s)
{
    invalidate(s);
    note(s, ck_add(s->x, 1, s->a));
    note_end(s, s->a);
    note(s, ck_add(s->x, 1, s->a));
    note(s, read_x(s));
}

static void begin_capturing(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    note(s, cudaStreamBeginCapture(s->a, THREAD_LOCAL));
    add(s, s->a);
    note_end(s, s->a);
}

static void begin_forked(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    fork_stream(s, s->a, s->b);
    note(s, cudaStreamBeginCapture(s->b, THREAD_LOCAL));
    note_status(s, s->b);
    add(s, s->a);
    note_end(s, s->a);
}

static void begin_invalidated(struct scene *s)
{
    invalidate(s);
    note(s, cudaStreamBeginCapture(s->a, THREAD_LOCAL));
}

static void begin_legacy(struct scene *s)
{
    note(s, cudaStreamBeginCapture(NULL, THREAD_LOCAL));
    note(s, cudaStreamBeginCapture(cudaStreamLegacy, RELAXED));
}

static void begin_per_thread(struct scene *s)
{
    note(s, cudaStreamBeginCapture(cudaStreamPerThread, THREAD_LOCAL));
    add(s, cudaStreamPerThread);
    note_end(s, cudaStreamPerThread);
}

static void begin_bad_mode(struct scene *s)
{
    note(s, cudaStreamBeginCapture(s->a, (enum cudaStreamCaptureMode)7));
}

static void destroy_origin(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    fork_stream(s, s->a, s->b);
    add(s, s->b);
    note(s, cudaStreamDestroy(s->a));
    s->a = NULL;
    note_status(s, s->b);
}

static void destroy_fork(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    fork_stream(s, s->a, s->b);
    add(s, s->b);
    note(s, cudaStreamDestroy(s->b));
    s->b = NULL;
    note_end(s, s->a);
}

/* ---- events --------------------------------------------------------------------------------------------------- */

static void wait_never_recorded(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    note(s, cudaStreamWaitEvent(s->a, s->e, 0));
    add(s, s->a);
    note_end(s, s->a);
}

static void record_in_ended_capture(struct scene *s)
{
    cudaGraph_t graph = NULL;
    begin(s->a, THREAD_LOCAL);
    add(s, s->a);
    STEP(cudaEventRecord(s->e, s->a));
    STEP(cudaStreamEndCapture(s->a, &graph));
    STEP(cudaGraphDestroy(graph));
}

static void wait_ended_in_capture(struct scene *s)
{
    record_in_ended_capture(s);
    begin(s->a, THREAD_LOCAL);
    note(s, cudaStreamWaitEvent(s->a, s->e, 0));
    note_status(s, s->a);
    note_end(s, s->a);
}

static void wait_ended_plain(struct scene *s)
{
    record_in_ended_capture(s);
    note(s, cudaStreamWaitEvent(s->a, s->e, 0));
    note(s, cudaEventQuery(s->e));
}

static void record_ended_again(struct scene *s)
{
    record_in_ended_capture(s);
    note(s, cudaEventRecord(s->e, s->a));
    note(s, cudaEventSynchronize(s->e));
    note(s, cudaEventQuery(s->e));
    note(s, cudaStreamWaitEvent(s->b, s->e, 0));
}

static void isolation(struct scene *s)
{
    add(s, s->b);
    STEP(cudaEventRecord(s->e, s->b));
    begin(s->a, THREAD_LOCAL);
    note(s, cudaStreamWaitEvent(s->a, s->e, 0));
    note_status(s, s->a);
    note_end(s, s->a);
}

static void isolation_completed(struct scene *s)
{
    STEP(cudaEventRecord(s->e, s->b));
    STEP(cudaEventSynchronize(s->e));
    begin(s->a, RELAXED);
    note(s, cudaStreamWaitEvent(s->a, s->e, 0));
    note_status(s, s->a);
}

static void external_wait(struct scene *s)
{
    STEP(cudaEventRecord(s->e, s->b));
    begin(s->a, THREAD_LOCAL);
    note(s, cudaStreamWaitEvent(s->a, s->e, cudaEventWaitExternal));
    note_end(s, s->a);
    note_node_type(s);
}

static void external_record(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    note(s, cudaEventRecordWithFlags(s->e, s->a, cudaEventRecordExternal));
    note_end(s, s->a);
    note_node_type(s);
    run_graph(s, s->graph, s->a);
    note(s, cudaEventQuery(s->e));
}

static void external_wait_plain(struct scene *s)
{
    STEP(cudaEventRecord(s->e, s->b));
    note(s, cudaStreamWaitEvent(s->a, s->e, cudaEventWaitExternal));
}

static void merge(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    begin(s->b, THREAD_LOCAL);
    STEP(cudaEventRecord(s->e, s->b));
    note(s, cudaStreamWaitEvent(s->a, s->e, 0));
    note_status(s, s->a);
    note_status(s, s->b);
    note_end(s, s->b);
}

static void query_captured(struct scene *s)
{
    begin(s->a, RELAXED);
    STEP(cudaEventRecord(s->e, s->a));
    note(s, cudaEventQuery(s->e));
}

static void synchronize_captured(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    STEP(cudaEventRecord(s->e, s->a));
    note(s, cudaEventSynchronize(s->e));
}

static void query_earlier(struct scene *s, enum cudaStreamCaptureMode mode)
{
    STEP(cudaEventRecord(s->e, s->b));
    STEP(cudaStreamSynchronize(s->b));
    begin(s->a, mode);
    note(s, cudaEventQuery(s->e));
}

static void query_earlier_local(struct scene *s)
{
    query_earlier(s, THREAD_LOCAL);
}

static void query_earlier_global(struct scene *s)
{
    query_earlier(s, GLOBAL);
}

static void wait_unrelated_relaxed(struct scene *s)
{
    STEP(cudaEventRecord(s->e, s->b));
    begin(s->a, RELAXED);
    note(s, cudaEventSynchronize(s->e));
    note(s, cudaStreamSynchronize(s->b));
    add(s, s->a);
    note_end(s, s->a);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* clang-format off */
static const struct conformance_case cases[] = {
    /* name, function, status of a afterwards, nodes of the graph, answers */
    {"fork from an empty capture, joined", fork_empty_joined, NONE, 2, ANSWERS(SUCCESS, NONE, 2)},
    {"unjoined work on a fork", unjoined, NONE, NO_GRAPH, ANSWERS(UNJOINED, NONE)},
    {"a fork used again after its join", used_after_join, NONE, NO_GRAPH, ANSWERS(UNJOINED, NONE)},
    {"a later node on the fork than the joined event", later_than_joined_event, NONE, NO_GRAPH, ANSWERS(UNJOINED)},
    {"a fork that did no work", idle_fork, NONE, 1, ANSWERS(SUCCESS, NONE)},
    {"a fork of a fork", fork_of_fork, NONE, 2, ANSWERS(SUCCESS, 2)},
    {"joined by updating the dependencies", joined_by_update, NONE, 2, ANSWERS(SUCCESS, SUCCESS, NONE)},
    {"dropped nodes are not unjoined [H]", dropped_nodes, NONE, 2, ANSWERS(SUCCESS, SUCCESS)},
    {"recording and waiting add no node", events_add_no_node, NONE, 1, ANSWERS(ACTIVE, SUCCESS)},
    {"end on the forked stream", end_on_fork, NONE, NO_GRAPH, ANSWERS(UNMATCHED, BROKEN, INVALIDATED)},
    {"end in another thread, thread-local", end_in_thread, NONE, NO_GRAPH, ANSWERS(WRONG_THREAD, ILLEGAL_STATE)},
    {"end without begin", end_without_begin, NONE, NO_GRAPH, ANSWERS(ILLEGAL_STATE)},
    {"cudaMalloc, thread-local", invalidate, BROKEN, NO_GRAPH, ANSWERS(UNSUPPORTED, BROKEN)},
    {"end of an invalidated capture", end_invalidated, NONE, NO_GRAPH, ANSWERS(UNSUPPORTED, BROKEN, INVALIDATED)},
    {"launch into an invalidated capture, and after it", launch_into_invalidated, NONE, NO_GRAPH,
     ANSWERS(UNSUPPORTED, BROKEN, INVALIDATED, INVALIDATED, SUCCESS, 1)},
    {"begin on a capturing stream", begin_capturing, NONE, 1, ANSWERS(ILLEGAL_STATE, SUCCESS)},
    {"begin on a forked-in stream", begin_forked, NONE, 1, ANSWERS(ILLEGAL_STATE, ACTIVE, SUCCESS)},
    {"begin on an invalidated stream", begin_invalidated, BROKEN, NO_GRAPH, ANSWERS(UNSUPPORTED, BROKEN, ILLEGAL_STATE)},
    {"begin on the legacy stream", begin_legacy, NONE, NO_GRAPH, ANSWERS(UNSUPPORTED, UNSUPPORTED)},
    {"begin on the per-thread default stream", begin_per_thread, NONE, 1, ANSWERS(SUCCESS, SUCCESS)},
    {"begin in a mode that does not exist", begin_bad_mode, NONE, NO_GRAPH, ANSWERS(INVALID_VALUE)},
    {"destroy the capturing origin", destroy_origin, NONE, NO_GRAPH, ANSWERS(SUCCESS, NONE)},
    {"destroy a fork with work", destroy_fork, NONE, NO_GRAPH, ANSWERS(SUCCESS, UNJOINED)},
    {"wait on a never-recorded event", wait_never_recorded, NONE, 1, ANSWERS(SUCCESS, SUCCESS)},
    {"wait on an ended capture's event, in a capture", wait_ended_in_capture, NONE, NO_GRAPH,
     ANSWERS(INVALID_VALUE, BROKEN, INVALIDATED)},
    {"wait on an ended capture's event, outside; query it", wait_ended_plain, NONE, NO_GRAPH,
     ANSWERS(INVALID_VALUE, INVALID_VALUE)},
    {"record an ended capture's event again", record_ended_again, NONE, NO_GRAPH,
     ANSWERS(SUCCESS, SUCCESS, SUCCESS, SUCCESS)},
    {"wait on an event of a plain stream", isolation, NONE, NO_GRAPH, ANSWERS(ISOLATION, BROKEN, INVALIDATED)},
    {"wait on a completed event of a plain stream", isolation_completed, BROKEN, NO_GRAPH, ANSWERS(ISOLATION, BROKEN)},
    {"external wait", external_wait, NONE, 1, ANSWERS(SUCCESS, SUCCESS, cudaGraphNodeTypeWaitEvent)},
    {"external record", external_record, NONE, 1, ANSWERS(SUCCESS, SUCCESS, cudaGraphNodeTypeEventRecord, SUCCESS)},
    {"external wait outside a capture", external_wait_plain, NONE, NO_GRAPH, ANSWERS(ILLEGAL_STATE)},
    {"wait on an event of another capture", merge, BROKEN, NO_GRAPH, ANSWERS(MERGE, BROKEN, BROKEN, INVALIDATED)},
    {"query a captured event", query_captured, BROKEN, NO_GRAPH, ANSWERS(CAPTURED_EVENT)},
    {"synchronise a captured event", synchronize_captured, BROKEN, NO_GRAPH, ANSWERS(CAPTURED_EVENT)},
    {"query an earlier event, thread-local", query_earlier_local, BROKEN, NO_GRAPH, ANSWERS(UNSUPPORTED)},
    {"query an earlier event, global", query_earlier_global, BROKEN, NO_GRAPH, ANSWERS(UNSUPPORTED)},
    {"synchronise an earlier event and another stream, relaxed", wait_unrelated_relaxed, NONE, 1,
     ANSWERS(SUCCESS, SUCCESS, SUCCESS)},
};
/* clang-format on */

int main(void)
{
    return scene_main("capture rules", cases, sizeof cases / sizeof cases[0]);
}
