/* The nodes of a graph: kind, kernel, parameters, and the op call that made each node. */
#ifndef BG_DEBUG_NODES_H
#define BG_DEBUG_NODES_H

#include <cuda.h>

#include "graph/inspect.h"

enum { BG__KERNEL_NAME_SHOWN = 80 }; /* bytes of a name in a message: names of templates are very long */

/* A kernel that a node launches. */
typedef struct bg__kernel {
    CUfunction function; /* NULL if the driver gives only `kernel`, as for kernels of libraries */
    CUkernel kernel;
    const char *symbol; /* mangled in C++; NULL: the driver has no name */
    const char *name;   /* `symbol` as it is in the source: "scale(float*, int)" */
    char *demangled;    /* owns `name`; NULL: `name` is `symbol` */
    bool has_layout;    /* the places of its parameters are known */
    int parameter_count;
    struct bg__place {
        size_t offset, bytes;
    } * places;
    struct bg__kernel *next;
} bg__kernel;

/* Reads the name and parameters of the kernel that `handle` refers to: a function, or a kernel of a library. `kernel`
 * starts zeroed; call bg__kernel_free also after a failure. Errors: OUT_OF_MEMORY, UNSUPPORTED, CUDA. */
bg_status bg__kernel_read(bg__kernel *kernel, void *handle);
void bg__kernel_free(bg__kernel *kernel);

/* A node of a segment or of a child graph. Handles and values belong to the graph. */
typedef struct bg__node {
    cudaGraphNode_t handle;
    enum cudaGraphNodeType type;
    int segment;
    size_t place;             /* its place in its own graph, as in cudaGraphGetNodes */
    long parent;              /* index of the node whose child graph contains it; -1: it is in the segment itself */
    const bg__call *call;     /* the innermost op call that captured it; NULL: none did */
    bool writeback;           /* it copies outputs of an eager call; replays change its parameters, and known values are
                               * those at capture */
    bool known;               /* its parameters could be read */
    const bg__kernel *kernel; /* for a kernel node */
    union {
        CUDA_KERNEL_NODE_PARAMS launch; /* of a kernel node, in either form: see bg__node_parameter */
        struct cudaMemcpy3DParms copy;  /* also for 1D and 2D copies */
        struct cudaMemsetParams fill;
        struct cudaHostNodeParams host;
        cudaGraph_t child;
        cudaEvent_t event; /* of a record or wait node */
        struct {
            const void *ptr;
            size_t bytes; /* 0 if the node frees memory */
        } memory;
    } of;
} bg__node;

typedef struct bg__nodes {
    bg__node *node;
    size_t count, capacity;
    bg__kernel *kernels;
    struct bg__node_handle {
        cudaGraphNode_t handle;
        size_t index;
    } * by_handle;
} bg__nodes;

/* Reads all nodes of all segments, in the order of cudaGraphGetNodes. The nodes of a child graph follow the child
 * graph's node. `nodes` starts zeroed; call bg__nodes_free also after a failure. The graph must outlive `nodes`.
 * Errors: OUT_OF_MEMORY, UNSUPPORTED (a driver without cuFuncGetParamInfo), CUDA. */
bg_status bg__nodes_read(const bg_graph *graph, bg__nodes *nodes);
void bg__nodes_free(bg__nodes *nodes);

/* Finds the node with that handle; NULL: none. */
const bg__node *bg__nodes_find(const bg__nodes *nodes, cudaGraphNode_t handle);

/* "kernel", "memcpy", "memset", ... */
const char *bg__node_kind(const bg__node *node);
/* "segment 2, node 17, kernel NAME"; in a child graph "segment 2, node 17, child node 3, memcpy". Returns text. */
const char *bg__node_label(const bg__nodes *nodes, const bg__node *node, char *text, size_t bytes);

/* A kernel's parameter: its offset among all parameters, and its value in the node. */
typedef struct bg__parameter {
    int index;
    size_t offset, bytes;
    const void *value;
} bg__parameter;

/* Reads the parameter of that index of a kernel node. The node may have its parameters one by one (kernelParams) or in
 * one buffer (extra). A buffer counts as one parameter if the driver does not know its layout. Returns false if there
 * is no such parameter, or if it is unknown. */
bool bg__node_parameter(const bg__node *node, int index, bg__parameter *parameter);

/* The source or destination of a memcpy node: its first byte, and the number of bytes up to the last one, including
 * gaps between rows. Returns false for a CUDA array, or if the parameters of the node are unknown. */
typedef enum bg__copy_side { BG__SOURCE, BG__DESTINATION } bg__copy_side;
typedef struct bg__node_range {
    const void *address;
    size_t bytes;
} bg__node_range;
bool bg__memcpy_node_range(const bg__node *node, bg__copy_side which, bg__node_range *end);
/* Reads the destination of a memset node in the same way. */
bool bg__memset_node_range(const bg__node *node, bg__node_range *end);

#endif
