/* The values that a node runs with, as far as CUDA reports them. */
#ifndef BG_DEBUG_NODE_VALUES_H
#define BG_DEBUG_NODE_VALUES_H

#include "nodes.h"

/* Attributes of a kernel node's launch, which are not among its parameters. */
typedef struct bg__launch_attributes {
    unsigned cluster[3];  /* 1 in each direction: the launch has no clusters */
    unsigned cooperative; /* 1: the blocks run together */
    int priority;
    unsigned domain; /* memory synchronization domain */
} bg__launch_attributes;
/* *known: CUDA reports these attributes. Errors: CUDA. */
bg_status bg__launch_attributes_read(cudaGraphNode_t node, bg__launch_attributes *attributes, bool *known);

/* A value. */
typedef struct bg__node_value {
    const char *name;  /* "gridDim.x", "the node's source"; NULL: a parameter of the kernel */
    const void *value; /* belongs to the node or to its bg__node_values */
    size_t bytes;      /* 0: the node has no such value, or CUDA does not report it */
    enum {
        BG__VALUE_NUMBER,
        BG__VALUE_ADDRESS,
        BG__VALUE_EVENT,
        BG__VALUE_PARAMETER, /* a parameter of a kernel, which may contain addresses and padding */
        BG__VALUE_SCHEDULING /* decides when the node runs, not what it computes */
    } kind;
    int index;     /* of a parameter: its index among the kernel's parameters */
    size_t offset; /* of a parameter: the offset of the value in it, in bytes */
} bg__node_value;

/* All values of a node except the parameters of its kernel. */
typedef struct bg__node_values {
    const bg__node *node; /* must outlive this struct */
    int count;
    bg__node_value list[16];
    uint64_t words[16]; /* values that the node does not contain in this form */
} bg__node_values;
/* Errors: CUDA. */
bg_status bg__node_values_read(const bg__node *node, bg__node_values *values);

/* Reads the value of that index. The parameters of a kernel are the last values. Nodes of one type have the same values
 * in the same order. Returns false if there is no such value. */
bool bg__node_values_get(const bg__node_values *values, int index, bg__node_value *value);

/* Whether the node is a kernel of NCCL. NCCL gives each captured collective its own memory and numbers, so the
 * parameters of the kernel differ in every capture. */
bool bg__node_is_collective(const bg__node *node);

/* Sums of hashes over all edges, so that the order of the edges does not matter. ends: hashes of the nodes at both
 * ends. kinds: hashes of these nodes and of the edge data (ports, types). */
typedef struct bg__edge_hashes {
    uint64_t ends, kinds;
} bg__edge_hashes;
/* Adds the edges of a segment's graph, and of the child graphs in it. nodes: all nodes of the graph. Errors:
 * OUT_OF_MEMORY, CUDA. */
bg_status bg__edge_hashes_add(bg__edge_hashes *hashes, const bg__nodes *nodes, cudaGraph_t graph, int segment);

#endif
