/* Executable graphs. A launch holds the program as it was then: later updates, even the end of the executable graph,
 * do not reach it. */
#ifndef HOSTCUDA_EXEC_H
#define HOSTCUDA_EXEC_H

#include "hostcuda/src/graph/graph_object.h"
#include "hostcuda/src/graph/graph_program.h"

struct CUgraphExec_st {
    struct hc_program *program;
    unsigned long long flags;
    bool has_events, has_memory;
    struct hc_token *last_launch; /* one runs after the other */
    cudaGraph_t graph;            /* it was made from; may be gone, or another by now */
    uint64_t graph_id;
    cudaGraph_t shape; /* that graph as it was, flat: nodes, ids and edges; the ops may have been replaced since */
    size_t *places;    /* by the index in the shape: where the op is in the program */
    struct hc_op **disabled; /* by place: what an empty op stands in for */
};

/* Instantiates a graph; the caller has checked it. */
cudaError_t hc_exec_make(cudaGraphExec_t *result, cudaGraph_t graph, unsigned long long flags);
void hc_exec_destroy(cudaGraphExec_t exec);
/* Makes the program one that only exec refers to, so that it may change. False: no memory. */
bool hc_exec_own_program(cudaGraphExec_t exec);
/* On a stream that does not capture. */
cudaError_t hc_exec_launch(cudaGraphExec_t exec, cudaStream_t stream);

/* These check the handles. */
/* Replaces one node's op by a compatible one. Takes over the op's reference, also on failure. */
cudaError_t hc_exec_set(cudaGraphExec_t exec, cudaGraphNode_t node, struct hc_op *op);
cudaError_t hc_exec_set_child(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child);
cudaError_t hc_exec_enable(cudaGraphExec_t exec, cudaGraphNode_t node, bool on);
cudaError_t hc_exec_is_enabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned *on);
/* Replaces all ops by those of graph, which must have the same shape; else info says what differs. */
cudaError_t hc_exec_update(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo *info);

#endif
