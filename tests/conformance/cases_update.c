/* Conformance: captures that a program edits: dependencies, and captures into a graph that exists. */
#include "cases.h"

/* Where the capture on stream a stands. */
struct standing {
    cudaGraph_t graph;
    cudaGraphNode_t nodes[8];
    size_t count;
};

static cudaError_t look(cudaStream_t stream, struct standing *at)
{
    enum cudaStreamCaptureStatus status;
    at->count = 8;
    cudaError_t error = cudaStreamGetCaptureInfo(stream, &status, NULL, &at->graph, NULL, NULL, NULL);
    return error ? error : cudaGraphGetNodes(at->graph, at->nodes, &at->count);
}

static cudaError_t nodes_of(cudaGraph_t graph, struct standing *at)
{
    at->graph = graph;
    at->count = 8;
    return cudaGraphGetNodes(graph, at->nodes, &at->count);
}

#define UPDATE(stream, nodes, count, how)                                                                              \
    ASK(cudaStreamUpdateCaptureDependencies(stream, nodes, NULL, count, cudaStream##how##CaptureDependencies))

CASE(joined_by_update, {
    struct standing at;
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->b);
    LAUNCH(s->b);
    LAUNCH(s->a);
    STEP_AS("/* graph, nodes and count: what a has captured so far */", look(s->a, &at));
    UPDATE(s->a, at.nodes, at.count, Add);
    INFO(s->a);
    END(s->a);
    STATUS(s->b);
});

CASE(dropped_nodes, {
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    ORDER(s->a, s->b);
    LAUNCH(s->b);
    UPDATE(s->b, NULL, 0, Set);
    INFO(s->b);
    END(s->a);
});

CASE(dropped_on_origin, {
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    UPDATE(s->a, NULL, 0, Set);
    INFO(s->a);
    LAUNCH(s->a);
    END(s->a);
});

CASE(add_nothing, {
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    UPDATE(s->a, NULL, 0, Add);
    INFO(s->a);
    END(s->a);
});

CASE(set_to_earlier_node, {
    struct standing at;
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    STEP_AS("/* graph, nodes and count: what a has captured so far */", look(s->a, &at));
    LAUNCH(s->a);
    UPDATE(s->a, at.nodes, 1, Set);
    LAUNCH(s->a);
    INFO(s->a);
    END(s->a);
});

CASE(add_node_twice, {
    struct standing at;
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    STEP_AS("/* graph, nodes and count: what a has captured so far */", look(s->a, &at));
    UPDATE(s->a, at.nodes, 1, Add);
    INFO(s->a);
    LAUNCH(s->a);
    END(s->a);
});

CASE(node_added_by_hand, {
    struct standing at;
    cudaGraphNode_t node = NULL;
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    STEP_AS("/* graph, nodes and count: what a has captured so far */", look(s->a, &at));
    ASK(cudaGraphAddEmptyNode(&node, at.graph, at.nodes, 1));
    UPDATE(s->a, &node, 1, Set);
    LAUNCH(s->a);
    END(s->a);
});

CASE(node_added_by_hand_alone, {
    struct standing at;
    cudaGraphNode_t node = NULL;
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    STEP_AS("/* graph, nodes and count: what a has captured so far */", look(s->a, &at));
    ASK(cudaGraphAddEmptyNode(&node, at.graph, NULL, 0));
    END(s->a);
});

CASE(joined_then_set_elsewhere, {
    struct standing at;
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    STEP_AS("/* graph, nodes and count: what a has captured so far */", look(s->a, &at));
    ORDER(s->a, s->b);
    LAUNCH(s->b);
    ORDER(s->b, s->a);
    UPDATE(s->a, at.nodes, 1, Set);
    INFO(s->a);
    END(s->a);
    STATUS(s->b);
});

CASE(joined_then_set_to_nothing, {
    BEGIN(s->a, ThreadLocal);
    ORDER(s->a, s->b);
    LAUNCH(s->b);
    ORDER(s->b, s->a);
    UPDATE(s->a, NULL, 0, Set);
    LAUNCH(s->a);
    END(s->a);
});

CASE(set_elsewhere_before_join, {
    struct standing at;
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    STEP_AS("/* graph, nodes and count: what a has captured so far */", look(s->a, &at));
    ORDER(s->a, s->b);
    LAUNCH(s->b);
    UPDATE(s->a, at.nodes, 1, Set);
    END(s->a);
});

CASE(joined_set_elsewhere_and_used, {
    struct standing at;
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    STEP_AS("/* graph, nodes and count: what a has captured so far */", look(s->a, &at));
    ORDER(s->a, s->b);
    LAUNCH(s->b);
    ORDER(s->b, s->a);
    UPDATE(s->a, at.nodes, 1, Set);
    LAUNCH(s->b);
    END(s->a);
});

CASE(update_without_capture, { UPDATE(s->a, NULL, 0, Set); });

CASE(update_invalidated, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMalloc(&s->memory, 64));
    UPDATE(s->a, NULL, 0, Set);
    END(s->a);
});

CASE(update_foreign_node, {
    struct standing at;
    case_step_call(s, &case_make_other);
    STEP_AS("cudaGraphGetNodes(other, nodes, &count)", nodes_of(s->other, &at));
    BEGIN(s->a, ThreadLocal);
    UPDATE(s->a, at.nodes, 1, Set);
    STATUS(s->a);
    END(s->a);
});

CASE(update_refuses_edge_types, {
    struct standing at;
    cudaGraphEdgeData edge = {0};
    edge.type = 77;
    BEGIN(s->a, ThreadLocal);
    LAUNCH(s->a);
    STEP_AS("/* graph, nodes and count: what a has captured so far */", look(s->a, &at));
    ASK(cudaStreamUpdateCaptureDependencies(s->a, at.nodes, &edge, 1, cudaStreamSetCaptureDependencies));
    STATUS(s->a);
    END(s->a);
});

static const struct case_rule rules[] = {
    {&joined_by_update, "Adding every node to the origin's dependencies joins all forks at once."},
    {&set_to_earlier_node, "Setting the dependencies to an earlier node starts a second branch there."},
    {&dropped_on_origin, "Setting them to nothing makes the next node a root."},
    {&dropped_nodes, "Nodes that a fork has dropped this way need not be joined."},
    {&joined_then_set_elsewhere,
     "A fork that was joined stays so when the origin's dependencies are set to another node."},
    {&joined_then_set_to_nothing, "Or to nothing."},
    {&set_elsewhere_before_join, "A fork that was not joined is not joined by that."},
    {&joined_set_elsewhere_and_used, "Nor is what it does afterwards."},
    {&add_nothing, "Adding nothing is allowed."},
    {&add_node_twice, "Adding a dependency that is there already changes nothing."},
    {&node_added_by_hand,
     "A node may be added to the graph by hand in the capture, and made the stream's next dependency."},
    {&node_added_by_hand_alone, "A node added by hand and left alone does not count as unjoined work."},
    {&update_without_capture, "Without a capture there are no dependencies to change."},
    {&update_invalidated, "In an invalidated capture neither."},
    {&update_foreign_node, "Nodes of another graph are refused; the capture is unharmed."},
    {&update_refuses_edge_types, "An edge of a type that does not exist is refused."},
};

const struct case_topic topic_update = CASE_TOPIC(
    "Editing a capture",
    "`cudaStreamUpdateCaptureDependencies` changes what a stream's next node will depend on, without events.", rules);

/* ---- capture into a graph --------------------------------------------------------------------------------------- */

#define BEGIN_INTO(stream, nodes, count)                                                                               \
    ASK(cudaStreamBeginCaptureToGraph(stream, s->other, nodes, NULL, count, cudaStreamCaptureModeThreadLocal))
/* The end gives the program's own graph, which must not be freed twice. */
#define END_INTO(stream)                                                                                               \
    do {                                                                                                               \
        END(stream);                                                                                                   \
        if (s->graph == s->other)                                                                                      \
            s->other = NULL;                                                                                           \
    } while (0)

#define IS_OTHER_DESTROYED()                                                                                           \
    do {                                                                                                               \
        bool destroyed = case_held_is_destroyed();                                                                     \
        ANSWERED("other was destroyed", destroyed);                                                                    \
        if (destroyed)                                                                                                 \
            s->other = NULL;                                                                                           \
    } while (0)

CASE(into_empty_graph, {
    STEP(cudaGraphCreate(&s->other, 0));
    BEGIN_INTO(s->a, NULL, 0);
    LAUNCH(s->a);
    INFO(s->a);
    cudaGraph_t given = s->other;
    END_INTO(s->a);
    ANSWERED("the end gives the graph of the begin", s->graph == given);
});

CASE(into_graph_after_nodes, {
    struct standing at;
    case_step_call(s, &case_make_other);
    STEP_AS("cudaGraphGetNodes(other, nodes, &count)", nodes_of(s->other, &at));
    BEGIN_INTO(s->a, at.nodes, at.count);
    INFO(s->a);
    LAUNCH(s->a);
    END_INTO(s->a);
    VALUE("x after a launch of the graph", case_run_graph(s));
});

CASE(into_graph_beside_nodes, {
    case_step_call(s, &case_make_other);
    BEGIN_INTO(s->a, NULL, 0);
    INFO(s->a);
    LAUNCH(s->a);
    END_INTO(s->a);
});

CASE(into_graph_invalidated, {
    case_step_call(s, &case_make_other);
    STEP_AS(CASE_HOLD("other"), case_hold(s->other));
    BEGIN_INTO(s->a, NULL, 0);
    LAUNCH(s->a);
    ASK(cudaMalloc(&s->memory, 64));
    END(s->a);
    IS_OTHER_DESTROYED();
});

CASE(into_graph_unjoined, {
    case_step_call(s, &case_make_other);
    STEP_AS(CASE_HOLD("other"), case_hold(s->other));
    BEGIN_INTO(s->a, NULL, 0);
    ORDER(s->a, s->b);
    LAUNCH(s->b);
    END(s->a);
    IS_OTHER_DESTROYED();
});

CASE(into_graph_with_unjoined_old_nodes, {
    struct standing at;
    case_step_call(s, &case_make_other);
    STEP_AS("cudaGraphGetNodes(other, nodes, &count)", nodes_of(s->other, &at));
    BEGIN_INTO(s->a, at.nodes, at.count);
    END_INTO(s->a);
});

CASE(into_graph_twice_at_once, {
    STEP(cudaGraphCreate(&s->other, 0));
    BEGIN_INTO(s->a, NULL, 0);
    BEGIN_INTO(s->b, NULL, 0);
    STATUS(s->a);
    STATUS(s->b);
    END_INTO(s->a);
    END_INTO(s->b);
});

CASE(into_graph_one_after_other, {
    STEP(cudaGraphCreate(&s->other, 0));
    cudaGraph_t given = s->other;
    BEGIN_INTO(s->a, NULL, 0);
    LAUNCH(s->a);
    END_INTO(s->a);
    s->graph = NULL;
    s->other = given;
    BEGIN_INTO(s->a, NULL, 0);
    LAUNCH(s->a);
    END_INTO(s->a);
});

CASE(into_graph_on_capturing, {
    STEP(cudaGraphCreate(&s->other, 0));
    BEGIN(s->a, ThreadLocal);
    BEGIN_INTO(s->a, NULL, 0);
    STATUS(s->a);
    END(s->a);
});

CASE(into_graph_foreign_nodes, {
    struct standing at;
    case_step_call(s, &case_make_other);
    STEP_AS("cudaGraphGetNodes(other, nodes, &count)", nodes_of(s->other, &at));
    s->graph = s->other;
    STEP(cudaGraphCreate(&s->other, 0));
    BEGIN_INTO(s->a, at.nodes, at.count);
    STATUS(s->a);
});

CASE(into_graph_origin_destroyed, {
    STEP(cudaGraphCreate(&s->other, 0));
    STEP_AS(CASE_HOLD("other"), case_hold(s->other));
    BEGIN_INTO(s->a, NULL, 0);
    LAUNCH(s->a);
    ASK(cudaStreamDestroy(s->a));
    s->a = NULL;
    IS_OTHER_DESTROYED();
});

static const struct case_rule into_rules[] = {
    {&into_empty_graph, "The nodes go into the graph given, and the end gives that graph."},
    {&into_graph_after_nodes, "The first nodes depend on those named at the begin."},
    {&into_graph_beside_nodes, "Or on none: then they lie beside what the graph has already."},
    {&into_graph_with_unjoined_old_nodes, "An end without any work adds nothing."},
    {&into_graph_one_after_other, "Several captures may go into one graph, one after the other."},
    {&into_graph_twice_at_once, "Two at once are refused."},
    {&into_graph_invalidated,
     "A capture that ends invalidated destroys the graph, with what it held before: its handle "
     "must not be used again, not even to destroy it."},
    {&into_graph_unjoined, "So does one that ends with work not joined."},
    {&into_graph_on_capturing, "A stream that captures cannot begin this way either."},
    {&into_graph_foreign_nodes, "The nodes to depend on must be the graph's own."},
    {&into_graph_origin_destroyed, "A capture whose origin is destroyed destroys the graph, too."},
};

const struct case_topic topic_into_graph =
    CASE_TOPIC("Capturing into a graph that exists",
               "`cudaStreamBeginCaptureToGraph` adds to the program's own graph instead of making one.", into_rules);
