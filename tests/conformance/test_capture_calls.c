/* Conformance, first part: calls made while a stream captures, and launches of what was captured. One source for both
 * devices; the expected values are what an H100 answered,
 * or, where a case says [H], the toolkit's headers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "conformance_kernels.h"
#include "scene.h"

/* ---- waits of the host ---------------------------------------------------------------------------------------- */

static void query_self(struct scene *s)
{
    begin(s->a, RELAXED);
    note(s, cudaStreamQuery(s->a));
}

static void synchronize_self(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    note(s, cudaStreamSynchronize(s->a));
}

static void device_synchronize_relaxed(struct scene *s)
{
    begin(s->a, RELAXED);
    note(s, cudaDeviceSynchronize());
}

static cudaError_t device_synchronize_call(void *unused)
{
    (void)unused;
    return cudaDeviceSynchronize();
}

static void device_synchronize_thread(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    note(s, in_thread(device_synchronize_call, NULL));
}

static void synchronize_other(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    note(s, cudaStreamSynchronize(s->b));
}

static cudaError_t synchronize_call(void *stream)
{
    return cudaStreamSynchronize(stream);
}

static void synchronize_other_thread(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    note(s, in_thread(synchronize_call, s->b));
    add(s, s->a);
    note_end(s, s->a);
}

/* ---- questions about a stream ---- */

static cudaError_t ask_id(cudaStream_t stream)
{
    unsigned long long id;
    return cudaStreamGetId(stream, &id);
}

static cudaError_t ask_device(cudaStream_t stream)
{
    int device;
    return cudaStreamGetDevice(stream, &device);
}

static cudaError_t ask_flags(cudaStream_t stream)
{
    unsigned flags;
    return cudaStreamGetFlags(stream, &flags);
}

static cudaError_t ask_priority(cudaStream_t stream)
{
    int priority;
    return cudaStreamGetPriority(stream, &priority);
}

static void ask(struct scene *s, cudaError_t (*question)(cudaStream_t))
{
    begin(s->a, RELAXED);
    note(s, question(s->b));
    note_status(s, s->a);
    note(s, question(s->a));
}

static void ask_for_id(struct scene *s)
{
    ask(s, ask_id);
}

static void ask_for_device(struct scene *s)
{
    ask(s, ask_device);
}

static void ask_for_flags(struct scene *s)
{
    ask(s, ask_flags);
}

static void ask_for_priority(struct scene *s)
{
    ask(s, ask_priority);
    note_end(s, s->a);
}

/* ---- unsafe calls ----------------------------------------------------------------------------------------------- */

static cudaError_t malloc_and_free(void *unused)
{
    void *memory = NULL;
    (void)unused;
    cudaError_t error = cudaMalloc(&memory, 64);
    return error ? error : cudaFree(memory);
}

static void malloc_global(struct scene *s)
{
    begin(s->a, GLOBAL);
    note(s, malloc_and_free(NULL));
}

static void malloc_relaxed(struct scene *s)
{
    begin(s->a, RELAXED);
    note(s, malloc_and_free(NULL));
    note_end(s, s->a);
}

static void free_local(struct scene *s)
{
    void *memory = NULL;
    STEP(cudaMalloc(&memory, 64));
    begin(s->a, THREAD_LOCAL);
    note(s, cudaFree(memory));
    note_end(s, s->a);
    STEP(cudaFree(memory));
}

static void malloc_thread_local(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    note(s, in_thread(malloc_and_free, NULL));
    note_end(s, s->a);
}

static void malloc_thread_global(struct scene *s)
{
    begin(s->a, GLOBAL);
    note(s, in_thread(malloc_and_free, NULL));
}

static void exchanged_mode(struct scene *s)
{
    enum cudaStreamCaptureMode mode = RELAXED;
    begin(s->a, THREAD_LOCAL);
    STEP(cudaThreadExchangeStreamCaptureMode(&mode));
    note(s, (int)mode);
    note(s, malloc_and_free(NULL));
    note(s, cudaStreamSynchronize(s->b));
    STEP(cudaThreadExchangeStreamCaptureMode(&mode));
    note(s, (int)mode);
    add(s, s->a);
    note_end(s, s->a);
}

static void allowed_calls(struct scene *s)
{
    cudaEvent_t event = NULL;
    size_t free_bytes = 0, total = 0;
    struct cudaPointerAttributes attributes;
    begin(s->a, GLOBAL);
    note(s, cudaEventCreate(&event));
    note(s, cudaEventDestroy(event));
    note(s, cudaMemGetInfo(&free_bytes, &total));
    note(s, cudaPointerGetAttributes(&attributes, s->x));
    note_end(s, s->a);
}

static void instantiate(struct scene *s)
{
    cudaGraph_t graph = make_graph(s, s->b);
    cudaGraphExec_t exec = NULL;
    begin(s->a, THREAD_LOCAL);
    note(s, cudaGraphInstantiate(&exec, graph, 0));
    note_status(s, s->a);
    note_end(s, s->a);
    STEP(cudaGraphDestroy(graph));
}

static cudaError_t instantiate_call(void *graph)
{
    cudaGraphExec_t exec = NULL;
    cudaError_t error = cudaGraphInstantiate(&exec, graph, 0);
    return error ? error : cudaGraphExecDestroy(exec);
}

static void instantiate_thread(struct scene *s)
{
    cudaGraph_t graph = make_graph(s, s->b);
    begin(s->a, THREAD_LOCAL);
    note(s, in_thread(instantiate_call, graph));
    note_end(s, s->a);
    STEP(cudaGraphDestroy(graph));
}

static void exec_destroy(struct scene *s)
{
    cudaGraph_t graph = make_graph(s, s->b);
    cudaGraphExec_t exec = NULL;
    STEP(cudaGraphInstantiate(&exec, graph, 0));
    begin(s->a, THREAD_LOCAL);
    note(s, cudaGraphExecDestroy(exec));
    note_status(s, s->a);
    note_end(s, s->a);
    STEP(cudaGraphDestroy(graph));
    cudaGraphExecDestroy(exec);
}

static void launch_graph(struct scene *s)
{
    cudaGraph_t graph = make_graph(s, s->b);
    cudaGraphExec_t exec = NULL;
    STEP(cudaGraphInstantiate(&exec, graph, 0));
    begin(s->a, THREAD_LOCAL);
    note(s, cudaGraphLaunch(exec, s->a));
    note_status(s, s->a);
    note_end(s, s->a);
    STEP(cudaGraphExecDestroy(exec));
    STEP(cudaGraphDestroy(graph));
}

/* ---- copies, callbacks, other streams --------------------------------------------------------------------------- */

static void copy_now(struct scene *s)
{
    int value = -1;
    begin(s->a, THREAD_LOCAL);
    note(s, cudaMemcpy(&value, s->x, sizeof value, cudaMemcpyDeviceToHost));
    note(s, value);
    note_end(s, s->a);
}

static void copy_pageable(struct scene *s)
{
    int *host = malloc(sizeof *host);
    assert_non_null(host);
    *host = 3;
    begin(s->a, THREAD_LOCAL);
    note(s, cudaMemcpyAsync(s->x, host, sizeof *host, cudaMemcpyHostToDevice, s->a));
    note_end(s, s->a);
    note_node_type(s);
    *host = 11; /* the node reads the address when it runs */
    note(s, run_graph(s, s->graph, s->a));
    free(host);
}

static void stream_that_left(struct scene *s)
{
    cudaGraph_t graph = NULL;
    begin(s->a, THREAD_LOCAL);
    fork_stream(s, s->a, s->b);
    add(s, s->b);
    fork_stream(s, s->b, s->a);
    STEP(cudaStreamEndCapture(s->a, &graph));
    STEP(cudaGraphDestroy(graph));
    begin(s->a, THREAD_LOCAL);
    note(s, ck_add(s->x, 4, s->b));
    note_end(s, s->a);
    note(s, read_x(s));
}

static void legacy_beside_non_blocking(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    note(s, ck_add(s->x, 4, NULL));
    note_end(s, s->a);
    note(s, read_x(s));
}

static void legacy_beside_blocking(struct scene *s)
{
    begin(s->blocking, THREAD_LOCAL);
    note(s, ck_add(s->x, 4, NULL));
    note_end(s, s->blocking);
}

static cudaError_t legacy_add(void *x)
{
    return ck_add(x, 4, NULL);
}

static void legacy_beside_blocking_thread(struct scene *s)
{
    begin(s->blocking, THREAD_LOCAL);
    note(s, in_thread(legacy_add, s->x));
    note_end(s, s->blocking);
}

static void legacy_is_capturing(struct scene *s)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    begin(s->blocking, THREAD_LOCAL);
    note(s, cudaStreamIsCapturing(NULL, &status));
    note_status(s, s->blocking);
    add(s, s->blocking);
    note_end(s, s->blocking);
}

static void count_call(void *user)
{
    ++*(int *)user;
}

static void host_function(struct scene *s)
{
    int calls = 0;
    begin(s->a, THREAD_LOCAL);
    note(s, cudaLaunchHostFunc(s->a, count_call, &calls));
    note_end(s, s->a);
    note_node_type(s);
    note(s, calls);
    run_graph(s, s->graph, s->a);
    note(s, calls);
}

static void CUDART_CB callback(cudaStream_t stream, cudaError_t error, void *user)
{
    (void)stream, (void)error, (void)user;
}

static void add_callback(struct scene *s)
{
    begin(s->a, THREAD_LOCAL);
    note(s, cudaStreamAddCallback(s->a, callback, NULL, 0));
}

static void update_dependencies_bad(struct scene *s)
{
    cudaGraph_t other = make_graph(s, s->b);
    cudaGraphNode_t foreign = NULL;
    size_t count = 1;
    STEP(cudaGraphGetNodes(other, &foreign, &count));
    note(s, cudaStreamUpdateCaptureDependencies(s->a, NULL, NULL, 0, cudaStreamSetCaptureDependencies));
    begin(s->a, THREAD_LOCAL);
    note(s, cudaStreamUpdateCaptureDependencies(s->a, NULL, NULL, 1, cudaStreamSetCaptureDependencies));
    note(s, cudaStreamUpdateCaptureDependencies(s->a, NULL, NULL, 0, 9));
    note(s, cudaStreamUpdateCaptureDependencies(s->a, &foreign, NULL, 1, cudaStreamSetCaptureDependencies));
    STEP(cudaGraphDestroy(other));
}

/* ---- graphs --------------------------------------------------------------------------------------------------------
 */

static void two_streams(struct scene *s)
{
    cudaGraph_t graph = make_graph(s, s->a);
    cudaGraphExec_t exec = NULL;
    STEP(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 10; i++) {
        STEP(cudaGraphLaunch(exec, s->a));
        STEP(cudaGraphLaunch(exec, s->b));
    }
    note(s, cudaStreamSynchronize(s->a));
    note(s, cudaStreamSynchronize(s->b));
    note(s, read_x(s));
    STEP(cudaGraphExecDestroy(exec));
    STEP(cudaGraphDestroy(graph));
}

static void destroyed_while_queued(struct scene *s)
{
    cudaGraph_t graph = make_graph(s, s->a);
    cudaGraphExec_t exec = NULL;
    STEP(cudaGraphInstantiate(&exec, graph, 0));
    STEP(cudaGraphDestroy(graph));
    STEP(cudaGraphLaunch(exec, s->a));
    note(s, cudaGraphExecDestroy(exec));
    note(s, read_x(s));
}

/* Allocated in one segment, used in it and the next, freed there; the chain runs again and again. */
static void memory_across_segments(struct scene *s)
{
    cudaGraph_t first = NULL, second = NULL, clone = NULL;
    cudaGraphExec_t execs[2] = {NULL, NULL}, again = NULL;
    int *memory = NULL;
    begin(s->a, THREAD_LOCAL);
    STEP(cudaMallocAsync((void **)&memory, sizeof *memory, s->a));
    STEP(cudaMemsetAsync(memory, 0, sizeof *memory, s->a));
    STEP(ck_add(memory, 6, s->a));
    STEP(cudaStreamEndCapture(s->a, &first));
    begin(s->a, THREAD_LOCAL);
    STEP(cudaMemcpyAsync(s->x, memory, sizeof *memory, cudaMemcpyDeviceToDevice, s->a));
    STEP(cudaFreeAsync(memory, s->a));
    STEP(cudaStreamEndCapture(s->a, &second));
    STEP(cudaGraphInstantiate(&execs[0], first, cudaGraphInstantiateFlagAutoFreeOnLaunch));
    STEP(cudaGraphInstantiate(&execs[1], second, 0));
    for (int i = 0; i < 3; i++) {
        STEP(cudaGraphLaunch(execs[0], s->a));
        STEP(cudaGraphLaunch(execs[1], s->a));
    }
    note(s, cudaStreamSynchronize(s->a));
    note(s, read_x(s));
    note(s, cudaGraphClone(&clone, first));
    note(s, cudaGraphInstantiate(&again, first, 0));
    for (int i = 0; i < 2; i++)
        STEP(cudaGraphExecDestroy(execs[i]));
    STEP(cudaGraphDestroy(first));
    STEP(cudaGraphDestroy(second));
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* clang-format off */
static const struct conformance_case cases[] = {
    /* name, function, status of a afterwards, nodes of the graph, answers */
    {"query the capturing stream, relaxed", query_self, BROKEN, NO_GRAPH, ANSWERS(UNSUPPORTED)},
    {"synchronise the capturing stream", synchronize_self, BROKEN, NO_GRAPH, ANSWERS(UNSUPPORTED)},
    {"cudaDeviceSynchronize, relaxed", device_synchronize_relaxed, BROKEN, NO_GRAPH, ANSWERS(UNSUPPORTED)},
    {"cudaDeviceSynchronize in another thread", device_synchronize_thread, BROKEN, NO_GRAPH, ANSWERS(UNSUPPORTED)},
    {"synchronise another stream, thread-local", synchronize_other, BROKEN, NO_GRAPH, ANSWERS(UNSUPPORTED)},
    {"synchronise another stream in another thread", synchronize_other_thread, NONE, 1, ANSWERS(SUCCESS, SUCCESS)},
    {"cudaStreamGetId of the capturing stream", ask_for_id, BROKEN, NO_GRAPH, ANSWERS(SUCCESS, ACTIVE, UNSUPPORTED)},
    {"cudaStreamGetDevice of the capturing stream", ask_for_device, BROKEN, NO_GRAPH,
     ANSWERS(SUCCESS, ACTIVE, UNSUPPORTED)},
    {"cudaStreamGetFlags of the capturing stream", ask_for_flags, BROKEN, NO_GRAPH,
     ANSWERS(SUCCESS, ACTIVE, UNSUPPORTED)},
    {"cudaStreamGetPriority of the capturing stream", ask_for_priority, NONE, 0,
     ANSWERS(SUCCESS, ACTIVE, SUCCESS, SUCCESS)},
    {"cudaMalloc, global", malloc_global, BROKEN, NO_GRAPH, ANSWERS(UNSUPPORTED)},
    {"cudaMalloc and cudaFree, relaxed", malloc_relaxed, NONE, 0, ANSWERS(SUCCESS, SUCCESS)},
    {"cudaFree, thread-local", free_local, NONE, NO_GRAPH, ANSWERS(UNSUPPORTED, INVALIDATED)},
    {"cudaMalloc in another thread, thread-local", malloc_thread_local, NONE, 0, ANSWERS(SUCCESS, SUCCESS)},
    {"cudaMalloc in another thread, global", malloc_thread_global, BROKEN, NO_GRAPH, ANSWERS(UNSUPPORTED)},
    {"the thread's mode exchanged for relaxed [H]", exchanged_mode, NONE, 1,
     ANSWERS(GLOBAL, SUCCESS, SUCCESS, RELAXED, SUCCESS)},
    {"calls that every mode allows", allowed_calls, NONE, 0, ANSWERS(SUCCESS, SUCCESS, SUCCESS, SUCCESS, SUCCESS)},
    {"cudaGraphInstantiate, thread-local", instantiate, NONE, NO_GRAPH, ANSWERS(UNSUPPORTED, BROKEN, INVALIDATED)},
    {"cudaGraphInstantiate in another thread", instantiate_thread, NONE, 0, ANSWERS(SUCCESS, SUCCESS)},
    {"cudaGraphExecDestroy, thread-local", exec_destroy, NONE, NO_GRAPH, ANSWERS(UNSUPPORTED, BROKEN, INVALIDATED)},
    {"cudaGraphLaunch on the capturing stream", launch_graph, NONE, NO_GRAPH,
     ANSWERS(UNSUPPORTED, BROKEN, INVALIDATED)},
    {"cudaMemcpy while a non-blocking stream captures", copy_now, NONE, 0, ANSWERS(SUCCESS, 0, SUCCESS)},
    {"cudaMemcpyAsync from pageable memory", copy_pageable, NONE, 1,
     ANSWERS(SUCCESS, SUCCESS, cudaGraphNodeTypeMemcpy, 11)},
    {"launch on a stream that left the capture", stream_that_left, NONE, 0, ANSWERS(SUCCESS, SUCCESS, 4)},
    {"legacy launch while a non-blocking stream captures", legacy_beside_non_blocking, NONE, 0,
     ANSWERS(SUCCESS, SUCCESS, 4)},
    {"legacy launch while a blocking stream captures", legacy_beside_blocking, NONE, NO_GRAPH,
     ANSWERS(IMPLICIT, INVALIDATED)},
    {"legacy launch in another thread while a blocking stream captures", legacy_beside_blocking_thread, NONE, NO_GRAPH,
     ANSWERS(IMPLICIT, INVALIDATED)},
    {"cudaStreamIsCapturing of the legacy stream", legacy_is_capturing, NONE, 1, ANSWERS(IMPLICIT, ACTIVE, SUCCESS)},
    {"cudaLaunchHostFunc [H]", host_function, NONE, 1, ANSWERS(SUCCESS, SUCCESS, cudaGraphNodeTypeHost, 0, 1)},
    {"cudaStreamAddCallback [H]", add_callback, BROKEN, NO_GRAPH, ANSWERS(UNSUPPORTED)},
    {"cudaStreamUpdateCaptureDependencies, bad arguments [H]", update_dependencies_bad, ACTIVE, NO_GRAPH,
     ANSWERS(ILLEGAL_STATE, INVALID_VALUE, INVALID_VALUE, INVALID_VALUE)},
    {"one executable graph on two streams", two_streams, NONE, NO_GRAPH, ANSWERS(SUCCESS, SUCCESS, 20)},
    {"an executable graph destroyed while its launch is queued", destroyed_while_queued, NONE, NO_GRAPH,
     ANSWERS(SUCCESS, 1)},
    {"allocated in one graph, freed in the next", memory_across_segments, NONE, NO_GRAPH,
     ANSWERS(SUCCESS, 6, NOT_SUPPORTED, NOT_SUPPORTED)},
};
/* clang-format on */

int main(void)
{
    return scene_main("calls in a capture", cases, sizeof cases / sizeof cases[0]);
}
