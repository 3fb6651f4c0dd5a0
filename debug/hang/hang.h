/* BG_HANG=1: which graph hangs, and in which node. A thread reads the marks that launches leave in host memory, without
 * a call of CUDA. What makes no progress for a second is in the file of running.h, so that the command finds it there
 * when it has killed the program. */
#ifndef BG_DEBUG_HANG_H
#define BG_DEBUG_HANG_H

#include "debug/graph/nodes.h"

/* Reads the environment, and starts the thread where hangs are wanted. The program is of this process, not of a child.
 * INVALID_ARGUMENT. */
bg_status bg__hangs_begin(void);
bool bg__hangs_wanted(void);

/* The launches of one executable graph. */
typedef struct bg__watched bg__watched;

/* What is launched. */
typedef struct bg__watched_what {
    const bg_graph *graph; /* has the calls that name its nodes */
    int segment;
    const char *name;     /* for messages: "segment 2 of decode" */
    cudaGraph_t source;   /* NULL: launches are followed as a whole */
    cudaGraphExec_t key;  /* what source was instantiated as; NULL: it is no graph */
    const bg__call *call; /* of what is no graph; NULL: none */
    uint64_t launches;    /* of it before this copy of source */
} bg__watched_what;

/* Where a copy of source cannot be made, launches are followed as a whole, and *why says why, which lives as long as
 * *watched. In a copy, nodes that write back outputs of eager calls do nothing. Errors: OUT_OF_MEMORY, CUDA. */
bg_status bg__watched_create(bg__watched **watched, const bg__watched_what *what, const char **why);
/* The copy that is launched, and what it was instantiated from; NULL: there is none. */
cudaGraphExec_t bg__watched_copy(const bg__watched *watched, cudaGraph_t *source);
/* Launches the copy, or key. The caller keeps other threads away. */
cudaError_t bg__watched_launch(bg__watched *watched, cudaStream_t stream);
/* The same in parts: what is launched is launched between begin and end. */
void bg__watched_begin(bg__watched *watched, cudaStream_t stream);
cudaError_t bg__watched_run(bg__watched *watched, cudaStream_t stream);
void bg__watched_end(bg__watched *watched, cudaStream_t stream);
/* Its launches may still run. */
void bg__watched_drop(bg__watched *watched);

/* The calling thread waits for the device, in that function of CUDA. */
void bg__hang_wait_begin(const char *function, bg_site site);
void bg__hang_wait_end(void);

/* The calling thread runs a node of graph alone, and waits for it, until end. call: the op call that it is of; NULL:
 * none. */
void bg__hang_node_begin(const bg_graph *graph, const bg__node *node, const bg__call *call);
void bg__hang_node_end(void);

#endif
