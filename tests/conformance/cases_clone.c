/* Conformance: clones of graphs, and graphs within graphs. */
#include "case_graph.h"

#define FIND(node, clone) ASK(cudaGraphNodeFindInClone(&found, node, s->clone))
#define CLONE()           STEP(cudaGraphClone(&s->other, s->graph))
#define NODES_OF(graph_)                                                                                               \
    do {                                                                                                               \
        size_t count = 77;                                                                                             \
        ASK(cudaGraphGetNodes(graph_, NULL, &count));                                                                  \
        VALUE("count", count);                                                                                         \
    } while (0)

CASE(clone_apart, {
    cudaGraphNode_t node = NULL;
    cudaGraphNode_t found = NULL;
    struct case_arguments arguments;
    struct cudaKernelNodeParams params;
    GRAPH();
    ADDER(node, 1);
    CLONE();
    ADD_PARAMS(20);
    ASK(cudaGraphKernelNodeSetParams(node, &params));
    FIND(node, other);
    ANSWERED("another node", found && found != node);
    KERNEL_OF(found);
    ASK(cudaGraphDestroy(s->graph));
    s->graph = NULL;
    ASK(cudaGraphInstantiate(&s->exec, s->other, 0));
    RUN_EXEC_X();
});

CASE(clone_missing_arguments, {
    cudaGraphNode_t node = NULL;
    cudaGraphNode_t found = NULL;
    GRAPH();
    ADDER(node, 1);
    ASK(cudaGraphClone(NULL, s->graph));
    ASK(cudaGraphClone(&s->other, NULL));
    CLONE();
    ASK(cudaGraphNodeFindInClone(NULL, node, s->other));
    ASK(cudaGraphNodeFindInClone(&found, NULL, s->other));
    ASK(cudaGraphNodeFindInClone(&found, node, NULL));
});

CASE(clone_find_in_no_clone, {
    cudaGraphNode_t node = NULL;
    cudaGraphNode_t found = NULL;
    GRAPH();
    ADDER(node, 1);
    FIND(node, graph);
    ANSWERED("a node", found != NULL);
    STEP(cudaGraphCreate(&s->other, 0));
    FIND(node, other);
});

CASE(clone_find_other_node, {
    cudaGraphNode_t node = NULL;
    cudaGraphNode_t later = NULL;
    cudaGraphNode_t found = NULL;
    GRAPH();
    ADDER(node, 1);
    CLONE();
    ADDER(later, 1);
    FIND(later, other);
    STEP(cudaGraphNodeFindInClone(&found, node, s->other));
    FIND(found, other);
    FIND(found, graph);
});

CASE(clone_find_destroyed, {
    cudaGraphNode_t n[2] = {NULL, NULL};
    cudaGraphNode_t found = NULL;
    GRAPH();
    ADDER(n[0], 1);
    ADDER(n[1], 1);
    CLONE();
    STEP(cudaGraphNodeFindInClone(&found, n[0], s->other));
    ASK(cudaGraphDestroyNode(found));
    LET(found = NULL);
    FIND(n[0], other);
    ANSWERED("a node", found != NULL);
    FIND(n[1], other);
});

CASE(clone_of_clone, {
    cudaGraph_t second = NULL;
    cudaGraphNode_t node = NULL;
    cudaGraphNode_t between = NULL;
    cudaGraphNode_t found = NULL;
    GRAPH();
    ADDER(node, 1);
    CLONE();
    STEP(cudaGraphClone(&second, s->other));
    STEP(cudaGraphNodeFindInClone(&between, node, s->other));
    ASK(cudaGraphNodeFindInClone(&found, between, second));
    ASK(cudaGraphNodeFindInClone(&found, node, second));
    STEP(cudaGraphDestroy(second));
});

CASE(clone_keeps_order, {
    cudaGraphNode_t n[2] = {NULL, NULL};
    cudaGraphNode_t nodes[2] = {NULL, NULL};
    cudaGraphNode_t found = NULL;
    size_t count = 2;
    GRAPH();
    ADDER(n[0], 1);
    ADDER_AFTER(n[1], 1, n[0]);
    CLONE();
    ASK(cudaGraphGetNodes(s->other, nodes, &count));
    FIND(n[1], other);
    ANSWERED("found is nodes[1]", found == nodes[1]);
    ASK(cudaGraphNodeGetDependencies(found, nodes, NULL, &count));
    VALUE("count", count);
});

/* ---- child graphs ------------------------------------------------------------------------------------------------ */

#define CHILD_LOCALS                                                                                                   \
    cudaGraphNode_t child = NULL;                                                                                      \
    cudaGraphNode_t inner = NULL;                                                                                      \
    cudaGraph_t within = NULL;                                                                                         \
    GRAPH();                                                                                                           \
    STEP(cudaGraphCreate(&s->other, 0));                                                                               \
    (void)within;                                                                                                      \
    STEP_AS("/* inner: a kernel node of other, which adds 3 to x */", case_add_node(s, s->other, &inner, NULL, 3))

CASE(child_is_cloned, {
    CHILD_LOCALS;
    ASK(cudaGraphAddChildGraphNode(&child, s->graph, NULL, 0, s->other));
    ASK(cudaGraphChildGraphNodeGetGraph(child, &within));
    ANSWERED("within is other", within == s->other);
    STEP_AS("/* another kernel node of other after inner, which adds 50 to x */",
            case_add_node(s, s->other, &inner, inner, 50));
    NODES_OF(within);
    INSTANTIATE();
    RUN_EXEC_X();
});

CASE(child_changed_within, {
    cudaGraphNode_t last = NULL;
    size_t count = 1;
    CHILD_LOCALS;
    STEP(cudaGraphAddChildGraphNode(&child, s->graph, NULL, 0, s->other));
    STEP(cudaGraphChildGraphNodeGetGraph(child, &within));
    STEP(cudaGraphGetNodes(within, &inner, &count));
    STEP_AS("/* last: a kernel node of within after inner, which adds 50 to x */",
            case_add_node(s, within, &last, inner, 50));
    NODES_OF(within);
    NODES_OF(s->graph);
    INSTANTIATE();
    RUN_EXEC_X();
});

CASE(child_found, {
    cudaGraphNode_t found = NULL;
    CHILD_LOCALS;
    STEP(cudaGraphAddChildGraphNode(&child, s->graph, NULL, 0, s->other));
    STEP(cudaGraphChildGraphNodeGetGraph(child, &within));
    ASK(cudaGraphNodeFindInClone(&found, inner, within));
    ANSWERED("another node", found && found != inner);
});

CASE(child_missing_arguments, {
    CHILD_LOCALS;
    ASK(cudaGraphAddChildGraphNode(&child, s->graph, NULL, 0, NULL));
    ASK(cudaGraphAddChildGraphNode(&child, NULL, NULL, 0, s->other));
    ASK(cudaGraphAddChildGraphNode(NULL, s->graph, NULL, 0, s->other));
    STEP(cudaGraphAddChildGraphNode(&child, s->graph, NULL, 0, s->other));
    ASK(cudaGraphChildGraphNodeGetGraph(child, NULL));
    ASK(cudaGraphChildGraphNodeGetGraph(inner, &within));
    ASK(cudaGraphChildGraphNodeGetGraph(NULL, &within));
});

CASE(child_empty, {
    cudaGraph_t empty = NULL;
    CHILD_LOCALS;
    STEP(cudaGraphCreate(&empty, 0));
    ASK(cudaGraphAddChildGraphNode(&child, s->graph, NULL, 0, empty));
    ASK(cudaGraphDestroy(empty));
    INSTANTIATE();
    RUN_EXEC();
});

CASE(child_exec_other_values, {
    struct case_arguments arguments;
    struct cudaKernelNodeParams params;
    CHILD_LOCALS;
    STEP(cudaGraphAddChildGraphNode(&child, s->graph, NULL, 0, s->other));
    INSTANTIATE();
    ADD_PARAMS(40);
    STEP(cudaGraphKernelNodeSetParams(inner, &params));
    ASK(cudaGraphExecChildGraphNodeSetParams(s->exec, child, s->other));
    RUN_EXEC_X();
});

CASE(child_exec_other_shape, {
    CHILD_LOCALS;
    STEP(cudaGraphAddChildGraphNode(&child, s->graph, NULL, 0, s->other));
    INSTANTIATE();
    STEP_AS("/* another kernel node of other after inner, which adds 50 to x */",
            case_add_node(s, s->other, &inner, inner, 50));
    ASK(cudaGraphExecChildGraphNodeSetParams(s->exec, child, s->other));
    ASK(cudaGraphExecChildGraphNodeSetParams(s->exec, child, NULL));
    ASK(cudaGraphExecChildGraphNodeSetParams(s->exec, NULL, s->other));
    RUN_EXEC_X();
});

CASE(child_exec_inner_node, {
    struct case_arguments arguments;
    struct cudaKernelNodeParams params;
    size_t count = 1;
    CHILD_LOCALS;
    STEP(cudaGraphAddChildGraphNode(&child, s->graph, NULL, 0, s->other));
    STEP(cudaGraphChildGraphNodeGetGraph(child, &within));
    STEP(cudaGraphGetNodes(within, &inner, &count));
    INSTANTIATE();
    ADD_PARAMS(40);
    ASK(cudaGraphExecKernelNodeSetParams(s->exec, inner, &params));
    RUN_EXEC_X();
    ASK(cudaGraphNodeSetEnabled(s->exec, inner, 0));
    ASK(cudaGraphNodeSetEnabled(s->exec, child, 0));
    RUN_EXEC_X();
});

static const struct case_rule rules[] = {
    {&clone_apart, "A clone has nodes and parameters of its own."},
    {&clone_missing_arguments, "Arguments that are NULL:"},
    {&clone_find_in_no_clone, "A node is not found in a graph that is no clone of its own."},
    {&clone_find_other_node, "Nor is one that was added later, or one of the clone."},
    {&clone_find_destroyed, "Nor is one whose counterpart was destroyed."},
    {&clone_of_clone, "A clone's clone knows the nodes of the clone."},
    {&clone_keeps_order, "A clone lists its nodes in the same order."},
    {&child_is_cloned, "A child graph is cloned when its node is added; as its own child, the call crashes."},
    {&child_changed_within, "The node's own graph can be changed."},
    {&child_found, "Its nodes are found as in a clone:"},
    {&child_missing_arguments, "Arguments that are NULL, and nodes that have no graph:"},
    {&child_empty, "A child without nodes."},
    {&child_exec_other_values, "In an executable graph, a child may get the parameters of a graph of the same shape."},
    {&child_exec_other_shape, "A graph of another shape is refused."},
    {&child_exec_inner_node, "The nodes of a child may be changed and disabled by themselves:"},
};

const struct case_topic topic_clone =
    CASE_TOPIC("Clones and child graphs", "Both copy a graph's nodes, edges and parameters.", rules);
