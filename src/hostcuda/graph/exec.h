/* Executable graphs. A launch holds the program as it was then: later updates, even the end of the executable graph,
 * do not reach it. */
#ifndef HOSTCUDA_EXEC_H
#define HOSTCUDA_EXEC_H

#include "hostcuda/graph/graph.h"
#include "hostcuda/op/ops.h"
#include "hostcuda/stream/queue.h"
#include "hostcuda/core/state.h"

struct hc_order;
/* Ops in the order in which they run; shared, copied before it changes. */
struct hc_program {
    unsigned references;
    size_t count;
    struct hc_order *order;    /* NULL: they run in their sequence */
    struct hc_objects objects; /* kept until the last launch is over */
    struct hc_op *ops[];
};

size_t hc_program_size(const struct hc_program *program);
const struct hc_op *hc_program_op(const struct hc_program *program, size_t index);
/* NULL: they run in their sequence. */
const struct hc_order *hc_program_order(const struct hc_program *program);
void hc_program_release(struct hc_program *program);

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

/* A program that nobody else holds, so that it may change. False: no memory. */
bool hc_exec_own_program(cudaGraphExec_t exec);
/* Replaces an op of a program that nobody else holds; takes over the reference. */
void hc_exec_put(cudaGraphExec_t exec, size_t place, struct hc_op *op);
/* Replaces one node's op by one that may stand there. Takes over the op's reference, whatever it returns. */
cudaError_t hc_exec_set(cudaGraphExec_t exec, cudaGraphNode_t node, struct hc_op *op);

#endif
