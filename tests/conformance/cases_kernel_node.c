/* Conformance: kernel nodes and their parameters. */
#include "case_graph.h"

#define NODE_LOCALS                                                                                                    \
    struct case_arguments arguments;                                                                                   \
    struct cudaKernelNodeParams params;                                                                                \
    cudaGraphNode_t node = NULL;                                                                                       \
    GRAPH();                                                                                                           \
    ADD_PARAMS(3)
#define ADD_NODE()                                                                                                     \
    do {                                                                                                               \
        ASK(cudaGraphAddKernelNode(&node, s->graph, NULL, 0, &params));                                                \
        ANSWERED("a node", node != NULL);                                                                              \
    } while (0)
#define COUNT_NODES()                                                                                                  \
    do {                                                                                                               \
        size_t count = 0;                                                                                              \
        ASK(cudaGraphGetNodes(s->graph, NULL, &count));                                                                \
        VALUE("count", count);                                                                                         \
    } while (0)

CASE(kernel_node_without_function, {
    NODE_LOCALS;
    LET(params.func = NULL);
    ADD_NODE();
});

CASE(kernel_node_unknown_function, {
    static int no_function;
    NODE_LOCALS;
    LET(params.func = &no_function);
    ADD_NODE();
});

CASE(kernel_node_empty_grid, {
    NODE_LOCALS;
    LET(params.gridDim.x = 0);
    ADD_NODE();
    LET(params.gridDim.x = 1);
    LET(params.gridDim.z = 0);
    ADD_NODE();
    COUNT_NODES();
});

CASE(kernel_node_empty_block, {
    NODE_LOCALS;
    LET(params.blockDim.x = 0);
    ADD_NODE();
    LET(params.blockDim.x = 1);
    LET(params.blockDim.y = 0);
    ADD_NODE();
});

CASE(kernel_node_large_block, {
    NODE_LOCALS;
    LET(params.blockDim.x = 1025);
    ADD_NODE();
    LET(params.blockDim.x = 1);
    LET(params.blockDim.z = 65);
    ADD_NODE();
    LET(params.blockDim.z = 1);
    LET(params.gridDim.y = 65536);
    ADD_NODE();
});

CASE(kernel_node_large_block_instantiated, {
    NODE_LOCALS;
    LET(params.blockDim.x = 1025);
    ADD_NODE();
    ASK_INSTANTIATE();
});

CASE(kernel_node_shared_memory, {
    NODE_LOCALS;
    LET(params.sharedMemBytes = 48 << 10);
    ADD_NODE();
    LET(params.sharedMemBytes = (48 << 10) + 1);
    ADD_NODE();
    LET(params.sharedMemBytes = 1 << 20);
    ADD_NODE();
    COUNT_NODES();
    ASK_INSTANTIATE();
});

CASE(kernel_node_params_and_extra, {
    char packed[12] = {0};
    size_t bytes = sizeof packed;
    void *extra[] = {(void *)1, packed, (void *)2, &bytes, NULL};
    NODE_LOCALS;
    LET(params.extra = extra);
    ADD_NODE();
});

CASE(kernel_node_extra, {
    struct {
        int *x;
        int value;
    } packed = {s->x, 6};
    size_t bytes = sizeof(int *) + sizeof(int);
    void *extra[] = {(void *)1, &packed, (void *)2, &bytes, NULL};
    NODE_LOCALS;
    SAY("extra: CU_LAUNCH_PARAM_BUFFER_POINTER and _SIZE, of x and 6, packed");
    LET(params.kernelParams = NULL);
    LET(params.extra = extra);
    ADD_NODE();
    KERNEL_OF(node);
    VALUE("x after a launch of the graph", node ? case_run_graph(s) : 0);
});

CASE(kernel_node_params_read, {
    NODE_LOCALS;
    LET(params.gridDim.z = 7);
    LET(params.blockDim.y = 5);
    LET(params.sharedMemBytes = 64);
    ADD_NODE();
    KERNEL_OF(node);
});

CASE(kernel_node_values_copied, {
    NODE_LOCALS;
    ADD_NODE();
    LET(arguments.value = 50);
    KERNEL_OF(node);
    VALUE("x after a launch of the graph", case_run_graph(s));
});

CASE(kernel_node_missing_arguments, {
    NODE_LOCALS;
    ASK(cudaGraphAddKernelNode(NULL, s->graph, NULL, 0, &params));
    ASK(cudaGraphAddKernelNode(&node, NULL, NULL, 0, &params));
    ASK(cudaGraphAddKernelNode(&node, s->graph, NULL, 0, NULL));
    ASK(cudaGraphAddKernelNode(&node, s->graph, NULL, 1, &params));
    COUNT_NODES();
});

CASE(kernel_node_foreign_dependency, {
    cudaGraphNode_t first = NULL;
    size_t count = 1;
    NODE_LOCALS;
    case_step_call(s, &case_make_other);
    STEP(cudaGraphGetNodes(s->other, &first, &count));
    ASK(cudaGraphAddKernelNode(&node, s->graph, &first, 1, &params));
    COUNT_NODES();
});

CASE(kernel_node_dependency_twice, {
    cudaGraphNode_t before[2] = {NULL, NULL};
    size_t edges = 0;
    NODE_LOCALS;
    ADDER(before[0], 1);
    LET(before[1] = before[0]);
    ASK(cudaGraphAddKernelNode(&node, s->graph, before, 2, &params));
    COUNT_NODES();
    ASK(cudaGraphGetEdges(s->graph, NULL, NULL, NULL, &edges));
    VALUE("edges", edges);
});

CASE(kernel_node_set_params, {
    NODE_LOCALS;
    ADD_NODE();
    LET(arguments.value = 8);
    LET(params.gridDim.x = 2);
    ASK(cudaGraphKernelNodeSetParams(node, &params));
    KERNEL_OF(node);
    LET(params.blockDim.x = 0);
    ASK(cudaGraphKernelNodeSetParams(node, &params));
    ASK(cudaGraphKernelNodeSetParams(node, NULL));
    KERNEL_OF(node);
});

CASE(kernel_node_set_other_kernel, {
    NODE_LOCALS;
    ADD_NODE();
    STEP_AS("/* params: kernel scale, *y = *x * 4 */",
            (params = case_scale_params(s, &arguments, s->x, 4), cudaSuccess));
    ASK(cudaGraphKernelNodeSetParams(node, &params));
    KERNEL_OF(node);
    LET(params.func = NULL);
    ASK(cudaGraphKernelNodeSetParams(node, &params));
    KERNEL_OF(node);
});

CASE(kernel_node_set_of_other_node, {
    NODE_LOCALS;
    STEP(cudaGraphAddEmptyNode(&node, s->graph, NULL, 0));
    ASK(cudaGraphKernelNodeSetParams(node, &params));
    KERNEL_OF(node);
});

CASE(exec_keeps_kernel_params, {
    NODE_LOCALS;
    ADD_NODE();
    INSTANTIATE();
    LET(arguments.value = 20);
    ASK(cudaGraphKernelNodeSetParams(node, &params));
    RUN_EXEC_X();
    ASK(cudaGraphExecKernelNodeSetParams(s->exec, node, &params));
    RUN_EXEC_X();
});

CASE(exec_kernel_other_kernel, {
    NODE_LOCALS;
    ADD_NODE();
    INSTANTIATE();
    RUN_EXEC_X();
    STEP_AS("/* params: kernel scale, *x = *x * 4 */",
            (params = case_scale_params(s, &arguments, s->x, 4), cudaSuccess));
    ASK(cudaGraphExecKernelNodeSetParams(s->exec, node, &params));
    KERNEL_OF(node);
    RUN_EXEC_X();
});

CASE(exec_kernel_bad_params, {
    NODE_LOCALS;
    ADD_NODE();
    INSTANTIATE();
    LET(params.gridDim.x = 0);
    ASK(cudaGraphExecKernelNodeSetParams(s->exec, node, &params));
    LET(params.gridDim.x = 1);
    LET(params.blockDim.x = 2048);
    ASK(cudaGraphExecKernelNodeSetParams(s->exec, node, &params));
    RUN_EXEC_X();
});

CASE(exec_kernel_no_function, {
    NODE_LOCALS;
    ADD_NODE();
    INSTANTIATE();
    ASK(cudaGraphExecKernelNodeSetParams(s->exec, NULL, &params));
    LET(params.func = NULL);
    ASK(cudaGraphExecKernelNodeSetParams(s->exec, node, &params));
    RUN_EXEC_X();
});

CASE(exec_kernel_foreign_node, {
    cudaGraphNode_t foreign = NULL;
    size_t count = 1;
    NODE_LOCALS;
    ADD_NODE();
    INSTANTIATE();
    case_step_call(s, &case_make_other);
    STEP(cudaGraphGetNodes(s->other, &foreign, &count));
    ASK(cudaGraphExecKernelNodeSetParams(s->exec, foreign, &params));
    RUN_EXEC_X();
});

CASE(exec_kernel_node_added_later, {
    cudaGraphNode_t later = NULL;
    NODE_LOCALS;
    ADD_NODE();
    INSTANTIATE();
    ADDER(later, 10);
    ASK(cudaGraphExecKernelNodeSetParams(s->exec, later, &params));
    RUN_EXEC_X();
});

static const struct case_rule rules[] = {
    {&kernel_node_without_function, "A node needs a kernel."},
    {&kernel_node_unknown_function, "An address that is no kernel's is refused."},
    {&kernel_node_empty_grid, "Grids without blocks:"},
    {&kernel_node_empty_block, "Blocks without threads:"},
    {&kernel_node_large_block, "Blocks and grids larger than the device can run:"},
    {&kernel_node_large_block_instantiated, "What becomes of such a node when the graph is instantiated:"},
    {&kernel_node_shared_memory, "Shared memory beyond the kernel's limit:"},
    {&kernel_node_params_and_extra, "Parameters as a list and as a buffer at once:"},
    {&kernel_node_extra, "Parameters may be given as a buffer."},
    {&kernel_node_params_read, "A node gives its parameters back."},
    {&kernel_node_values_copied, "The values are read when the node is added."},
    {&kernel_node_missing_arguments, "Each argument that must not be NULL:"},
    {&kernel_node_foreign_dependency, "A node of another graph is no dependency."},
    {&kernel_node_dependency_twice, "A dependency named twice:"},
    {&kernel_node_set_params, "A node's parameters may be set again; what is refused changes nothing."},
    {&kernel_node_set_other_kernel, "A node may get another kernel, but not none."},
    {&kernel_node_set_of_other_node, "A node that is no kernel node has no such parameters."},
    {&exec_keeps_kernel_params, "An executable graph keeps its own parameters, which are set by themselves."},
    {&exec_kernel_other_kernel, "A node of an executable graph may get another kernel."},
    {&exec_kernel_bad_params, "Parameters that are refused change nothing there."},
    {&exec_kernel_no_function, "Nor do a node that is NULL, and a function that is."},
    {&exec_kernel_foreign_node, "A node of another graph names nothing in the executable graph."},
    {&exec_kernel_node_added_later, "Nor does one that was added after it was instantiated."},
};

const struct case_topic topic_kernel_node = CASE_TOPIC(
    "Kernel nodes", "A kernel node keeps a kernel, its launch dimensions and its parameters' values.", rules);
