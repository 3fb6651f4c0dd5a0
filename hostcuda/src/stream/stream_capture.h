/* Stream capture: streams that write down work in a graph instead of queueing it, and the rules that guard it. */
#ifndef HOSTCUDA_CAPTURE_H
#define HOSTCUDA_CAPTURE_H

#include "hostcuda/src/core/core_state.h"
#include "hostcuda/src/graph/graph_nodes.h"
#include "hostcuda/src/op/op_kinds.h"

struct hc_capture {
    struct hc_capture *next, *previous; /* all live captures, invalidated ones included */
    uint64_t id;                        /* never given twice */
    uint64_t thread;                    /* that began it */
    enum cudaStreamCaptureMode mode;
    cudaStream_t origin, members;
    cudaGraph_t graph;
    bool invalid;
    struct hc_nodes orphans; /* frontiers of members that were destroyed */
};

/* NULL once the capture has ended or is invalid: what was recorded in it means nothing any more. */
struct hc_capture *hc_capture_live(uint64_t id);
void hc_capture_invalidate(struct hc_capture *capture); /* NULL: nothing */
/* The stream's capture begins; its nodes go into a new graph, or into one that the program gives, after these nodes. */
cudaError_t hc_capture_begin(cudaStream_t handle, enum cudaStreamCaptureMode mode);
cudaError_t hc_capture_begin_to_graph(cudaStream_t handle, enum cudaStreamCaptureMode mode, cudaGraph_t graph,
                                      const cudaGraphNode_t *dependencies, size_t count);
/* Without a place for the graph, the capture ends all the same (measured): the graph is then the program's only where
 * it was so before, or was asked for meanwhile. */
cudaError_t hc_capture_end(cudaStream_t handle, cudaGraph_t *place);
/* Pulls an idle stream in. */
cudaError_t hc_capture_join(struct hc_capture *capture, cudaStream_t stream, const struct hc_nodes *after);
/* A node for the op, after the stream's frontier. Takes over the reference, whatever it returns. */
cudaError_t hc_capture_add(cudaStream_t stream, struct hc_op *op);
void hc_capture_stream_destroyed(cudaStream_t stream);

/* The stream behind a handle, and whether it captures. */
cudaError_t hc_capture_status(cudaStream_t handle, cudaStream_t *stream, enum cudaStreamCaptureStatus *status);
/* What is NULL is not asked for; the rest is written where the stream captures. */
struct hc_capture_info {
    enum cudaStreamCaptureStatus *status;
    unsigned long long *id;
    cudaGraph_t *graph;
    const cudaGraphNode_t **dependencies;
    size_t *count;
};
cudaError_t hc_capture_inform(cudaStream_t handle, const struct hc_capture_info *asked);
/* Adds to what the stream's next node will depend on, or sets it. */
cudaError_t hc_capture_update(cudaStream_t handle, const cudaGraphNode_t *nodes, size_t count, unsigned flags);

/* May work be issued on the stream? */
cudaError_t hc_capture_check_work(cudaStream_t stream);
/* May the host wait for the stream, or ask for its state? */
cudaError_t hc_capture_check_wait(cudaStream_t stream);
/* May the host ask what stream it is: its number, device or flags? Not while it captures, not even in a capture that is
 * invalid already (measured). */
cudaError_t hc_capture_check_question(cudaStream_t stream);
/* May the host wait for a whole device? */
cudaError_t hc_capture_check_device_wait(int device);
/* May this thread make a call that is unsafe in a capture, given its mode and every capture's? Where not, the captures
 * in the way are invalidated. */
cudaError_t hc_capture_unsafe_call(void);

#endif
