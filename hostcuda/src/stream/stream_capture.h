/* Stream capture: streams that record work in a graph instead of queueing it, and the rules that protect captures. */
#ifndef HOSTCUDA_CAPTURE_H
#define HOSTCUDA_CAPTURE_H

#include "hostcuda/src/core/core_state.h"
#include "hostcuda/src/graph/graph_nodes.h"
#include "hostcuda/src/op/op_kinds.h"

struct hc_capture {
    struct hc_capture *next, *previous; /* list of all captures, including invalidated ones */
    uint64_t id;                        /* never reused */
    uint64_t thread;                    /* the thread that began it */
    enum cudaStreamCaptureMode mode;
    cudaStream_t origin, members;
    cudaGraph_t graph;
    bool invalid;
    struct hc_nodes orphans; /* frontiers of capturing streams that were destroyed */
};

/* Returns NULL if the capture has ended or is invalid: events and nodes recorded in it are then meaningless. */
struct hc_capture *hc_capture_find_valid(uint64_t id);
void hc_capture_invalidate(struct hc_capture *capture); /* NULL: does nothing */
/* Begins a capture on the stream. Its nodes go into a new graph, or into the given graph, after the given nodes. */
cudaError_t hc_capture_begin(cudaStream_t handle, enum cudaStreamCaptureMode mode);
cudaError_t hc_capture_begin_to_graph(cudaStream_t handle, enum cudaStreamCaptureMode mode, cudaGraph_t graph,
                                      const cudaGraphNode_t *dependencies, size_t count);
/* place NULL: the capture ends all the same (measured). The program then owns the graph only if it owned it before, or
 * has queried it meanwhile. */
cudaError_t hc_capture_end(cudaStream_t handle, cudaGraph_t *place);
/* Makes a stream without a capture take part in this one. */
cudaError_t hc_capture_join(struct hc_capture *capture, cudaStream_t stream, const struct hc_nodes *after);
/* Adds a node for the op after the stream's frontier. Takes over the reference, also on failure. */
cudaError_t hc_capture_add_op(cudaStream_t stream, struct hc_op *op);
void hc_capture_stream_destroyed(cudaStream_t stream);

/* Finds the stream behind a handle, and whether it captures. */
cudaError_t hc_capture_status(cudaStream_t handle, cudaStream_t *stream, enum cudaStreamCaptureStatus *status);
/* Outputs of a query; NULL members are skipped. All but status are written only if the stream captures. */
struct hc_capture_info {
    enum cudaStreamCaptureStatus *status;
    unsigned long long *id;
    cudaGraph_t *graph;
    const cudaGraphNode_t **dependencies;
    size_t *count;
};
cudaError_t hc_capture_get_info(cudaStream_t handle, const struct hc_capture_info *asked);
/* Adds nodes to the dependencies of the stream's next node, or replaces these dependencies. */
cudaError_t hc_capture_update_dependencies(cudaStream_t handle, const cudaGraphNode_t *nodes, size_t count,
                                           unsigned flags);

/* Whether work may be issued on the stream. */
cudaError_t hc_capture_check_work(cudaStream_t stream);
/* Whether the host may wait for the stream, or query its state. */
cudaError_t hc_capture_check_wait(cudaStream_t stream);
/* Whether the host may query the stream's id, device or flags. It may not while the stream captures, even if the
 * capture is already invalid (measured). */
cudaError_t hc_capture_check_query(cudaStream_t stream);
/* Whether the host may wait for a whole device. */
cudaError_t hc_capture_check_device_wait(int device);
/* Whether this thread may make a call that is unsafe during a capture, given its mode and the modes of all captures. If
 * not, the captures that forbid it are invalidated. */
cudaError_t hc_capture_check_unsafe_call(void);

#endif
