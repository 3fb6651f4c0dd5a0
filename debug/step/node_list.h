/* The nodes of a segment in the order in which a walk runs them, and functions that run one of them alone. */
#ifndef BG_DEBUG_STEP_NODE_LIST_H
#define BG_DEBUG_STEP_NODE_LIST_H

#include "debug/graph/nodes.h"

typedef struct bg__step_node {
    const bg__node *node;
    long outer;     /* its place in the segment's list; in a child graph, the place of the child graph's node */
    char place[48]; /* "3", or "3.1" in a child graph */
} bg__step_node;

typedef struct bg__step_list {
    bg__step_node *nodes;
    size_t count, capacity;
    const char *whole; /* why the nodes cannot run alone; NULL: they can */
} bg__step_list;

/* Lists all nodes; the nodes of a child graph replace its node. nodes: those of the whole graph, which must outlive the
 * list. order: of one call, nodes that do not wait for each other come as they were captured (0), the other way
 * round (1), or in an order that the number selects. Call bg__step_list_free also after a failure. */
bg_status bg__step_list_create(bg__step_list *list, cudaGraph_t graph, const bg__nodes *nodes, int order);
void bg__step_list_free(bg__step_list *list);

enum { BG__STEP_PARTS_MAX = 32, BG__STEP_BYTES_MAX = 192 };

/* What a kernel node launches, copied for the report of a fault. */
typedef struct bg__step_kernel {
    char name[256]; /* "": not a kernel */
    unsigned grid[3], block[3];
    struct {
        size_t offset, bytes;
    } part[BG__STEP_PARTS_MAX]; /* its parameters, or the one buffer that holds all; the first of them */
    int parts;
    bool more;
    unsigned char bytes[BG__STEP_BYTES_MAX]; /* one after the other */
} bg__step_kernel;
void bg__step_describe(const bg__node *node, bg__step_kernel *kernel);
/* "; grid 1 x 1 x 1, block 64 x 1 x 1, parameters +0 0x00007f..., +8 ...", parameters as words of 8 bytes with their
 * offsets, words of 4 bytes that may be a float also as one, "+16 1.5 (0x3fc00000)"; "" for what is no kernel. */
const char *bg__step_launch(const bg__step_kernel *kernel, char *text, size_t bytes);

/* Measures a node that runs alone: two events with timing, which the caller creates, and the time between them. */
typedef struct bg__timer {
    cudaEvent_t begin, end;
    double us;
} bg__timer;
/* After both events are reached. */
bg_status bg__timer_read(bg__timer *timer);

/* From now on a call that fails is made again, and only what fails twice is an error: for programs of others, whose
 * graphs have to run whole although a call of the tool failed once. */
void bg__step_insist(void);
bool bg__step_insists(void);

/* The executable graph that ran last, kept until the next one is there: it holds the block of device memory in which
 * CUDA puts both. Without it, where all other blocks are full, CUDA allocates and frees a block for each node (400 us
 * on an H200). NULL at first; bg__step_drop_last at the end. */
void bg__step_drop_last(cudaGraphExec_t *last);

/* *refused: what CUDA says to a graph with only that node, a memcpy or memset node; of freed memory it takes none. */
bg_status bg__step_try_alone(const bg__node *node, cudaGraphExec_t *last, cudaError_t *refused);

/* Launches a graph with only that node and waits. timer (NULL: none): its events become nodes before and after the
 * node. *fault: the error of the launch or the wait. The status is that of building the graph. */
bg_status bg__step_run_alone(const bg__node *node, cudaStream_t stream, bg__timer *timer, cudaGraphExec_t *last,
                             cudaError_t *fault);
/* Waits for the stream. */
cudaError_t bg__step_wait(cudaStream_t stream);

#endif
