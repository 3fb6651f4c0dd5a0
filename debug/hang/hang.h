/* BG_HANG=1: finds the graph and the node that hang. A thread reads the marks that launches leave in host memory,
 * without calling CUDA. If a launch makes no progress for a second, the thread writes it into the file of
 * running_file.h. The command finds it there after it has killed the program. */
#ifndef BG_DEBUG_HANG_H
#define BG_DEBUG_HANG_H

#include "debug/graph/nodes.h"

/* Reads BG_HANG, and starts the thread if it is set. A forked child has no thread. INVALID_ARGUMENT. */
bg_status bg__hangs_begin(void);
bool bg__hangs_wanted(void);

/* The launches of one executable graph. */
typedef struct bg__hang_copy bg__hang_copy;

/* What is launched. */
typedef struct bg__hang_target {
    const bg_graph *graph; /* contains the calls that name the nodes */
    int segment;
    const char *name;     /* for messages: "segment 2 of decode"; not NULL */
    cudaGraph_t source;   /* NULL: launches are followed as a whole */
    cudaGraphExec_t key;  /* the executable graph that was instantiated from `source`; NULL: the target is not a
                           * graph */
    const bg__call *call; /* the call of a target that is not a graph; NULL: none */
    uint64_t launches;    /* number of launches before this copy */
} bg__hang_target;

/* Creates a copy of `source` with marks. If CUDA cannot copy `source`, launches are followed as a whole, and *why says
 * why; this text lives as long as *watched. In the copy, nodes that write back outputs of eager calls do nothing.
 * Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__hang_copy_create(bg__hang_copy **watched, const bg__hang_target *what, const char **why);
/* Returns the executable copy; *source becomes the graph that the copy was instantiated from. NULL: there is no
 * copy. */
cudaGraphExec_t bg__hang_copy_exec(const bg__hang_copy *watched, cudaGraph_t *source);
/* Launches the copy, or `key` if there is none. The caller serializes launches. */
cudaError_t bg__hang_copy_launch(bg__hang_copy *watched, cudaStream_t stream);
/* The same in parts: call `run`, or launch something else, between `begin` and `end`. */
void bg__hang_copy_mark_begin(bg__hang_copy *watched, cudaStream_t stream);
cudaError_t bg__hang_copy_run(bg__hang_copy *watched, cudaStream_t stream);
void bg__hang_copy_mark_end(bg__hang_copy *watched, cudaStream_t stream);
/* Call it when the program launches the copy no more; launches may still run. Frees the copy when all its launches have
 * ended. */
void bg__hang_copy_release(bg__hang_copy *watched);

/* Call it when the calling thread begins to wait for the device in the CUDA function `function`. */
void bg__hang_wait_begin(const char *function, bg_site site);
void bg__hang_wait_end(void);

/* Call it when the calling thread runs a node of `graph` alone and waits for it, until bg__hang_node_end. call: the
 * node's op call; NULL: none. */
void bg__hang_node_begin(const bg_graph *graph, const bg__node *node, const bg__call *call);
void bg__hang_node_end(void);

#endif
