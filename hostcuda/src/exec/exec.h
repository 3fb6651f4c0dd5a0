/* Executable graphs. A launch retains the program as it is at that time: later updates, and destroying the executable
 * graph, do not affect it. */
#ifndef HOSTCUDA_EXEC_H
#define HOSTCUDA_EXEC_H

#include "hostcuda/src/graph/graph_object.h"
#include "hostcuda/src/graph/graph_program.h"

struct CUgraphExec_st {
    struct hc_program *program;
    unsigned long long flags;
    bool has_events, has_memory;
    struct hc_token *last_launch; /* launches run one after the other */
    cudaGraph_t graph;            /* the source graph; may have been destroyed, and its address reused */
    uint64_t graph_id;
    cudaGraph_t shape;       /* flat copy of that graph at instantiation: nodes, ids and edges; ops may be outdated */
    size_t *places;          /* for each node of the shape, by index: the place of its op in the program */
    struct hc_op **disabled; /* by place: the op that an empty op replaces while the node is disabled */
};

/* Instantiates a graph, which the caller has checked. */
cudaError_t hc_exec_make(cudaGraphExec_t *result, cudaGraph_t graph, unsigned long long flags);
void hc_exec_destroy(cudaGraphExec_t exec);
/* Replaces a shared program by a copy that only `exec` refers to, so that the program may change. Returns false if
 * there is no memory. */
bool hc_exec_unshare_program(cudaGraphExec_t exec);
/* Launches on a stream that does not capture. */
cudaError_t hc_exec_launch(cudaGraphExec_t exec, cudaStream_t stream);

/* These functions check the handles. */
/* Replaces one node's op by a compatible one. Takes over the op's reference, also on failure. */
cudaError_t hc_exec_set_node(cudaGraphExec_t exec, cudaGraphNode_t node, struct hc_op *op);
cudaError_t hc_exec_set_child(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child);
cudaError_t hc_exec_enable_node(cudaGraphExec_t exec, cudaGraphNode_t node, bool on);
cudaError_t hc_exec_node_is_enabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned *on);
/* Replaces all ops by those of graph, which must have the same shape; otherwise info gets the difference. */
cudaError_t hc_exec_update(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info);

#endif
