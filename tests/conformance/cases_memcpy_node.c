/* Conformance: memcpy nodes. */
#include "case_graph.h"

#define COPY_LOCALS                                                                                                    \
    cudaGraphNode_t node = NULL;                                                                                       \
    struct cudaMemcpy3DParms copy = {0};                                                                               \
    GRAPH();                                                                                                           \
    MEMORY();                                                                                                          \
    PINNED();                                                                                                          \
    (void)copy
#define ADD_COPY() ASK(cudaGraphAddMemcpyNode(&node, s->graph, NULL, 0, &copy))
#define ADD_COPY_1D(to, from, bytes, kind)                                                                             \
    ASK(cudaGraphAddMemcpyNode1D(&node, s->graph, NULL, 0, to, from, bytes, cudaMemcpy##kind))
#define SET_COPY() ASK(cudaGraphExecMemcpyNodeSetParams(s->exec, node, &copy))
#define SET_COPY_1D(to, from, bytes, kind)                                                                             \
    ASK(cudaGraphExecMemcpyNodeSetParams1D(s->exec, node, to, from, bytes, cudaMemcpy##kind))
/* Bytes 1, 2, 3 ... in pinned. */
#define COUNT_UP()                        STEP_AS("/* pinned: 1, 2, 3 ... in each byte */", count_up(s))
#define PINNED_BYTES(what, offset, count) case_note_bytes(s, what, (const char *)s->pinned + (offset), count)

static cudaError_t count_up(const struct scene *s)
{
    for (int i = 0; i < 256; i++)
        ((unsigned char *)s->pinned)[i] = (unsigned char)(i + 1);
    return cudaSuccess;
}

CASE(copy_line, {
    COPY_LOCALS;
    COUNT_UP();
    ADD_COPY_1D(s->memory, s->pinned, 6, HostToDevice);
    COPY_OF(node);
    INSTANTIATE();
    RUN_EXEC();
    BYTES("memory", 0, 8);
});

CASE(copy_wrong_direction, {
    COPY_LOCALS;
    ADD_COPY_1D(s->memory, s->pinned, 4, DeviceToHost);
    ADD_COPY_1D(s->pinned, s->memory, 4, HostToDevice);
    ADD_COPY_1D(s->memory, s->x, 4, HostToHost);
    ADD_COPY_1D(s->memory, s->pinned, 4, DeviceToDevice);
    ADD_COPY_1D(s->memory, s->pinned, 4, Default);
});

CASE(copy_wrong_direction_pageable, {
    static char host[64];
    COPY_LOCALS;
    ADD_COPY_1D(s->memory, host, 4, DeviceToHost);
    ADD_COPY_1D(s->memory, host, 4, DeviceToDevice);
    ADD_COPY_1D(host, s->memory, 4, HostToDevice);
    ADD_COPY_1D(s->memory, host, 4, Default);
});

CASE(copy_unknown_direction, {
    COPY_LOCALS;
    ASK(cudaGraphAddMemcpyNode1D(&node, s->graph, NULL, 0, s->memory, s->pinned, 4, (enum cudaMemcpyKind)9));
    COPY_PARAMS(s->memory, s->pinned, 4, HostToDevice);
    LET(copy.kind = (enum cudaMemcpyKind)9);
    ADD_COPY();
});

CASE(copy_nothing_node, {
    COPY_LOCALS;
    ADD_COPY_1D(s->memory, s->pinned, 0, HostToDevice);
    COPY_PARAMS(s->memory, s->pinned, 4, HostToDevice);
    LET(copy.extent.width = 0);
    ADD_COPY();
    LET(copy.extent.width = 4);
    LET(copy.extent.height = 0);
    ADD_COPY();
    LET(copy.extent.height = 1);
    LET(copy.extent.depth = 0);
    ADD_COPY();
});

CASE(copy_nowhere, {
    COPY_LOCALS;
    ADD_COPY_1D(NULL, s->pinned, 4, HostToDevice);
    ADD_COPY_1D(s->memory, NULL, 4, HostToDevice);
    ASK(cudaGraphAddMemcpyNode(&node, s->graph, NULL, 0, NULL));
    COPY_PARAMS(s->memory, s->pinned, 4, HostToDevice);
    LET(copy.dstPtr.ptr = NULL);
    ADD_COPY();
});

CASE(copy_block, {
    COPY_LOCALS;
    COUNT_UP();
    COPY_PARAMS(s->memory, s->pinned, 2, HostToDevice);
    LET(copy.srcPtr.pitch = 8);
    LET(copy.srcPtr.ysize = 3);
    LET(copy.dstPtr.pitch = 4);
    LET(copy.dstPtr.ysize = 2);
    LET(copy.extent.height = 2);
    LET(copy.extent.depth = 2);
    ADD_COPY();
    COPY_OF(node);
    INSTANTIATE();
    RUN_EXEC();
    BYTES("memory", 0, 16);
});

CASE(copy_block_from_position, {
    COPY_LOCALS;
    COUNT_UP();
    COPY_PARAMS(s->memory, s->pinned, 2, HostToDevice);
    LET(copy.srcPtr.pitch = 8);
    LET(copy.dstPtr.pitch = 4);
    LET(copy.extent.height = 2);
    LET(copy.srcPos.x = 3);
    LET(copy.srcPos.y = 1);
    LET(copy.dstPos.x = 1);
    ADD_COPY();
    INSTANTIATE();
    RUN_EXEC();
    BYTES("memory", 0, 8);
});

CASE(copy_block_pitch_too_small, {
    COPY_LOCALS;
    COPY_PARAMS(s->memory, s->pinned, 8, HostToDevice);
    LET(copy.extent.height = 2);
    LET(copy.dstPtr.pitch = 4);
    ADD_COPY();
    LET(copy.dstPtr.pitch = 8);
    LET(copy.srcPtr.pitch = 0);
    ADD_COPY();
    LET(copy.srcPtr.pitch = 8);
    LET(copy.dstPos.x = 4);
    ADD_COPY();
});

CASE(copy_overlapping, {
    COPY_LOCALS;
    ADD_COPY_1D((char *)s->memory + 4, s->memory, 8, DeviceToDevice);
    ADD_COPY_1D(s->memory, s->memory, 8, DeviceToDevice);
});

CASE(copy_beyond_end, {
    COPY_LOCALS;
    ADD_COPY_1D(s->memory, s->pinned, (size_t)1 << 40, HostToDevice);
    ADD_COPY_1D(s->memory, s->x, (size_t)1 << 40, DeviceToDevice);
});

CASE(copy_node_set, {
    COPY_LOCALS;
    COUNT_UP();
    ADD_COPY_1D(s->memory, s->pinned, 4, HostToDevice);
    ASK(cudaGraphMemcpyNodeSetParams1D(node, s->pinned, s->memory, 8, cudaMemcpyDeviceToHost));
    COPY_OF(node);
    ASK(cudaGraphMemcpyNodeSetParams1D(node, s->pinned, s->memory, 0, cudaMemcpyDeviceToHost));
    ASK(cudaGraphMemcpyNodeSetParams1D(node, NULL, s->memory, 8, cudaMemcpyDeviceToHost));
    ASK(cudaGraphMemcpyNodeSetParams(node, NULL));
    COPY_OF(node);
    INSTANTIATE();
    RUN_EXEC();
    PINNED_BYTES("pinned", 0, 10);
});

CASE(copy_node_set_to_block, {
    COPY_LOCALS;
    COUNT_UP();
    ADD_COPY_1D(s->memory, s->pinned, 4, HostToDevice);
    COPY_PARAMS(s->memory, s->pinned, 2, HostToDevice);
    LET(copy.srcPtr.pitch = 8);
    LET(copy.extent.height = 2);
    ASK(cudaGraphMemcpyNodeSetParams(node, &copy));
    COPY_OF(node);
    INSTANTIATE();
    RUN_EXEC();
    BYTES("memory", 0, 6);
});

CASE(exec_copy_other_size, {
    COPY_LOCALS;
    COUNT_UP();
    ADD_COPY_1D(s->memory, s->pinned, 4, HostToDevice);
    INSTANTIATE();
    SET_COPY_1D(s->memory, s->pinned, 8, HostToDevice);
    RUN_EXEC();
    BYTES("memory", 0, 10);
    SET_COPY_1D((char *)s->memory + 8, s->pinned, 1, HostToDevice);
    RUN_EXEC();
    BYTES("memory", 0, 10);
    COPY_OF(node);
});

CASE(exec_copy_other_direction, {
    COPY_LOCALS;
    COUNT_UP();
    ADD_COPY_1D(s->memory, s->pinned, 4, HostToDevice);
    INSTANTIATE();
    SET_COPY_1D((char *)s->pinned + 8, s->memory, 4, DeviceToHost);
    RUN_EXEC();
    BYTES("memory", 0, 4);
    PINNED_BYTES("pinned", 8, 4);
});

CASE(exec_copy_other_direction_3d, {
    COPY_LOCALS;
    COUNT_UP();
    ADD_COPY_1D(s->memory, s->pinned, 4, HostToDevice);
    INSTANTIATE();
    COPY_PARAMS(s->x, s->memory, 4, DeviceToDevice);
    SET_COPY();
    RUN_EXEC();
    BYTES("memory", 0, 4);
    VALUE("x", case_read_x(s));
});

CASE(exec_copy_wrong_direction, {
    COPY_LOCALS;
    COUNT_UP();
    ADD_COPY_1D(s->memory, s->pinned, 4, HostToDevice);
    INSTANTIATE();
    SET_COPY_1D(s->memory, s->pinned, 4, DeviceToHost);
    SET_COPY_1D(s->memory, s->pinned, 4, DeviceToDevice);
    SET_COPY_1D(s->memory, s->pinned, 4, Default);
    RUN_EXEC();
    BYTES("memory", 0, 4);
});

CASE(exec_copy_pageable_memory, {
    static char host[64];
    COPY_LOCALS;
    COUNT_UP();
    LET(host[0] = 9);
    ADD_COPY_1D(s->memory, s->pinned, 4, HostToDevice);
    INSTANTIATE();
    SET_COPY_1D(s->memory, host, 4, HostToDevice);
    RUN_EXEC();
    BYTES("memory", 0, 4);
});

CASE(exec_copy_pinned_memory, {
    static char host[64];
    COPY_LOCALS;
    COUNT_UP();
    ADD_COPY_1D(s->memory, host, 4, HostToDevice);
    INSTANTIATE();
    SET_COPY_1D(s->memory, s->pinned, 4, HostToDevice);
    RUN_EXEC();
    BYTES("memory", 0, 4);
});

CASE(exec_copy_line_to_rows, {
    COPY_LOCALS;
    COUNT_UP();
    ADD_COPY_1D(s->memory, s->pinned, 4, HostToDevice);
    INSTANTIATE();
    COPY_PARAMS(s->memory, s->pinned, 2, HostToDevice);
    LET(copy.srcPtr.pitch = 8);
    LET(copy.extent.height = 2);
    SET_COPY();
    RUN_EXEC();
    BYTES("memory", 0, 6);
});

CASE(exec_copy_rows_to_line, {
    COPY_LOCALS;
    COUNT_UP();
    COPY_PARAMS(s->memory, s->pinned, 2, HostToDevice);
    LET(copy.srcPtr.pitch = 8);
    LET(copy.extent.height = 2);
    ADD_COPY();
    INSTANTIATE();
    SET_COPY_1D(s->memory, s->pinned, 6, HostToDevice);
    RUN_EXEC();
    BYTES("memory", 0, 8);
});

CASE(exec_copy_refused, {
    cudaGraphNode_t empty = NULL;
    COPY_LOCALS;
    COUNT_UP();
    ADD_COPY_1D(s->memory, s->pinned, 4, HostToDevice);
    STEP(cudaGraphAddEmptyNode(&empty, s->graph, NULL, 0));
    INSTANTIATE();
    SET_COPY_1D(s->memory, s->pinned, 0, HostToDevice);
    SET_COPY_1D(NULL, s->pinned, 4, HostToDevice);
    SET_COPY_1D(s->memory, NULL, 4, HostToDevice);
    ASK(cudaGraphExecMemcpyNodeSetParams(s->exec, node, NULL));
    ASK(cudaGraphExecMemcpyNodeSetParams1D(s->exec, empty, s->memory, s->pinned, 4, cudaMemcpyHostToDevice));
    ASK(cudaGraphExecMemcpyNodeSetParams1D(s->exec, NULL, s->memory, s->pinned, 4, cudaMemcpyHostToDevice));
    RUN_EXEC();
    BYTES("memory", 0, 5);
});

static const struct case_rule rules[] = {
    {&copy_line, "A copy in one row gives its parameters back as a block."},
    {&copy_wrong_direction, "Directions that are not those of the memory:"},
    {&copy_wrong_direction_pageable, "The same with pageable host memory:"},
    {&copy_unknown_direction, "A direction that does not exist is refused."},
    {&copy_nothing_node, "Copies of nothing:"},
    {&copy_nowhere, "Copies from or to no memory:"},
    {&copy_block, "A block's rows and layers lie pitch, and pitch times height, apart."},
    {&copy_block_from_position,
     "A position and the rows behind it must fit into `ysize`, here 1, also where there is one slice alone."},
    {&copy_block_pitch_too_small, "Rows larger than the pitch:"},
    {&copy_overlapping, "Memory that overlaps:"},
    {&copy_beyond_end, "Copies beyond the allocation's end:"},
    {&copy_node_set, "A node's parameters may be set again, in another direction too."},
    {&copy_node_set_to_block, "So must the rows that a node is given later."},
    {&exec_copy_other_size, "In an executable graph, the size may change."},
    {&exec_copy_other_direction, "Another direction is refused."},
    {&exec_copy_other_direction_3d, "So is one from device memory in place of host memory."},
    {&exec_copy_wrong_direction, "So is another word for the direction of the same memory, cudaMemcpyDefault too."},
    {&exec_copy_pageable_memory, "From pinned memory to pageable memory:"},
    {&exec_copy_pinned_memory, "From pageable memory to pinned memory:"},
    {&exec_copy_line_to_rows, "From one row to several:"},
    {&exec_copy_rows_to_line, "A node is not made of rows that `ysize` does not have."},
    {&exec_copy_refused, "What is refused changes nothing."},
};

const struct case_topic topic_memcpy_node =
    CASE_TOPIC("Memcpy nodes", "A memcpy node copies a row or a block of bytes at each launch.", rules);
