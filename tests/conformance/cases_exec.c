/* Conformance: executable graphs. */
#include "case_graph.h"

static void CUDART_CB count_call(void *user)
{
    ++*(int *)user;
}

static const char *result_name(cudaGraphInstantiateResult result)
{
    static const char *const names[] = {"success", "error", "invalid structure", "operation not supported",
                                        "several devices"};
    return (size_t)result < sizeof names / sizeof names[0] ? names[result] : "another result";
}

#define ENABLED(node)                                                                                                  \
    do {                                                                                                               \
        unsigned enabled = 77;                                                                                         \
        ASK(cudaGraphNodeGetEnabled(s->exec, node, &enabled));                                                         \
        VALUE("enabled", enabled);                                                                                     \
    } while (0)
#define SET_ENABLED(node, value) ASK(cudaGraphNodeSetEnabled(s->exec, node, value))
/* other: what exec is updated from. */
#define OTHER() STEP(cudaGraphCreate(&s->other, 0))
#define OTHER_ADDER(node, value, before)                                                                               \
    STEP_AS("/* " #node ": a kernel node of other after " #before ", which adds " #value " to x */",                   \
            case_add_node(s, s->other, &(node), before, value))

CASE(exec_of_empty_graph, {
    GRAPH();
    ASK_INSTANTIATE();
    RUN_EXEC();
});

CASE(exec_of_cycle, {
    cudaGraphNode_t n[2] = {NULL, NULL};
    cudaGraphInstantiateParams params = {0};
    GRAPH();
    ADDER(n[0], 1);
    ADDER_AFTER(n[1], 2, n[0]);
    ASK(cudaGraphAddDependencies(s->graph, &n[1], &n[0], NULL, 1));
    ASK_INSTANTIATE();
    ANSWERED("exec", s->exec != NULL);
    ASK(cudaGraphInstantiateWithParams(&s->exec, s->graph, &params));
    case_note(s, "params.result_out", "%s", result_name(params.result_out));
    ANSWERED("params.errNode_out", params.errNode_out != NULL);
});

CASE(exec_missing_arguments, {
    GRAPH();
    ASK(cudaGraphInstantiate(NULL, s->graph, 0));
    ASK(cudaGraphInstantiate(&s->exec, NULL, 0));
    ASK(cudaGraphInstantiateWithParams(&s->exec, s->graph, NULL));
    ASK(cudaGraphLaunch(NULL, s->b));
    ASK(cudaGraphUpload(NULL, s->b));
    ASK(cudaGraphExecDestroy(NULL));
});

CASE(exec_flags, {
    unsigned long long flags = 77;
    cudaGraphNode_t node = NULL;
    GRAPH();
    ADDER(node, 1);
    ASK(cudaGraphInstantiate(&s->exec, s->graph, 1 << 10));
    ASK(cudaGraphInstantiate(&s->exec, s->graph, cudaGraphInstantiateFlagUseNodePriority));
    ASK(cudaGraphExecGetFlags(s->exec, &flags));
    VALUE("flags", flags);
    RUN_EXEC_X();
});

CASE(exec_upload_in_params, {
    cudaGraphInstantiateParams params = {0};
    cudaGraphNode_t node = NULL;
    GRAPH();
    ADDER(node, 1);
    LET(params.flags = cudaGraphInstantiateFlagUpload);
    LET(params.uploadStream = s->a);
    ASK(cudaGraphInstantiateWithParams(&s->exec, s->graph, &params));
    case_note(s, "params.result_out", "%s", result_name(params.result_out));
    ANSWERED("params.errNode_out", params.errNode_out != NULL);
    RUN_EXEC_X();
});

CASE(exec_upload, {
    cudaGraphNode_t node = NULL;
    GRAPH();
    ADDER(node, 1);
    INSTANTIATE();
    ASK(cudaGraphUpload(s->exec, s->a));
    VALUE("x after the upload", case_read_x(s));
    RUN_EXEC_X();
});

CASE(exec_of_destroyed_graph, {
    cudaGraphNode_t node = NULL;
    GRAPH();
    ADDER(node, 1);
    INSTANTIATE();
    ASK(cudaGraphDestroy(s->graph));
    s->graph = NULL;
    RUN_EXEC_X();
});

CASE(exec_after_node_destroyed, {
    cudaGraphNode_t n[3] = {NULL, NULL, NULL};
    size_t edges = 7;
    GRAPH();
    ADDER(n[0], 1);
    ADDER_AFTER(n[1], 10, n[0]);
    ADDER_AFTER(n[2], 100, n[1]);
    ASK(cudaGraphDestroyNode(n[1]));
    ASK(cudaGraphGetEdges(s->graph, NULL, NULL, NULL, &edges));
    VALUE("edges", edges);
    ASK_INSTANTIATE();
    RUN_EXEC();
});

CASE(exec_keeps_destroyed_node, {
    cudaGraphNode_t n[2] = {NULL, NULL};
    GRAPH();
    ADDER(n[0], 1);
    ADDER_AFTER(n[1], 10, n[0]);
    INSTANTIATE();
    ASK(cudaGraphDestroyNode(n[1]));
    RUN_EXEC_X();
});

CASE(exec_disabled_kernel, {
    cudaGraphNode_t n[2] = {NULL, NULL};
    GRAPH();
    ADDER(n[0], 1);
    ADDER_AFTER(n[1], 10, n[0]);
    INSTANTIATE();
    ENABLED(n[0]);
    SET_ENABLED(n[0], 0);
    ENABLED(n[0]);
    RUN_EXEC_X();
    SET_ENABLED(n[0], 5);
    ENABLED(n[0]);
    RUN_EXEC_X();
});

CASE(exec_disabled_copy_and_fill, {
    cudaGraphNode_t n[2] = {NULL, NULL};
    struct cudaMemsetParams fill = {.elementSize = 4, .value = 7, .width = 1, .height = 1};
    GRAPH();
    LET(fill.dst = s->x);
    LET(*s->y = 3);
    ASK(cudaGraphAddMemsetNode(&n[0], s->graph, NULL, 0, &fill));
    ASK(cudaGraphAddMemcpyNode1D(&n[1], s->graph, &n[0], 1, s->x, s->y, 4, cudaMemcpyHostToDevice));
    INSTANTIATE();
    ENABLED(n[0]);
    ENABLED(n[1]);
    SET_ENABLED(n[1], 0);
    ENABLED(n[1]);
    RUN_EXEC_X();
    SET_ENABLED(n[1], 1);
    RUN_EXEC_X();
    SET_ENABLED(n[0], 0);
    SET_ENABLED(n[1], 0);
    LAUNCH(s->b);
    RUN_EXEC_X();
});

CASE(exec_disabled_other_nodes, {
    cudaGraphNode_t host = NULL;
    cudaGraphNode_t empty = NULL;
    cudaGraphNode_t recording = NULL;
    struct cudaHostNodeParams params = {count_call, s->y};
    GRAPH();
    STEP(cudaGraphAddHostNode(&host, s->graph, NULL, 0, &params));
    STEP(cudaGraphAddEmptyNode(&empty, s->graph, NULL, 0));
    STEP(cudaGraphAddEventRecordNode(&recording, s->graph, NULL, 0, s->e));
    INSTANTIATE();
    SET_ENABLED(host, 0);
    ENABLED(host);
    SET_ENABLED(empty, 0);
    ENABLED(empty);
    SET_ENABLED(recording, 0);
    ENABLED(recording);
    RUN_EXEC();
    VALUE("calls", *s->y);
});

CASE(exec_disabled_missing_arguments, {
    cudaGraphNode_t node = NULL;
    cudaGraphNode_t later = NULL;
    unsigned enabled = 77;
    GRAPH();
    ADDER(node, 1);
    INSTANTIATE();
    ADDER(later, 1);
    SET_ENABLED(later, 0);
    ASK(cudaGraphNodeGetEnabled(s->exec, later, &enabled));
    ASK(cudaGraphNodeSetEnabled(NULL, node, 0));
    ASK(cudaGraphNodeSetEnabled(s->exec, NULL, 0));
    ASK(cudaGraphNodeGetEnabled(s->exec, node, NULL));
});

CASE(exec_disabled_then_updated, {
    cudaGraphNode_t node = NULL;
    cudaGraphNode_t second = NULL;
    struct case_arguments arguments;
    struct cudaKernelNodeParams params;
    GRAPH();
    ADDER(node, 1);
    INSTANTIATE();
    SET_ENABLED(node, 0);
    ADD_PARAMS(5);
    ASK(cudaGraphExecKernelNodeSetParams(s->exec, node, &params));
    ENABLED(node);
    OTHER();
    OTHER_ADDER(second, 30, NULL);
    EXEC_UPDATE(other);
    ENABLED(node);
    RUN_EXEC_X();
    SET_ENABLED(node, 1);
    RUN_EXEC_X();
});

CASE(update_values, {
    cudaGraphNode_t node = NULL;
    GRAPH();
    ADDER(node, 1);
    INSTANTIATE();
    OTHER();
    OTHER_ADDER(node, 30, NULL);
    EXEC_UPDATE(other);
    RUN_EXEC_X();
});

CASE(update_more_nodes, {
    cudaGraphNode_t node = NULL;
    GRAPH();
    ADDER(node, 1);
    INSTANTIATE();
    OTHER();
    OTHER_ADDER(node, 30, NULL);
    OTHER_ADDER(node, 30, node);
    EXEC_UPDATE(other);
    RUN_EXEC_X();
});

CASE(update_fewer_nodes, {
    cudaGraphNode_t node = NULL;
    GRAPH();
    ADDER(node, 1);
    ADDER_AFTER(node, 2, node);
    INSTANTIATE();
    OTHER();
    OTHER_ADDER(node, 30, NULL);
    EXEC_UPDATE(other);
    RUN_EXEC_X();
});

CASE(update_other_edges, {
    cudaGraphNode_t node = NULL;
    GRAPH();
    ADDER(node, 1);
    ADDER_AFTER(node, 2, node);
    INSTANTIATE();
    OTHER();
    OTHER_ADDER(node, 30, NULL);
    OTHER_ADDER(node, 30, NULL);
    EXEC_UPDATE(other);
    RUN_EXEC_X();
});

CASE(update_other_type, {
    cudaGraphNode_t node = NULL;
    GRAPH();
    ADDER(node, 1);
    INSTANTIATE();
    OTHER();
    STEP(cudaGraphAddEmptyNode(&node, s->other, NULL, 0));
    EXEC_UPDATE(other);
    RUN_EXEC_X();
});

CASE(update_other_function, {
    cudaGraphNode_t node = NULL;
    struct case_arguments arguments;
    struct cudaKernelNodeParams params;
    GRAPH();
    ADDER(node, 3);
    INSTANTIATE();
    RUN_EXEC_X();
    OTHER();
    STEP_AS("/* params: kernel scale, *x = *x * 4 */",
            (params = case_scale_params(s, &arguments, s->x, 4), cudaSuccess));
    STEP(cudaGraphAddKernelNode(&node, s->other, NULL, 0, &params));
    EXEC_UPDATE(other);
    RUN_EXEC_X();
});

CASE(update_other_direction, {
    cudaGraphNode_t node = NULL;
    GRAPH();
    MEMORY();
    LET(*s->y = 6);
    STEP(cudaGraphAddMemcpyNode1D(&node, s->graph, NULL, 0, s->x, s->y, 4, cudaMemcpyHostToDevice));
    INSTANTIATE();
    OTHER();
    STEP(cudaGraphAddMemcpyNode1D(&node, s->other, NULL, 0, s->y, s->x, 4, cudaMemcpyDeviceToHost));
    EXEC_UPDATE(other);
    RUN_EXEC_X();
    VALUE("*y", *s->y);
});

CASE(update_other_fill, {
    cudaGraphNode_t node = NULL;
    struct cudaMemsetParams fill = {.elementSize = 1, .value = 5, .width = 6, .height = 1};
    GRAPH();
    MEMORY();
    LET(fill.dst = s->memory);
    STEP(cudaGraphAddMemsetNode(&node, s->graph, NULL, 0, &fill));
    INSTANTIATE();
    OTHER();
    LET(fill.height = 2);
    LET(fill.width = 2);
    LET(fill.pitch = 4);
    STEP(cudaGraphAddMemsetNode(&node, s->other, NULL, 0, &fill));
    EXEC_UPDATE(other);
    RUN_EXEC();
    BYTES("memory", 0, 8);
});

CASE(update_missing_arguments, {
    cudaGraphNode_t node = NULL;
    cudaGraphExecUpdateResultInfo info = {0};
    GRAPH();
    ADDER(node, 1);
    INSTANTIATE();
    ASK(cudaGraphExecUpdate(NULL, s->graph, &info));
    ASK(cudaGraphExecUpdate(s->exec, NULL, &info));
    ASK(cudaGraphExecUpdate(s->exec, s->graph, NULL));
    RUN_EXEC_X();
});

static const struct case_rule rules[] = {
    {&exec_of_empty_graph, "A graph without nodes can be launched."},
    {&exec_of_cycle, "A graph with a cycle is refused; the instantiation gives a node of it."},
    {&exec_missing_arguments, "Arguments that are NULL:"},
    {&exec_flags, "Flags that do not exist are refused; the one for priorities is not given back."},
    {&exec_upload_in_params, "An instantiation may upload the graph on a stream."},
    {&exec_upload, "An upload runs nothing."},
    {&exec_of_destroyed_graph, "An executable graph does not need the graph that it was made from."},
    {&exec_after_node_destroyed, "A node's edges go with it."},
    {&exec_keeps_destroyed_node, "An executable graph keeps what the graph has lost."},
    {&exec_disabled_kernel, "A kernel node may be disabled: it is not run until it is enabled again."},
    {&exec_disabled_copy_and_fill, "So may memcpy and memset nodes."},
    {&exec_disabled_other_nodes, "Other nodes:"},
    {&exec_disabled_missing_arguments, "Nodes that the executable graph does not have, and arguments that are NULL:"},
    {&exec_disabled_then_updated, "Whether a node stays disabled when it gets other parameters, and in an update:"},
    {&update_values, "An update takes over the parameters of a graph of the same shape."},
    {&update_more_nodes, "A graph with more nodes is refused."},
    {&update_fewer_nodes, "So is one with fewer."},
    {&update_other_edges, "One with other edges:"},
    {&update_other_type, "One with a node of another type:"},
    {&update_other_function, "One with another kernel:"},
    {&update_other_direction, "One with a copy in another direction:"},
    {&update_other_fill, "One with a fill of another shape:"},
    {&update_missing_arguments, "Graphs that are NULL are refused; the result may be NULL."},
};

const struct case_topic topic_exec =
    CASE_TOPIC("Executable graphs", "What becomes of graphs that are instantiated, updated and launched.", rules);
