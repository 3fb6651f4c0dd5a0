/* Makes a copy of a graph in which a mark follows each node. A mark is a word of host memory. The device writes it when
 * the node has ended, before any dependent node begins. */
#ifndef BG_DEBUG_MARKED_GRAPH_H
#define BG_DEBUG_MARKED_GRAPH_H

#include "debug/graph/waiting_kernels.h"
#include "marks.h"

typedef struct bg__marked_node {
    char *name; /* "scale#1" */
    bg_site site;
    enum cudaGraphNodeType type;
    const char *others; /* as bg__kernel_waits_for_others */
    bg__grid grid;
    bool writeback;
} bg__marked_node;

/* call: the op call that names the node; NULL: none. Call bg__marked_node_free also after a failure. Errors:
 * OUT_OF_MEMORY. */
bg_status bg__marked_node_describe(bg__marked_node *to, const bg__node *node, const bg__call *call);
void bg__marked_node_free(bg__marked_node *node);

/* Indices of the words of its marks. */
enum { BG__MARK_BEGUN, BG__MARK_ENDED, BG__MARK_NODES };

/* Starts zeroed. */
typedef struct bg__marked_graph {
    cudaGraph_t graph;
    cudaGraphExec_t exec; /* NULL: there is no copy, and no nodes */
    bg__marks marks;      /* BEGUN, ENDED: numbers of launches; then 1 for each node that has ended */
    bg__marked_node *node;
    size_t count;
    struct bg__marked_edge {
        size_t from, to;
    } * edge;
    size_t edges;
} bg__marked_graph;

enum { BG__MARKED_NODES_MAX = 1 << 16 }; /* most nodes of a graph */

/* Makes the copy. `source` is a segment of `graph`, which has the calls that name the nodes. After a failure, `marked`
 * has only the marks of launches. If these failed, too, marked.marks.words is NULL. Call bg__marked_graph_free also
 * after a failure. Errors: OUT_OF_MEMORY, UNSUPPORTED (more than BG__MARKED_NODES_MAX nodes), CUDA (`source` cannot be
 * copied). */
bg_status bg__marked_graph_create(bg__marked_graph *marked, const bg_graph *graph, int segment, cudaGraph_t source);
/* No launch of the copy may be running. */
void bg__marked_graph_free(bg__marked_graph *marked);

#endif
