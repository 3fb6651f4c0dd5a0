/* Conformance: the edges of graphs, and what lists nodes. */
#include "case_graph.h"

enum { LIST_MAX = 8 };

#define CHAIN_LOCALS                                                                                                   \
    cudaGraphNode_t n[3] = {NULL, NULL, NULL};                                                                         \
    GRAPH();                                                                                                           \
    ADDER(n[0], 1);                                                                                                    \
    ADDER(n[1], 10);                                                                                                   \
    ADDER(n[2], 100)
#define ADD_EDGE(from, to)    ASK(cudaGraphAddDependencies(s->graph, &n[from], &n[to], NULL, 1))
#define REMOVE_EDGE(from, to) ASK(cudaGraphRemoveDependencies(s->graph, &n[from], &n[to], NULL, 1))
#define EDGES()                                                                                                        \
    do {                                                                                                               \
        size_t edges = 77;                                                                                             \
        ASK(cudaGraphGetEdges(s->graph, NULL, NULL, NULL, &edges));                                                    \
        VALUE("edges", edges);                                                                                         \
    } while (0)
/* A list with more room than is asked for, filled with marks. */
#define LIST_LOCALS                                                                                                    \
    cudaGraphNode_t list[LIST_MAX];                                                                                    \
    size_t count = 0;                                                                                                  \
    STEP_AS("/* list: room for 8 nodes, each a mark */", mark_all(list))
#define LIST() note_list(s, list, count)

static cudaError_t mark_all(cudaGraphNode_t *list)
{
    for (int i = 0; i < LIST_MAX; i++)
        list[i] = (cudaGraphNode_t)(void *)list;
    return cudaSuccess;
}

/* How many nodes a call has written, how many NULLs after them, and how many marks it has left. */
static void note_list(struct scene *s, cudaGraphNode_t *list, size_t count)
{
    int nodes = 0, nulls = 0, marks = 0;
    for (int i = 0; i < LIST_MAX; i++) {
        bool mark = list[i] == (cudaGraphNode_t)(void *)list;
        *(mark ? &marks : list[i] ? &nodes : &nulls) += 1;
    }
    case_note(s, "count, and list", "%zu; %d nodes, %d NULL, %d marks", count, nodes, nulls, marks);
}

CASE(edge_twice, {
    CHAIN_LOCALS;
    ADD_EDGE(0, 1);
    ADD_EDGE(0, 1);
    EDGES();
});

CASE(edge_twice_in_one_call, {
    CHAIN_LOCALS;
    cudaGraphNode_t from[2] = {n[0], n[0]};
    cudaGraphNode_t to[2] = {n[1], n[1]};
    SAY("from, to: from n[0] to n[1], twice");
    ASK(cudaGraphAddDependencies(s->graph, from, to, NULL, 2));
    EDGES();
});

CASE(edge_partly_refused, {
    CHAIN_LOCALS;
    cudaGraphNode_t from[2] = {n[0], n[1]};
    cudaGraphNode_t to[2] = {n[1], n[1]};
    SAY("from, to: from n[0] to n[1], and from n[1] to itself");
    ASK(cudaGraphAddDependencies(s->graph, from, to, NULL, 2));
    EDGES();
});

CASE(edge_to_itself, {
    CHAIN_LOCALS;
    ADD_EDGE(0, 0);
    EDGES();
    ASK_INSTANTIATE();
});

CASE(edge_cycle, {
    CHAIN_LOCALS;
    ADD_EDGE(0, 1);
    ADD_EDGE(1, 2);
    ADD_EDGE(2, 0);
    EDGES();
    ASK_INSTANTIATE();
    REMOVE_EDGE(2, 0);
    ASK_INSTANTIATE();
    RUN_EXEC_X();
});

CASE(edge_foreign, {
    cudaGraphNode_t foreign = NULL;
    CHAIN_LOCALS;
    STEP(cudaGraphCreate(&s->other, 0));
    STEP(cudaGraphAddEmptyNode(&foreign, s->other, NULL, 0));
    ASK(cudaGraphAddDependencies(s->graph, &n[0], &foreign, NULL, 1));
    ASK(cudaGraphAddDependencies(s->graph, &foreign, &n[0], NULL, 1));
    ASK(cudaGraphAddDependencies(s->other, &n[0], &n[1], NULL, 1));
    ASK(cudaGraphRemoveDependencies(s->graph, &foreign, &n[0], NULL, 1));
    EDGES();
});

CASE(edge_missing_arguments, {
    CHAIN_LOCALS;
    cudaGraphNode_t none = NULL;
    ASK(cudaGraphAddDependencies(NULL, &n[0], &n[1], NULL, 1));
    ASK(cudaGraphAddDependencies(s->graph, NULL, &n[1], NULL, 1));
    ASK(cudaGraphAddDependencies(s->graph, &n[0], NULL, NULL, 1));
    ASK(cudaGraphAddDependencies(s->graph, &none, &n[1], NULL, 1));
    ASK(cudaGraphAddDependencies(s->graph, NULL, NULL, NULL, 0));
    ASK(cudaGraphRemoveDependencies(s->graph, NULL, NULL, NULL, 0));
    ASK(cudaGraphRemoveDependencies(s->graph, NULL, &n[1], NULL, 1));
    EDGES();
});

CASE(edge_removed, {
    CHAIN_LOCALS;
    ADD_EDGE(0, 1);
    REMOVE_EDGE(1, 0);
    REMOVE_EDGE(0, 2);
    EDGES();
    REMOVE_EDGE(0, 1);
    REMOVE_EDGE(0, 1);
    EDGES();
});

CASE(edge_removed_partly, {
    CHAIN_LOCALS;
    cudaGraphNode_t from[2] = {n[0], n[0]};
    cudaGraphNode_t to[2] = {n[1], n[2]};
    SAY("from, to: from n[0] to n[1], and to n[2]");
    ADD_EDGE(0, 1);
    ASK(cudaGraphRemoveDependencies(s->graph, from, to, NULL, 2));
    EDGES();
});

CASE(edge_types, {
    CHAIN_LOCALS;
    cudaGraphEdgeData data = {0};
    ASK(cudaGraphAddDependencies(s->graph, &n[0], &n[1], &data, 1));
    LET(data.to_port = 1);
    ASK(cudaGraphAddDependencies(s->graph, &n[0], &n[2], &data, 1));
    LET(data.to_port = 0);
    LET(data.from_port = 9);
    ASK(cudaGraphAddDependencies(s->graph, &n[0], &n[2], &data, 1));
    LET(data.from_port = 0);
    LET(data.reserved[0] = 1);
    ASK(cudaGraphAddDependencies(s->graph, &n[0], &n[2], &data, 1));
    EDGES();
});

CASE(list_nodes, {
    CHAIN_LOCALS;
    LIST_LOCALS;
    ASK(cudaGraphGetNodes(s->graph, NULL, &count));
    LIST();
    LET(count = 2);
    ASK(cudaGraphGetNodes(s->graph, list, &count));
    LIST();
    LET(count = 6);
    ASK(cudaGraphGetNodes(s->graph, list, &count));
    LIST();
    ANSWERED("in the order added", list[0] == n[0] && list[1] == n[1] && list[2] == n[2]);
    LET(count = 0);
    ASK(cudaGraphGetNodes(s->graph, list, &count));
    LIST();
});

CASE(list_roots, {
    CHAIN_LOCALS;
    LIST_LOCALS;
    ADD_EDGE(0, 1);
    ASK(cudaGraphGetRootNodes(s->graph, NULL, &count));
    LIST();
    LET(count = 1);
    ASK(cudaGraphGetRootNodes(s->graph, list, &count));
    LIST();
    LET(count = 6);
    ASK(cudaGraphGetRootNodes(s->graph, list, &count));
    LIST();
    ASK(cudaGraphGetRootNodes(s->graph, list, NULL));
    ASK(cudaGraphGetRootNodes(NULL, list, &count));
    LIST();
});

CASE(list_edges, {
    cudaGraphNode_t to[LIST_MAX];
    CHAIN_LOCALS;
    LIST_LOCALS;
    ADD_EDGE(0, 1);
    ADD_EDGE(1, 2);
    LET(count = 1);
    ASK(cudaGraphGetEdges(s->graph, list, to, NULL, &count));
    LIST();
    LET(count = 6);
    ASK(cudaGraphGetEdges(s->graph, list, to, NULL, &count));
    LIST();
    ASK(cudaGraphGetEdges(s->graph, list, NULL, NULL, &count));
    ASK(cudaGraphGetEdges(s->graph, NULL, to, NULL, &count));
    LIST();
    ASK(cudaGraphGetEdges(s->graph, list, to, NULL, NULL));
});

CASE(list_dependencies, {
    CHAIN_LOCALS;
    LIST_LOCALS;
    ADD_EDGE(0, 2);
    ADD_EDGE(1, 2);
    ASK(cudaGraphNodeGetDependencies(n[2], NULL, NULL, &count));
    LIST();
    LET(count = 1);
    ASK(cudaGraphNodeGetDependencies(n[2], list, NULL, &count));
    LIST();
    LET(count = 6);
    ASK(cudaGraphNodeGetDependencies(n[2], list, NULL, &count));
    LIST();
    LET(count = 6);
    ASK(cudaGraphNodeGetDependencies(n[0], list, NULL, &count));
    LIST();
    ASK(cudaGraphNodeGetDependencies(n[2], list, NULL, NULL));
    ASK(cudaGraphNodeGetDependencies(NULL, list, NULL, &count));
    LIST();
});

CASE(list_dependents, {
    CHAIN_LOCALS;
    LIST_LOCALS;
    ADD_EDGE(0, 1);
    ADD_EDGE(0, 2);
    LET(count = 1);
    ASK(cudaGraphNodeGetDependentNodes(n[0], list, NULL, &count));
    LIST();
    LET(count = 6);
    ASK(cudaGraphNodeGetDependentNodes(n[0], list, NULL, &count));
    LIST();
    ASK(cudaGraphNodeGetDependentNodes(n[0], list, NULL, NULL));
});

CASE(list_of_empty_graph, {
    LIST_LOCALS;
    GRAPH();
    LET(count = 3);
    ASK(cudaGraphGetNodes(s->graph, list, &count));
    LIST();
    LET(count = 3);
    ASK(cudaGraphGetEdges(s->graph, NULL, NULL, NULL, &count));
    LIST();
    ASK(cudaGraphGetNodes(s->graph, list, NULL));
    ASK(cudaGraphGetNodes(NULL, list, &count));
});

CASE(node_destroyed, {
    CHAIN_LOCALS;
    size_t count = 77;
    ADD_EDGE(0, 1);
    ADD_EDGE(1, 2);
    ASK(cudaGraphDestroyNode(n[1]));
    EDGES();
    ASK(cudaGraphNodeGetDependencies(n[2], NULL, NULL, &count));
    VALUE("count", count);
    ASK(cudaGraphDestroyNode(NULL));
});

CASE(graph_create_flags, {
    ASK(cudaGraphCreate(&s->graph, 1));
    ANSWERED("graph", s->graph != NULL);
    ASK(cudaGraphCreate(NULL, 0));
    ASK(cudaGraphDestroy(NULL));
});

CASE(node_of_no_type, {
    cudaGraphNode_t node = NULL;
    enum cudaGraphNodeType type = cudaGraphNodeTypeCount;
    struct cudaGraphNodeParams params = {0};
    GRAPH();
    LET(params.type = (enum cudaGraphNodeType)99);
    ASK(cudaGraphAddNode(&node, s->graph, NULL, NULL, 0, &params));
    ASK(cudaGraphAddNode(&node, s->graph, NULL, NULL, 0, NULL));
    LET(params.type = cudaGraphNodeTypeEmpty);
    ASK(cudaGraphAddNode(&node, s->graph, NULL, NULL, 0, &params));
    ASK(cudaGraphNodeGetType(node, &type));
    VALUE("type", type);
    ASK(cudaGraphNodeGetType(node, NULL));
    ASK(cudaGraphNodeGetType(NULL, &type));
    LET(params.type = cudaGraphNodeTypeKernel);
    ASK(cudaGraphNodeSetParams(node, &params));
    LET(params.type = cudaGraphNodeTypeEmpty);
    ASK(cudaGraphNodeSetParams(node, &params));
    LET(params.reserved0[0] = 1);
    ASK(cudaGraphAddNode(&node, s->graph, NULL, NULL, 0, &params));
});

static const struct case_rule rules[] = {
    {&edge_twice, "An edge that is there already:"},
    {&edge_twice_in_one_call, "Twice in one call: the first is added, and the call refused."},
    {&edge_partly_refused, "A call with an edge that cannot be adds none of its edges."},
    {&edge_to_itself, "An edge from a node to itself:"},
    {&edge_cycle, "A cycle:"},
    {&edge_foreign, "Nodes of another graph:"},
    {&edge_missing_arguments, "Arguments that are NULL:"},
    {&edge_removed, "Removing edges that are there, and others that are not:"},
    {&edge_removed_partly,
     "Several at once, one of which is not there: those before it are removed, and the call refused."},
    {&edge_types, "Data of an edge that mean nothing are refused."},
    {&list_nodes, "A list of nodes that is too short gets what fits, one that is too long NULL behind them; one "
                  "without room is refused."},
    {&list_roots, "Of roots:"},
    {&list_edges, "Of edges:"},
    {&list_dependencies, "Of what a node depends on:"},
    {&list_dependents, "Of what depends on it:"},
    {&list_of_empty_graph, "Of a graph without nodes:"},
    {&node_destroyed, "A node that is destroyed takes its edges with it."},
    {&graph_create_flags, "Flags of a new graph, and no graph:"},
    {&node_of_no_type, "Nodes by cudaGraphAddNode and cudaGraphNodeSetParams, of types that do not fit, and with "
                       "something where CUDA wants 0:"},
};

const struct case_topic topic_dependency =
    CASE_TOPIC("Edges and lists of nodes", "Graphs are built from nodes and edges, and list both.", rules);
