/* A copy of a graph in which each node is followed by a mark: a word of host memory that the device writes when the
 * node has ended, before any node that depends on it begins. */
#ifndef BG_DEBUG_MARKED_H
#define BG_DEBUG_MARKED_H

#include "debug/graph/waits.h"
#include "marks.h"

typedef struct bg__marked_node {
    char *name; /* "scale#1" */
    bg_site site;
    enum cudaGraphNodeType type;
    const char *others; /* as bg__kernel_waits_for_others */
    bg__grid grid;
    bool writeback;
} bg__marked_node;

/* call: that names it; NULL: none. Call bg__marked_node_free also after a failure. Errors: OUT_OF_MEMORY. */
bg_status bg__marked_node_describe(bg__marked_node *to, const bg__node *node, const bg__call *call);
void bg__marked_node_free(bg__marked_node *node);

/* Words of its marks. */
enum { BG__MARK_BEGUN, BG__MARK_ENDED, BG__MARK_NODES };

/* Starts zeroed. */
typedef struct bg__marked {
    cudaGraph_t graph;
    cudaGraphExec_t exec; /* NULL: there is no copy, and node has no nodes */
    bg__marks marks;      /* BEGUN, ENDED: numbers of launches; then 1 for each node that has ended */
    bg__marked_node *node;
    size_t count;
    struct bg__marked_edge {
        size_t from, to;
    } * edge;
    size_t edges;
} bg__marked;

enum { BG__MARKED_MAX = 1 << 16 }; /* nodes of a graph */

/* graph has the calls that name the nodes of source, which is its segment. Errors: OUT_OF_MEMORY, UNSUPPORTED (more
 * than BG__MARKED_MAX), CUDA: source cannot be copied. Then marked has the marks of launches alone; without these,
 * marked.marks.words is NULL. Call bg__marked_free also after a failure. */
bg_status bg__marked_make(bg__marked *marked, const bg_graph *graph, int segment, cudaGraph_t source);
/* No launch of it runs. */
void bg__marked_free(bg__marked *marked);

#endif
