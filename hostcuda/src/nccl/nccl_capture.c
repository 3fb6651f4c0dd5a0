/* The nodes that a communicator adds to a capture, as NCCL does (measured with 2.28). A wait for the communicator's
 * earlier graphs comes before its first kernel. A record comes after each kernel: the next kernel depends on the
 * record, but the stream does not. The last record is thus a leaf that nothing joins. */
#include "hostcuda/src/graph/graph_object.h"
#include "hostcuda/src/nccl/nccl_work.h"
#include "hostcuda/src/stream/stream_capture.h"
#include "hostcuda/src/stream/event.h"
#include "hostcuda/src/stream/submit.h"

#ifdef HC_HAVE_NCCL

static cudaGraphNode_t add_event_node(struct ncclComm *comm, cudaGraph_t graph, enum hc_op_kind kind,
                                      const struct hc_nodes *before)
{
    struct hc_op *op = hc_op_make_event(kind, comm->event);
    return op ? hc_graph_create_node(graph, before, op) : NULL;
}

/* Returns the node that the next kernel in this capture depends on; NULL: no memory. */
static cudaGraphNode_t last_node_in_capture(struct ncclComm *comm, const struct hc_capture *capture)
{
    const struct hc_nodes none = {0};
    if (comm->capture_id == capture->id && hc_handle_is(HC_NODE, comm->last_node))
        return comm->last_node;
    if (!comm->event)
        comm->event = hc_event_make(cudaEventDisableTiming, comm->device);
    return comm->event ? add_event_node(comm, capture->graph, HC_OP_WAIT, &none) : NULL;
}

cudaError_t hc_nccl_capture(struct ncclComm *comm, cudaStream_t stream, struct hc_op *op)
{
    const struct hc_capture *capture = stream->capture;
    cudaGraphNode_t before = last_node_in_capture(comm, capture);
    if (!before || !hc_nodes_add(&stream->frontier, before)) {
        hc_op_release(op);
        return cudaErrorMemoryAllocation;
    }
    cudaError_t error = hc_stream_submit(stream, op);
    if (error)
        return error;
    comm->last_node = add_event_node(comm, capture->graph, HC_OP_RECORD, &stream->frontier);
    comm->capture_id = capture->id;
    return comm->last_node ? cudaSuccess : cudaErrorMemoryAllocation;
}
#endif
