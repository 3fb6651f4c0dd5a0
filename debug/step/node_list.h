/* The nodes of a segment in the order in which a walk runs them, and functions that run one of them alone. */
#ifndef BG_DEBUG_STEP_NODE_LIST_H
#define BG_DEBUG_STEP_NODE_LIST_H

#include "debug/graph/nodes.h"

typedef struct bg__step_node {
    const bg__node *node;
    long outer;     /* place in the segment's list; in a child graph, the place of the child graph's node */
    char place[48]; /* "3", or "3.1" in a child graph */
} bg__step_node;

typedef struct bg__step_list {
    bg__step_node *nodes;
    size_t count, capacity;
    const char *whole; /* why the nodes cannot run alone; NULL: they can */
} bg__step_list;

/* Lists all nodes; the nodes of a child graph replace its node. nodes: those of the whole graph; they must outlive the
 * list. order: how independent nodes of one call are sorted: 0 as captured, 1 reversed, others by a hash of the number.
 * Call bg__step_list_free also after a failure. */
bg_status bg__step_list_create(bg__step_list *list, cudaGraph_t graph, const bg__nodes *nodes, int order);
void bg__step_list_free(bg__step_list *list);

enum { BG__STEP_PARTS_MAX = 32, BG__STEP_BYTES_MAX = 192 };

/* What a kernel node launches, copied for the report of a fault. */
typedef struct bg__step_kernel {
    char name[256]; /* "": not a kernel */
    unsigned grid[3], block[3];
    struct {
        size_t offset, bytes;
    } part[BG__STEP_PARTS_MAX]; /* the first of its parameters, or the one buffer that has all */
    int parts;
    bool more;
    unsigned char bytes[BG__STEP_BYTES_MAX]; /* of all parts, one after the other */
} bg__step_kernel;
void bg__step_kernel_read(const bg__node *node, bg__step_kernel *kernel);
/* Writes "; grid 1 x 1 x 1, block 64 x 1 x 1, parameters +0 0x00007f..., +8 ...": parameters as words of 8 bytes with
 * offsets, and words of 4 bytes that look like a float also as one, "+16 1.5 (0x3fc00000)"; "" if it is no kernel. */
const char *bg__step_kernel_text(const bg__step_kernel *kernel, char *text, size_t bytes);

/* Measures a node that runs alone. The caller creates both events, with timing. */
typedef struct bg__timer {
    cudaEvent_t begin, end;
    double us;
} bg__timer;
/* Call it after both events have completed. Sets us. */
bg_status bg__timer_read(bg__timer *timer);

/* From now on, failed CUDA calls are retried once. Programs under --attach need this: their graphs must run whole even
 * if one call of the tool fails. */
void bg__step_retry_begin(void);
bool bg__step_retries(void);

/* Destroys *last and sets it to NULL. *last is the executable graph that ran last. It stays alive until the next one
 * exists, so that CUDA keeps the block of device memory that both lie in. Otherwise CUDA may allocate and free a block
 * for each node (400 us on an H200). NULL at first. */
void bg__step_release_last_exec(cudaGraphExec_t *last);

/* Instantiates a graph with only that node, a memcpy or memset node. *refused: CUDA's error; CUDA refuses nodes that
 * use freed memory. */
bg_status bg__step_instantiate_alone(const bg__node *node, cudaGraphExec_t *last, cudaError_t *refused);

/* Launches a graph with only that node and waits. timer: its events are recorded before and after the node; NULL: none.
 * *fault: the error of the launch or the wait. Returns the status of building the graph. */
bg_status bg__step_run_alone(const bg__node *node, cudaStream_t stream, bg__timer *timer, cudaGraphExec_t *last,
                             cudaError_t *fault);
/* Waits for the stream; retries once after bg__step_retry_begin. */
cudaError_t bg__step_synchronize(cudaStream_t stream);

#endif
