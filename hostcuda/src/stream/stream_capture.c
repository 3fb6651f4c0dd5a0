#include "hostcuda/src/stream/stream_capture.h"

#include "hostcuda/src/graph/graph_edges.h"

#include "hostcuda/src/graph/graph_object.h"
#include "hostcuda/src/stream/stream.h"

#include <stdlib.h>

static struct hc_capture *captures;
static uint64_t capture_ids;

struct hc_capture *hc_capture_find_valid(uint64_t id)
{
    struct hc_capture *capture = captures;
    while (capture && capture->id != id)
        capture = capture->next;
    return capture && !capture->invalid ? capture : NULL;
}

void hc_capture_invalidate(struct hc_capture *capture)
{
    if (capture)
        capture->invalid = true;
}

static void add_capture_member(struct hc_capture *capture, cudaStream_t stream)
{
    stream->capture = capture;
    stream->previous_member = NULL;
    stream->next_member = capture->members;
    if (capture->members)
        capture->members->previous_member = stream;
    capture->members = stream;
}

cudaError_t hc_capture_join(struct hc_capture *capture, cudaStream_t stream, const struct hc_nodes *after)
{
    if (stream->kind == HC_STREAM_LEGACY) {
        hc_capture_invalidate(capture);
        return cudaErrorStreamCaptureImplicit;
    }
    if (!hc_nodes_assign(&stream->frontier, after))
        return cudaErrorMemoryAllocation;
    add_capture_member(capture, stream);
    return cudaSuccess;
}

cudaError_t hc_capture_add_op(cudaStream_t stream, struct hc_op *op)
{
    cudaGraphNode_t node = hc_graph_create_node(stream->capture->graph, &stream->frontier, op);
    if (!node)
        return cudaErrorMemoryAllocation;
    hc_node_add_to_block(node);
    hc_nodes_clear(&stream->frontier);
    return hc_nodes_add(&stream->frontier, node) ? hc_node_set_priority(node, stream->priority)
                                                 : cudaErrorMemoryAllocation;
}

/* ---- ending a capture ---------------------------------------------------------------------------------------- */

static void leave_capture(cudaStream_t stream)
{
    *(stream->previous_member ? &stream->previous_member->next_member : &stream->capture->members) =
        stream->next_member;
    if (stream->next_member)
        stream->next_member->previous_member = stream->previous_member;
    stream->capture = NULL;
    hc_nodes_clear(&stream->frontier);
}

/* Ends the capture. Its graph belongs to the caller. */
static cudaGraph_t end_capture(struct hc_capture *capture)
{
    cudaGraph_t graph = capture->graph;
    while (capture->members)
        leave_capture(capture->members);
    *(capture->previous ? &capture->previous->next : &captures) = capture->next;
    if (capture->next)
        capture->next->previous = capture->previous;
    hc_nodes_free(&capture->orphans);
    free(capture);
    return graph;
}

/* A failed capture destroys its graph, even if the program passed the graph in (measured): the graph's handle becomes
 * invalid. The graph of a child node stays with the node; CUDA crashes in this case. */
static void discard_capture(struct hc_capture *capture)
{
    cudaGraph_t graph = end_capture(capture);
    if (graph->owned)
        hc_graph_publish(graph);
    else
        hc_graph_destroy(graph);
}

void hc_capture_stream_destroyed(cudaStream_t stream)
{
    struct hc_capture *capture = stream->capture;
    if (!capture)
        return;
    if (capture->origin == stream) {
        discard_capture(capture);
        return;
    }
    /* the work of the destroyed stream must still be joined before the capture ends */
    if (!hc_nodes_add_all(&capture->orphans, &stream->frontier))
        hc_capture_invalidate(capture);
    leave_capture(stream);
}

/* Whether all frontiers precede the origin stream's frontier, or an earlier frontier of it that the program has
 * replaced: a join lasts (measured). */
static bool is_joined(const struct hc_capture *capture)
{
    hc_graph_mark_ancestors(capture->graph, &capture->origin->frontier);
    bool all = hc_graph_all_marked(&capture->orphans);
    for (cudaStream_t stream = capture->members; stream; stream = stream->next_member)
        if (!hc_graph_all_marked(&stream->frontier))
            all = false;
    return all;
}

/* Returns the error that keeps the capture from ending, in CUDA's order of checks (measured). */
static cudaError_t check_end(const struct hc_capture *capture)
{
    if (capture->invalid)
        return cudaErrorStreamCaptureInvalidated;
    if (!is_joined(capture))
        return cudaErrorStreamCaptureUnjoined;
    if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != hc_thread()->id)
        return cudaErrorStreamCaptureWrongThread;
    return cudaSuccess;
}

cudaError_t hc_capture_end(cudaStream_t handle, cudaGraph_t *place)
{
    cudaStream_t stream = NULL;
    if (place)
        *place = NULL;
    cudaError_t error = hc_stream_from_handle(handle, &stream);
    if (error)
        return error;
    struct hc_capture *capture = stream->capture;
    if (!capture)
        return cudaErrorIllegalState;
    if (capture->origin != stream) {
        hc_capture_invalidate(capture);
        return cudaErrorStreamCaptureUnmatched;
    }
    error = check_end(capture);
    if (error) {
        discard_capture(capture);
        return error;
    }
    cudaGraph_t graph = end_capture(capture);
    hc_graph_publish(graph);
    if (place)
        *place = graph;
    return cudaSuccess;
}

/* ---- beginning a capture ------------------------------------------------------------------------------------- */

static cudaError_t check_begin(cudaStream_t handle, enum cudaStreamCaptureMode mode, cudaStream_t *stream)
{
    if ((int)mode < cudaStreamCaptureModeGlobal || mode > cudaStreamCaptureModeRelaxed)
        return cudaErrorInvalidValue;
    cudaError_t error = hc_stream_from_handle(handle, stream);
    if (error)
        return error;
    if ((*stream)->kind == HC_STREAM_LEGACY)
        return cudaErrorStreamCaptureUnsupported;
    return (*stream)->capture ? cudaErrorIllegalState : cudaSuccess;
}

/* Returns NULL if there is no memory. */
static struct hc_capture *start_capture(cudaStream_t stream, enum cudaStreamCaptureMode mode, cudaGraph_t graph)
{
    struct hc_capture *capture = calloc(1, sizeof *capture);
    if (!capture)
        return NULL;
    graph->capturing = true;
    capture->id = ++capture_ids;
    capture->thread = hc_thread()->id;
    capture->mode = mode;
    capture->origin = stream;
    capture->graph = graph;
    capture->next = captures;
    if (captures)
        captures->previous = capture;
    captures = capture;
    add_capture_member(capture, stream);
    hc_nodes_clear(&stream->frontier);
    return capture;
}

cudaError_t hc_capture_begin(cudaStream_t handle, enum cudaStreamCaptureMode mode)
{
    cudaStream_t stream = NULL;
    cudaError_t error = check_begin(handle, mode, &stream);
    if (error)
        return error;
    cudaGraph_t graph = hc_graph_make();
    if (!graph)
        return cudaErrorMemoryAllocation;
    if (start_capture(stream, mode, graph))
        return cudaSuccess;
    hc_graph_destroy(graph);
    return cudaErrorMemoryAllocation;
}

cudaError_t hc_capture_begin_to_graph(cudaStream_t handle, enum cudaStreamCaptureMode mode, cudaGraph_t graph,
                                      const cudaGraphNode_t *dependencies, size_t count)
{
    cudaStream_t stream = NULL;
    cudaError_t error = check_begin(handle, mode, &stream);
    if (!error)
        error = hc_graph_check_nodes(graph, dependencies, count);
    if (!error && graph->capturing)
        error = cudaErrorIllegalState;
    if (error)
        return error;
    struct hc_nodes frontier = {0};
    for (size_t i = 0; i < count; i++) {
        if (!hc_nodes_add(&frontier, dependencies[i])) {
            hc_nodes_free(&frontier);
            return cudaErrorMemoryAllocation;
        }
    }
    struct hc_capture *capture = start_capture(stream, mode, graph);
    if (!capture) {
        hc_nodes_free(&frontier);
        return cudaErrorMemoryAllocation;
    }
    hc_nodes_free(&stream->frontier);
    stream->frontier = frontier;
    return cudaSuccess;
}

/* ---- rules --------------------------------------------------------------------------------------------------- */

/* Whether a stream that the legacy stream must wait for takes part in the capture. */
static bool blocks_legacy(const struct hc_capture *capture, int device)
{
    for (cudaStream_t stream = capture->members; stream; stream = stream->next_member)
        if (stream->device == device && !(stream->flags & cudaStreamNonBlocking))
            return true;
    return false;
}

static cudaError_t check_legacy(const struct CUstream_st *stream, bool invalidate)
{
    cudaError_t error = cudaSuccess;
    if (stream->kind != HC_STREAM_LEGACY)
        return cudaSuccess;
    for (struct hc_capture *capture = captures; capture; capture = capture->next) {
        if (!blocks_legacy(capture, stream->device))
            continue;
        error = cudaErrorStreamCaptureImplicit;
        capture->invalid |= invalidate;
    }
    return error;
}

cudaError_t hc_capture_check_work(cudaStream_t stream)
{
    if (stream->capture)
        return stream->capture->invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    return check_legacy(stream, true);
}

cudaError_t hc_capture_check_unsafe_call(void)
{
    const struct hc_thread *thread = hc_thread();
    cudaError_t error = cudaSuccess;
    if (thread->mode == cudaStreamCaptureModeRelaxed)
        return cudaSuccess;
    for (struct hc_capture *capture = captures; capture; capture = capture->next) {
        bool own = capture->thread == thread->id && capture->mode != cudaStreamCaptureModeRelaxed;
        bool global = thread->mode == cudaStreamCaptureModeGlobal && capture->mode == cudaStreamCaptureModeGlobal;
        if (!own && !global)
            continue;
        hc_capture_invalidate(capture);
        error = cudaErrorStreamCaptureUnsupported;
    }
    return error;
}

cudaError_t hc_capture_check_query(cudaStream_t stream)
{
    if (!stream->capture)
        return cudaSuccess;
    hc_capture_invalidate(stream->capture);
    return cudaErrorStreamCaptureUnsupported;
}

cudaError_t hc_capture_check_wait(cudaStream_t stream)
{
    cudaError_t error;
    if (stream->capture)
        return hc_capture_check_query(stream);
    error = check_legacy(stream, true);
    return error ? error : hc_capture_check_unsafe_call();
}

static bool has_member_of(const struct hc_capture *capture, int device)
{
    for (cudaStream_t stream = capture->members; stream; stream = stream->next_member)
        if (stream->device == device)
            return true;
    return false;
}

cudaError_t hc_capture_check_device_wait(int device)
{
    cudaError_t error = cudaSuccess;
    for (struct hc_capture *capture = captures; capture; capture = capture->next) {
        if (!has_member_of(capture, device))
            continue;
        hc_capture_invalidate(capture);
        error = cudaErrorStreamCaptureUnsupported;
    }
    return error;
}

/* ---- queries and edits --------------------------------------------------------------------------------------- */

static enum cudaStreamCaptureStatus status_of(const struct CUstream_st *stream)
{
    if (!stream->capture)
        return cudaStreamCaptureStatusNone;
    return stream->capture->invalid ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
}

cudaError_t hc_capture_status(cudaStream_t handle, cudaStream_t *stream, enum cudaStreamCaptureStatus *status)
{
    cudaError_t error = status ? hc_stream_from_handle(handle, stream) : cudaErrorInvalidValue;
    if (!error)
        error = check_legacy(*stream, false);
    if (!error)
        *status = status_of(*stream);
    return error;
}

cudaError_t hc_capture_get_info(cudaStream_t handle, const struct hc_capture_info *asked)
{
    cudaStream_t stream = NULL;
    cudaError_t error = hc_capture_status(handle, &stream, asked->status);
    if (error || *asked->status != cudaStreamCaptureStatusActive)
        return error;
    if (asked->id)
        *asked->id = stream->capture->id;
    if (asked->graph)
        *asked->graph = stream->capture->graph;
    if (asked->dependencies)
        *asked->dependencies = stream->frontier.items;
    if (asked->count)
        *asked->count = stream->frontier.count;
    return cudaSuccess;
}

/* The program replaces the dependencies of the origin; the nodes of the old frontier still count as joined. They are
 * marked and not listed, since a list would grow if a program does this after each node. */
static void mark_frontier_left(cudaStream_t origin)
{
    for (size_t i = 0; i < origin->frontier.count; i++)
        origin->frontier.items[i]->left = true;
}

cudaError_t hc_capture_update_dependencies(cudaStream_t handle, const cudaGraphNode_t *nodes, size_t count,
                                           unsigned flags)
{
    cudaStream_t stream = NULL;
    cudaError_t error = hc_stream_from_handle(handle, &stream);
    if (error)
        return error;
    if (!stream->capture)
        return cudaErrorIllegalState;
    if (stream->capture->invalid)
        return cudaErrorStreamCaptureInvalidated;
    if ((count && !nodes) || flags > cudaStreamSetCaptureDependencies)
        return cudaErrorInvalidValue;
    for (size_t i = 0; i < count; i++)
        if (!hc_handle_is(HC_NODE, nodes[i]) || nodes[i]->graph != stream->capture->graph)
            return cudaErrorInvalidValue;
    struct hc_nodes fresh = {0};
    bool set = flags == cudaStreamSetCaptureDependencies;
    bool ok = set || hc_nodes_assign(&fresh, &stream->frontier);
    for (size_t i = 0; ok && i < count; i++)
        ok = hc_nodes_add(&fresh, nodes[i]);
    if (!ok) {
        hc_nodes_free(&fresh);
        return cudaErrorMemoryAllocation;
    }
    if (set && stream == stream->capture->origin)
        mark_frontier_left(stream);
    hc_nodes_free(&stream->frontier);
    stream->frontier = fresh;
    return cudaSuccess;
}
