/* Conformance: memcpy nodes to and from the variables of kernels. */
#include "tests/support/kernels/symbol_kernels.h"

#include "case_graph.h"

/* A case starts with the table 1, 2, 3, 4, 5, 6. */
static cudaError_t fill_table(struct scene *s)
{
    static const int values[SK_COUNT] = {1, 2, 3, 4, 5, 6};
    cudaError_t error = cudaMemcpyToSymbol(sk_table(), values, sizeof values, 0, cudaMemcpyHostToDevice);
    if (!error)
        error = case_make_memory(s, 256);
    return error ? error : case_make_pinned(s);
}

static void note_table(struct scene *s)
{
    int v[SK_COUNT] = {0};
    cudaError_t error = cudaDeviceSynchronize();
    if (!error)
        error = cudaMemcpyFromSymbol(v, sk_table(), sizeof v, 0, cudaMemcpyDeviceToHost);
    if (error)
        case_note(s, "table", "%s", cudaGetErrorName(error));
    else
        case_note(s, "table", "%d %d %d %d %d %d", v[0], v[1], v[2], v[3], v[4], v[5]);
}

#define SYMBOL_LOCALS                                                                                                  \
    const void *table = sk_table();                                                                                    \
    cudaGraphNode_t node = NULL;                                                                                       \
    GRAPH();                                                                                                           \
    STEP_AS("/* table: a kernel's 6 ints, 1 to 6; memory, pinned: 256 bytes, 0 */", fill_table(s))
#define TO(symbol, from, bytes, offset, kind)                                                                          \
    ASK(cudaGraphAddMemcpyNodeToSymbol(&node, s->graph, NULL, 0, symbol, from, bytes, offset, cudaMemcpy##kind))
#define FROM(to, symbol, bytes, offset, kind)                                                                          \
    ASK(cudaGraphAddMemcpyNodeFromSymbol(&node, s->graph, NULL, 0, to, symbol, bytes, offset, cudaMemcpy##kind))
#define SET_TO(symbol, from, bytes, offset, kind)                                                                      \
    ASK(cudaGraphMemcpyNodeSetParamsToSymbol(node, symbol, from, bytes, offset, cudaMemcpy##kind))
#define SET_FROM(to, symbol, bytes, offset, kind)                                                                      \
    ASK(cudaGraphMemcpyNodeSetParamsFromSymbol(node, to, symbol, bytes, offset, cudaMemcpy##kind))
#define EXEC_TO(symbol, from, bytes, offset, kind)                                                                     \
    ASK(cudaGraphExecMemcpyNodeSetParamsToSymbol(s->exec, node, symbol, from, bytes, offset, cudaMemcpy##kind))
#define EXEC_FROM(to, symbol, bytes, offset, kind)                                                                     \
    ASK(cudaGraphExecMemcpyNodeSetParamsFromSymbol(s->exec, node, to, symbol, bytes, offset, cudaMemcpy##kind))
#define PINNED_INTS() VALUE("first int of pinned", *(int *)s->pinned)

CASE(symbol_to, {
    SYMBOL_LOCALS;
    LET(*(int *)s->pinned = 40);
    TO(table, s->pinned, 4, 8, HostToDevice);
    COPY_OF(node);
    INSTANTIATE();
    RUN_EXEC();
    note_table(s);
});

CASE(symbol_from, {
    SYMBOL_LOCALS;
    FROM(s->pinned, table, 4, 20, DeviceToHost);
    COPY_OF(node);
    INSTANTIATE();
    RUN_EXEC();
    PINNED_INTS();
});

CASE(symbol_beyond_end, {
    SYMBOL_LOCALS;
    TO(table, s->pinned, 28, 0, HostToDevice);
    TO(table, s->pinned, 4, 24, HostToDevice);
    TO(table, s->pinned, 4, 22, HostToDevice);
    TO(table, s->pinned, 4, (size_t)-4, HostToDevice);
    FROM(s->pinned, table, 28, 0, DeviceToHost);
    FROM(s->pinned, table, 4, 24, DeviceToHost);
});

CASE(symbol_no_bytes, {
    SYMBOL_LOCALS;
    TO(table, s->pinned, 0, 0, HostToDevice);
    FROM(s->pinned, table, 0, 0, DeviceToHost);
    TO(table, s->pinned, 0, 24, HostToDevice);
});

CASE(symbol_wrong_direction, {
    SYMBOL_LOCALS;
    TO(table, s->pinned, 4, 0, DeviceToHost);
    TO(table, s->pinned, 4, 0, HostToHost);
    TO(table, s->pinned, 4, 0, DeviceToDevice);
    FROM(s->pinned, table, 4, 0, HostToDevice);
    FROM(s->pinned, table, 4, 0, HostToHost);
    FROM(s->pinned, table, 4, 0, DeviceToDevice);
});

CASE(symbol_any_direction, {
    SYMBOL_LOCALS;
    TO(table, s->pinned, 4, 0, Default);
    TO(table, s->memory, 4, 4, DeviceToDevice);
    FROM((int *)s->memory + 1, table, 4, 8, DeviceToDevice);
    FROM((int *)s->pinned + 1, table, 4, 8, Default);
    INSTANTIATE();
    RUN_EXEC();
    note_table(s);
    VALUE("second int of pinned", ((int *)s->pinned)[1]);
    BYTES("memory", 0, 8);
});

CASE(symbol_node_unknown, {
    static int no_symbol;
    SYMBOL_LOCALS;
    TO(NULL, s->pinned, 4, 0, HostToDevice);
    TO(&no_symbol, s->pinned, 4, 0, HostToDevice);
    FROM(s->pinned, NULL, 4, 0, DeviceToHost);
    FROM(s->pinned, &no_symbol, 4, 0, DeviceToHost);
    TO((const char *)table + 4, s->pinned, 4, 0, HostToDevice);
});

CASE(symbol_no_memory, {
    SYMBOL_LOCALS;
    TO(table, NULL, 4, 0, HostToDevice);
    FROM(NULL, table, 4, 0, DeviceToHost);
    ASK(cudaGraphAddMemcpyNodeToSymbol(NULL, s->graph, NULL, 0, table, s->pinned, 4, 0, cudaMemcpyHostToDevice));
    ASK(cudaGraphAddMemcpyNodeToSymbol(&node, NULL, NULL, 0, table, s->pinned, 4, 0, cudaMemcpyHostToDevice));
    ASK(cudaGraphAddMemcpyNodeToSymbol(&node, s->graph, NULL, 1, table, s->pinned, 4, 0, cudaMemcpyHostToDevice));
});

CASE(symbol_set, {
    SYMBOL_LOCALS;
    LET(*(int *)s->pinned = 40);
    TO(table, s->pinned, 4, 0, HostToDevice);
    SET_TO(table, s->pinned, 8, 16, HostToDevice);
    SET_TO(table, s->pinned, 8, 20, HostToDevice);
    SET_TO(NULL, s->pinned, 8, 0, HostToDevice);
    SET_TO(table, s->pinned, 8, 0, DeviceToHost);
    SET_TO(table, s->pinned, 0, 0, HostToDevice);
    COPY_OF(node);
    INSTANTIATE();
    RUN_EXEC();
    note_table(s);
});

CASE(symbol_set_turned_round, {
    SYMBOL_LOCALS;
    TO(table, s->pinned, 4, 0, HostToDevice);
    SET_FROM(s->pinned, table, 4, 12, DeviceToHost);
    COPY_OF(node);
    INSTANTIATE();
    RUN_EXEC();
    note_table(s);
    PINNED_INTS();
});

CASE(symbol_set_of_plain_copy, {
    SYMBOL_LOCALS;
    ASK(cudaGraphAddMemcpyNode1D(&node, s->graph, NULL, 0, s->memory, s->pinned, 4, cudaMemcpyHostToDevice));
    LET(*(int *)s->pinned = 40);
    SET_TO(table, s->pinned, 4, 4, HostToDevice);
    INSTANTIATE();
    RUN_EXEC();
    note_table(s);
});

CASE(symbol_exec_other_offset, {
    SYMBOL_LOCALS;
    LET(*(int *)s->pinned = 40);
    TO(table, s->pinned, 4, 0, HostToDevice);
    INSTANTIATE();
    EXEC_TO(table, s->pinned, 4, 4, HostToDevice);
    RUN_EXEC();
    note_table(s);
    EXEC_TO(table, s->pinned, 8, 8, HostToDevice);
    RUN_EXEC();
    note_table(s);
});

CASE(symbol_exec_other_symbol, {
    int value = 0;
    SYMBOL_LOCALS;
    const void *scalar = sk_scalar();
    LET(*(int *)s->pinned = 40);
    TO(table, s->pinned, 4, 0, HostToDevice);
    INSTANTIATE();
    EXEC_TO(scalar, s->pinned, 4, 0, HostToDevice);
    RUN_EXEC();
    note_table(s);
    STEP(cudaMemcpyFromSymbol(&value, scalar, sizeof value, 0, cudaMemcpyDeviceToHost));
    VALUE("scalar", value);
    value = 5;
    STEP(cudaMemcpyToSymbol(scalar, &value, sizeof value, 0, cudaMemcpyHostToDevice));
});

CASE(symbol_exec_turned_round, {
    SYMBOL_LOCALS;
    TO(table, s->pinned, 4, 0, HostToDevice);
    INSTANTIATE();
    EXEC_FROM(s->pinned, table, 4, 12, DeviceToHost);
    RUN_EXEC();
    note_table(s);
    PINNED_INTS();
});

CASE(symbol_exec_from_device, {
    SYMBOL_LOCALS;
    TO(table, s->pinned, 4, 0, HostToDevice);
    INSTANTIATE();
    EXEC_TO(table, s->memory, 4, 4, DeviceToDevice);
    RUN_EXEC();
    note_table(s);
});

CASE(symbol_exec_refused, {
    SYMBOL_LOCALS;
    FROM(s->pinned, table, 4, 0, DeviceToHost);
    INSTANTIATE();
    EXEC_FROM(s->pinned, table, 28, 0, DeviceToHost);
    EXEC_FROM(s->pinned, table, 4, 24, DeviceToHost);
    EXEC_FROM(s->pinned, NULL, 4, 0, DeviceToHost);
    EXEC_FROM(NULL, table, 4, 0, DeviceToHost);
    EXEC_FROM(s->pinned, table, 4, 0, HostToDevice);
    EXEC_FROM(s->pinned, table, 0, 0, DeviceToHost);
    RUN_EXEC();
    PINNED_INTS();
});

static const struct case_rule rules[] = {
    {&symbol_to, "A node copies to a kernel's variable, from an offset on."},
    {&symbol_from, "And from it."},
    {&symbol_beyond_end, "Bytes beyond the variable's end:"},
    {&symbol_no_bytes, "Copies of nothing:"},
    {&symbol_wrong_direction, "Directions that are not those of the memory:"},
    {&symbol_any_direction, "Variables are device memory; cudaMemcpyDefault finds the direction."},
    {&symbol_node_unknown, "What is no variable is refused."},
    {&symbol_no_memory, "Arguments that are NULL:"},
    {&symbol_set, "A node's parameters may be set again; what is refused changes nothing."},
    {&symbol_set_turned_round, "A node that copied to a variable may copy from one."},
    {&symbol_set_of_plain_copy, "So may a node that copied between other memory."},
    {&symbol_exec_other_offset, "In an executable graph, offset and size may change."},
    {&symbol_exec_other_symbol, "The variable:"},
    {&symbol_exec_turned_round, "The direction:"},
    {&symbol_exec_from_device, "From host memory to device memory as the source:"},
    {&symbol_exec_refused, "What is refused changes nothing."},
};

const struct case_topic topic_symbol_node =
    CASE_TOPIC("Copies to and from variables of kernels",
               "Memcpy nodes may name a kernel's `__device__` or `__constant__` variable.", rules);
