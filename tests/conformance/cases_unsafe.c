/* Conformance: which calls are unsafe while a stream captures, in each mode; in the capturing thread and in another. */
#include "cases.h"

CALL(malloc_device, cudaMalloc(&s->memory, 64));
CALL(malloc_pinned, cudaMallocHost(&s->pinned, 64));
CALL_ENDING(free_device, memory, cudaFree(s->memory));
CALL_ENDING(free_pinned, pinned, cudaFreeHost(s->pinned));
CALL(free_null, cudaFree(NULL));

/* The first use of a pool may need more than a later one. */
static cudaError_t use_pool(const struct scene *s)
{
    void *memory = NULL;
    cudaError_t error = cudaMallocAsync(&memory, 64, s->b);
    if (!error)
        error = cudaFreeAsync(memory, s->b);
    return error ? error : cudaStreamSynchronize(s->b);
}
CALL_AS(use_pool_before, "/* memory was allocated and freed on b before */", use_pool(s));
CALL(malloc_ordered, cudaMallocAsync(&s->memory, 64, s->b));
CALL_ENDING(free_ordered, memory, cudaFreeAsync(s->memory, s->b));

CALL(copy_to_host, cudaMemcpy(s->y, s->x, sizeof *s->y, cudaMemcpyDeviceToHost));
CALL(copy_to_device, cudaMemcpy(s->x, s->y, sizeof *s->y, cudaMemcpyHostToDevice));
CALL(copy_in_device, cudaMemcpy(s->x, s->x, sizeof *s->x, cudaMemcpyDeviceToDevice));
CALL(set_device, cudaMemset(s->x, 0, sizeof *s->x));
CALL(synchronize_device, cudaDeviceSynchronize());
CALL(synchronize_b, cudaStreamSynchronize(s->b));
CALL(query_b, cudaStreamQuery(s->b));
CALL(synchronize_event, cudaEventSynchronize(s->event));
CALL(query_event, cudaEventQuery(s->event));
CALL(query_unrecorded, cudaEventQuery(s->f));
CALL(create_stream, cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
CALL_ENDING(destroy_stream, stream, cudaStreamDestroy(s->stream));
CALL(create_event, cudaEventCreateWithFlags(&s->event, cudaEventDisableTiming));
CALL_ENDING(destroy_event, event, cudaEventDestroy(s->event));
CALL(create_graph, cudaGraphCreate(&s->other, 0));
CALL_ENDING(destroy_graph, other, cudaGraphDestroy(s->other));
CALL(clone_graph, cudaGraphClone(&s->graph, s->other));
CALL(instantiate, cudaGraphInstantiate(&s->exec, s->other, 0));
CALL_ENDING(destroy_exec, exec, cudaGraphExecDestroy(s->exec));
CALL(upload_exec, cudaGraphUpload(s->exec, s->b));
CALL(launch_exec, cudaGraphLaunch(s->exec, s->b));

static cudaError_t update(const struct scene *s)
{
    cudaGraphExecUpdateResultInfo info;
    return cudaGraphExecUpdate(s->exec, s->other, &info);
}
CALL_AS(update_exec, "cudaGraphExecUpdate(exec, other, &info)", update(s));

static cudaError_t memory_info(void)
{
    size_t free_bytes, total;
    return cudaMemGetInfo(&free_bytes, &total);
}
CALL_AS(ask_memory, "cudaMemGetInfo(&free, &total)", memory_info());

static cudaError_t pointer_info(const struct scene *s)
{
    struct cudaPointerAttributes attributes;
    return cudaPointerGetAttributes(&attributes, s->x);
}
CALL_AS(ask_pointer, "cudaPointerGetAttributes(&attributes, x)", pointer_info(s));

/* Two cases a call: in the capturing thread, and in thread 2. */
#define IN_MODES(id, setup, call)                                                                                      \
    CASE(id##_here, { case_in_modes(s, setup, &call); });                                                              \
    CASE(id##_elsewhere, { case_in_modes_thread(s, setup, &call); })

IN_MODES(malloc_device, NULL, malloc_device);
IN_MODES(malloc_pinned, NULL, malloc_pinned);
IN_MODES(free_device, &malloc_device, free_device);
IN_MODES(free_pinned, &malloc_pinned, free_pinned);
IN_MODES(free_null, NULL, free_null);
IN_MODES(malloc_ordered, &use_pool_before, malloc_ordered);
IN_MODES(free_ordered, &malloc_ordered, free_ordered);
IN_MODES(copy_to_host, NULL, copy_to_host);
IN_MODES(copy_to_device, NULL, copy_to_device);
IN_MODES(copy_in_device, NULL, copy_in_device);
IN_MODES(set_device, NULL, set_device);
IN_MODES(synchronize_device, NULL, synchronize_device);
IN_MODES(synchronize_b, NULL, synchronize_b);
IN_MODES(query_b, NULL, query_b);
IN_MODES(synchronize_event, &case_make_event, synchronize_event);
IN_MODES(query_event, &case_make_event, query_event);
IN_MODES(query_unrecorded, NULL, query_unrecorded);
IN_MODES(create_stream, NULL, create_stream);
IN_MODES(destroy_stream, &create_stream, destroy_stream);
IN_MODES(create_event, NULL, create_event);
IN_MODES(destroy_event, &create_event, destroy_event);
IN_MODES(create_graph, NULL, create_graph);
IN_MODES(destroy_graph, &case_make_other, destroy_graph);
IN_MODES(clone_graph, &case_make_other, clone_graph);
IN_MODES(instantiate, &case_make_other, instantiate);
IN_MODES(destroy_exec, &case_make_exec, destroy_exec);
IN_MODES(upload_exec, &case_make_exec, upload_exec);
IN_MODES(update_exec, &case_make_exec, update_exec);
IN_MODES(launch_exec, &case_make_exec, launch_exec);
IN_MODES(ask_memory, NULL, ask_memory);
IN_MODES(ask_pointer, NULL, ask_pointer);

static const struct case_rule rules[] = {
    {&malloc_device_here, "Allocating device memory"},
    {&malloc_pinned_here, "Allocating pinned memory"},
    {&free_device_here, "Freeing device memory"},
    {&free_pinned_here, "Freeing pinned memory"},
    {&free_null_here, "Freeing nothing"},
    {&malloc_ordered_here, "Allocating on a stream that does not capture"},
    {&free_ordered_here, "Freeing on a stream that does not capture"},
    {&copy_to_host_here, "Copying to the host, synchronously"},
    {&copy_to_device_here, "Copying to the device, synchronously"},
    {&copy_in_device_here, "Copying inside the device"},
    {&set_device_here, "Filling device memory"},
    {&synchronize_device_here, "Waiting for the device"},
    {&synchronize_b_here, "Waiting for a stream that does not capture"},
    {&query_b_here, "Asking a stream that does not capture"},
    {&synchronize_event_here, "Waiting for a complete event"},
    {&query_event_here, "Asking a complete event"},
    {&query_unrecorded_here, "Asking an event that was never recorded"},
    {&create_stream_here, "Creating a stream"},
    {&destroy_stream_here, "Destroying a stream"},
    {&create_event_here, "Creating an event"},
    {&destroy_event_here, "Destroying an event"},
    {&create_graph_here, "Creating a graph"},
    {&destroy_graph_here, "Destroying a graph"},
    {&clone_graph_here, "Cloning a graph"},
    {&instantiate_here, "Instantiating a graph"},
    {&destroy_exec_here, "Destroying an executable graph"},
    {&upload_exec_here, "Uploading an executable graph"},
    {&update_exec_here, "Updating an executable graph"},
    {&launch_exec_here, "Launching a graph on a stream that does not capture"},
    {&ask_memory_here, "Asking how much memory is free"},
    {&ask_pointer_here, "Asking about a pointer"},
};

static const struct case_rule thread_rules[] = {
    {&malloc_device_elsewhere, "Allocating device memory"},
    {&malloc_pinned_elsewhere, "Allocating pinned memory"},
    {&free_device_elsewhere, "Freeing device memory"},
    {&free_pinned_elsewhere, "Freeing pinned memory"},
    {&free_null_elsewhere, "Freeing nothing"},
    {&malloc_ordered_elsewhere, "Allocating on a stream that does not capture"},
    {&free_ordered_elsewhere, "Freeing on a stream that does not capture"},
    {&copy_to_host_elsewhere, "Copying to the host, synchronously"},
    {&copy_to_device_elsewhere, "Copying to the device, synchronously"},
    {&copy_in_device_elsewhere, "Copying inside the device"},
    {&set_device_elsewhere, "Filling device memory"},
    {&synchronize_device_elsewhere, "Waiting for the device"},
    {&synchronize_b_elsewhere, "Waiting for a stream that does not capture"},
    {&query_b_elsewhere, "Asking a stream that does not capture"},
    {&synchronize_event_elsewhere, "Waiting for a complete event"},
    {&query_event_elsewhere, "Asking a complete event"},
    {&query_unrecorded_elsewhere, "Asking an event that was never recorded"},
    {&create_stream_elsewhere, "Creating a stream"},
    {&destroy_stream_elsewhere, "Destroying a stream"},
    {&create_event_elsewhere, "Creating an event"},
    {&destroy_event_elsewhere, "Destroying an event"},
    {&create_graph_elsewhere, "Creating a graph"},
    {&destroy_graph_elsewhere, "Destroying a graph"},
    {&clone_graph_elsewhere, "Cloning a graph"},
    {&instantiate_elsewhere, "Instantiating a graph"},
    {&destroy_exec_elsewhere, "Destroying an executable graph"},
    {&upload_exec_elsewhere, "Uploading an executable graph"},
    {&update_exec_elsewhere, "Updating an executable graph"},
    {&launch_exec_elsewhere, "Launching a graph on a stream that does not capture"},
    {&ask_memory_elsewhere, "Asking how much memory is free"},
    {&ask_pointer_elsewhere, "Asking about a pointer"},
};

const struct case_topic topic_unsafe = CASE_TOPIC_BY_MODE(
    "Calls in the capturing thread",
    "Which calls are unsafe? Each is made during a capture on stream `a`, in each of the three modes, by the thread "
    "that began it. None of them touches the capturing stream. *Refused*: the call gives "
    "`cudaErrorStreamCaptureUnsupported`, and the capture is invalidated. *Allowed*: the call succeeds, outside the "
    "capture, which goes on.",
    rules);

const struct case_topic topic_thread = CASE_TOPIC_BY_MODE("Calls in another thread",
                                                          "The same calls, made by a thread that captures nothing and "
                                                          "is in global mode, as threads are by default. *Refused* "
                                                          "and *allowed* mean the same.",
                                                          thread_rules);
