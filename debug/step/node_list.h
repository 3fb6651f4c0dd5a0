/* The nodes of a segment, in the order in which a step runs them, and one of them alone. */
#ifndef BG_DEBUG_STEP_NODE_LIST_H
#define BG_DEBUG_STEP_NODE_LIST_H

#include "debug/graph/nodes.h"

typedef struct bg__step_node {
    const bg__node *node;
    long outer;     /* its place in the segment's list; of a node in a child graph, the child's */
    char place[48]; /* "3", or "3.1" in a child graph */
} bg__step_node;

typedef struct bg__step_list {
    bg__step_node *nodes;
    size_t count, capacity;
    const char *whole; /* what keeps the segment from being taken apart; NULL: nothing */
    size_t near;       /* in nodes, while the list is made */
} bg__step_list;

/* All nodes but child graphs themselves, in whose place theirs are. nodes: those of the whole graph, which live longer.
 * free takes what create left, also after a failure. */
bg_status bg__step_list_create(bg__step_list *list, cudaGraph_t graph, const bg__nodes *nodes);
void bg__step_list_free(bg__step_list *list);

enum { BG__STEP_PARTS_MAX = 32, BG__STEP_BYTES_MAX = 192 };

/* What a kernel node would launch: a copy, to be reported after a fault. */
typedef struct bg__step_kernel {
    char name[256]; /* "" where it is no kernel */
    unsigned grid[3], block[3];
    struct {
        size_t offset, bytes;
    } part[BG__STEP_PARTS_MAX]; /* its parameters, or the one buffer that holds all; the first of them */
    int parts;
    bool more;
    unsigned char bytes[BG__STEP_BYTES_MAX]; /* one after the other */
} bg__step_kernel;
void bg__step_describe(const bg__node *node, bg__step_kernel *kernel);
/* Its parameters as words of 8 bytes by their offset, "+0 0x00007f..., +8 ..."; "unknown" where there are none. */
const char *bg__step_words(const bg__step_kernel *kernel, char *text, size_t bytes);

/* How long what ran alone took on the device: two events that can tell the time, which who measures makes. */
typedef struct bg__timer {
    cudaEvent_t begin, end;
    double us;
} bg__timer;
/* After both events are reached. */
bg_status bg__timer_read(bg__timer *timer);

/* Launches a graph of that node alone and waits. timer (NULL: none): its events are nodes of that graph, before and
 * after the node. fault: what CUDA said to launch and wait; the status is that of what came before. */
bg_status bg__step_run_alone(const bg__node *node, cudaStream_t stream, bg__timer *timer, cudaError_t *fault);

#endif
