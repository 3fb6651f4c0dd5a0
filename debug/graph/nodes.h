/* The nodes of a graph: kind, kernel, parameters, and the op call that made each. */
#ifndef BG_DEBUG_NODES_H
#define BG_DEBUG_NODES_H

#include <cuda.h>

#include "graph/inspect.h"

enum { BG__KERNEL_NAME_SHOWN = 80 }; /* bytes of a name in a message: those of templates are very long */

/* A kernel that a node launches. */
typedef struct bg__kernel {
    CUfunction function; /* NULL where the driver gives only kernel, as for kernels of libraries */
    CUkernel kernel;
    const char *symbol; /* mangled in C++; NULL: the driver has none */
    const char *name;   /* symbol as the source writes it: "scale(float*, int)" */
    char *demangled;    /* owns name; NULL: name is symbol */
    bool has_layout;    /* its parameters' places are known */
    int parameter_count;
    struct bg__place {
        size_t offset, bytes;
    } * places;
    struct bg__kernel *next;
} bg__kernel;

/* The kernel that a launch names by handle, a function or a kernel of a library: name and parameters. kernel starts
 * zeroed; free it, also where this failed. Errors: OUT_OF_MEMORY, UNSUPPORTED, CUDA. */
bg_status bg__kernel_read(bg__kernel *kernel, void *handle);
void bg__kernel_free(bg__kernel *kernel);

/* A node of a segment or of a child graph. Handles and values belong to the graph. */
typedef struct bg__node {
    cudaGraphNode_t handle;
    enum cudaGraphNodeType type;
    int segment;
    size_t place;         /* in the list of its own graph, from cudaGraphGetNodes */
    long parent;          /* index of the node whose child graph contains it; -1: the segment contains it */
    const bg__call *call; /* the innermost op call that captured it; NULL: none did */
    bool writeback;       /* copies an eager call's outputs; replays change it, these are its parameters at capture */
    bool known;           /* its parameters could be read */
    const bg__kernel *kernel; /* of a kernel node */
    union {
        CUDA_KERNEL_NODE_PARAMS launch; /* kernel: in either form, see bg__node_parameter */
        struct cudaMemcpy3DParms copy;  /* 1D and 2D ones, too */
        struct cudaMemsetParams fill;
        struct cudaHostNodeParams host;
        cudaGraph_t child;
        cudaEvent_t event; /* record, wait */
        struct {
            const void *ptr;
            size_t bytes; /* 0 where the node frees */
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

/* All nodes of all segments, in the order of cudaGraphGetNodes; those of a child graph follow their node. Starts
 * zeroed; free it, also where this failed. The graph must outlive it. Errors: OUT_OF_MEMORY, UNSUPPORTED (a driver
 * without cuFuncGetParamInfo), CUDA. */
bg_status bg__nodes_take(const bg_graph *graph, bg__nodes *nodes);
void bg__nodes_free(bg__nodes *nodes);

/* The node with that handle; NULL: none. */
const bg__node *bg__nodes_find(const bg__nodes *nodes, cudaGraphNode_t handle);

/* "kernel", "memcpy", "memset", ... */
const char *bg__node_kind(const bg__node *node);
/* "segment 2, node 17, kernel NAME"; of a child graph "segment 2, node 17, child node 3, memcpy". Gives text back. */
const char *bg__node_label(const bg__nodes *nodes, const bg__node *node, char *text, size_t bytes);

/* A kernel's parameter: its place among all, and its bytes in the node. */
typedef struct bg__parameter {
    int index;
    size_t offset, bytes;
    const void *value;
} bg__parameter;

/* The index-th parameter of a kernel node, whether the node holds them one by one (kernelParams) or in one buffer
 * (extra). A buffer counts as one parameter if the driver does not know its layout. false: there is no such parameter,
 * or it is unknown. */
bool bg__node_parameter(const bg__node *node, int index, bg__parameter *parameter);

/* One end of a memcpy node: the first byte that is read (source) or written, and how many bytes there are up to the
 * last one, rows' gaps included. false: the end is a CUDA array, or the node's parameters are unknown. */
typedef enum bg__end_kind { BG__SOURCE, BG__DESTINATION } bg__end_kind;
typedef struct bg__end {
    const void *address;
    size_t bytes;
} bg__end;
bool bg__copy_end(const bg__node *node, bg__end_kind which, bg__end *end);
/* The same of what a memset node writes. */
bool bg__fill_end(const bg__node *node, bg__end *end);

#endif
