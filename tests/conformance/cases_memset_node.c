/* Conformance: memset nodes. */
#include "case_graph.h"

/* fill: *x = value in each byte, word or whatever an element is. */
#define FILL_LOCALS                                                                                                    \
    cudaGraphNode_t node = NULL;                                                                                       \
    struct cudaMemsetParams fill = {0};                                                                                \
    GRAPH();                                                                                                           \
    MEMORY()
#define SHAPE(to, value_, bytes, width_, height_, pitch_)                                                              \
    STEP_AS("/* fill: " #to ", value " #value_ ", elements of " #bytes ", width " #width_ ", height " #height_         \
            ", pitch " #pitch_ " */",                                                                                  \
            (fill = (struct cudaMemsetParams){.dst = s->to,                                                            \
                                              .value = value_,                                                         \
                                              .elementSize = bytes,                                                    \
                                              .width = width_,                                                         \
                                              .height = height_,                                                       \
                                              .pitch = pitch_},                                                        \
             cudaSuccess))
#define ADD_FILL() ASK(cudaGraphAddMemsetNode(&node, s->graph, NULL, 0, &fill))
#define SET_FILL() ASK(cudaGraphExecMemsetNodeSetParams(s->exec, node, &fill))

CASE(fill_elements, {
    FILL_LOCALS;
    SHAPE(memory, 0x11223344, 1, 2, 1, 0);
    ADD_FILL();
    FILL_OF(node);
    INSTANTIATE();
    RUN_EXEC();
    BYTES("memory", 0, 8);
});

CASE(fill_elements_of_two, {
    FILL_LOCALS;
    SHAPE(memory, 0x11223344, 2, 2, 1, 0);
    ADD_FILL();
    FILL_OF(node);
    INSTANTIATE();
    RUN_EXEC();
    BYTES("memory", 0, 8);
});

CASE(fill_elements_of_four, {
    FILL_LOCALS;
    SHAPE(memory, 0x11223344, 4, 1, 1, 0);
    ADD_FILL();
    INSTANTIATE();
    RUN_EXEC();
    BYTES("memory", 0, 8);
});

CASE(fill_elements_of_other_sizes, {
    FILL_LOCALS;
    SHAPE(memory, 1, 3, 1, 1, 0);
    ADD_FILL();
    SHAPE(memory, 1, 8, 1, 1, 0);
    ADD_FILL();
    SHAPE(memory, 1, 0, 1, 1, 0);
    ADD_FILL();
});

CASE(fill_node_rows, {
    FILL_LOCALS;
    SHAPE(memory, 5, 1, 3, 2, 4);
    ADD_FILL();
    FILL_OF(node);
    INSTANTIATE();
    RUN_EXEC();
    BYTES("memory", 0, 8);
});

CASE(fill_rows_that_overlap, {
    FILL_LOCALS;
    SHAPE(memory, 5, 1, 8, 2, 4);
    ADD_FILL();
    SHAPE(memory, 5, 1, 8, 2, 0);
    ADD_FILL();
    SHAPE(memory, 5, 4, 1, 2, 6);
    ADD_FILL();
});

CASE(fill_without_width, {
    FILL_LOCALS;
    SHAPE(memory, 5, 1, 0, 1, 0);
    ADD_FILL();
    SHAPE(memory, 5, 1, 4, 0, 0);
    ADD_FILL();
    SHAPE(memory, 5, 1, 0, 0, 0);
    ADD_FILL();
});

CASE(fill_pitch_of_one_row, {
    FILL_LOCALS;
    SHAPE(memory, 5, 1, 8, 1, 4);
    ADD_FILL();
    FILL_OF(node);
});

CASE(fill_nowhere, {
    FILL_LOCALS;
    SHAPE(memory, 5, 1, 4, 1, 0);
    LET(fill.dst = NULL);
    ADD_FILL();
    ASK(cudaGraphAddMemsetNode(&node, s->graph, NULL, 0, NULL));
});

CASE(fill_misaligned, {
    FILL_LOCALS;
    SHAPE(memory, 5, 4, 2, 1, 0);
    LET(fill.dst = (char *)s->memory + 2);
    ADD_FILL();
    LET(fill.dst = (char *)s->memory + 1);
    LET(fill.elementSize = 2);
    ADD_FILL();
});

CASE(fill_beyond_end, {
    FILL_LOCALS;
    SHAPE(memory, 5, 1, (size_t)1 << 40, 1, 0);
    ADD_FILL();
});

CASE(fill_pinned, {
    FILL_LOCALS;
    PINNED();
    SHAPE(pinned, 7, 1, 4, 1, 0);
    ADD_FILL();
    FILL_OF(node);
    INSTANTIATE();
    RUN_EXEC();
    VALUE("first byte of pinned", *(char *)s->pinned);
});

CASE(fill_pageable, {
    static char host[64];
    FILL_LOCALS;
    SHAPE(memory, 7, 1, 4, 1, 0);
    LET(fill.dst = host);
    ADD_FILL();
});

CASE(fill_node_set, {
    FILL_LOCALS;
    SHAPE(memory, 5, 1, 4, 1, 0);
    ADD_FILL();
    SHAPE(memory, 6, 2, 2, 2, 8);
    ASK(cudaGraphMemsetNodeSetParams(node, &fill));
    FILL_OF(node);
    SHAPE(memory, 6, 3, 2, 2, 8);
    ASK(cudaGraphMemsetNodeSetParams(node, &fill));
    ASK(cudaGraphMemsetNodeSetParams(node, NULL));
    FILL_OF(node);
    INSTANTIATE();
    RUN_EXEC();
    BYTES("memory", 0, 16);
});

CASE(exec_fill_other_value, {
    FILL_LOCALS;
    SHAPE(memory, 5, 1, 8, 1, 0);
    ADD_FILL();
    INSTANTIATE();
    SHAPE(memory, 6, 1, 8, 1, 0);
    SET_FILL();
    RUN_EXEC();
    BYTES("memory", 0, 9);
    FILL_OF(node);
});

CASE(exec_fill_other_width, {
    FILL_LOCALS;
    SHAPE(memory, 5, 1, 4, 1, 0);
    ADD_FILL();
    INSTANTIATE();
    SHAPE(memory, 5, 1, 8, 1, 0);
    SET_FILL();
    RUN_EXEC();
    BYTES("memory", 0, 10);
    SHAPE(memory, 6, 1, 2, 1, 0);
    SET_FILL();
    RUN_EXEC();
    BYTES("memory", 0, 10);
});

CASE(exec_fill_other_elements, {
    FILL_LOCALS;
    SHAPE(memory, 5, 1, 4, 1, 0);
    ADD_FILL();
    INSTANTIATE();
    SHAPE(memory, 6, 4, 1, 1, 0);
    SET_FILL();
    RUN_EXEC();
    BYTES("memory", 0, 6);
});

CASE(exec_fill_rows_to_line, {
    FILL_LOCALS;
    SHAPE(memory, 5, 1, 3, 2, 4);
    ADD_FILL();
    INSTANTIATE();
    SHAPE(memory, 6, 1, 6, 1, 0);
    SET_FILL();
    RUN_EXEC();
    BYTES("memory", 0, 8);
});

CASE(exec_fill_line_to_rows, {
    FILL_LOCALS;
    SHAPE(memory, 5, 1, 6, 1, 0);
    ADD_FILL();
    INSTANTIATE();
    SHAPE(memory, 6, 1, 3, 2, 4);
    SET_FILL();
    RUN_EXEC();
    BYTES("memory", 0, 8);
});

CASE(exec_fill_other_rows, {
    FILL_LOCALS;
    SHAPE(memory, 5, 1, 3, 2, 4);
    ADD_FILL();
    INSTANTIATE();
    SHAPE(memory, 6, 1, 3, 2, 8);
    SET_FILL();
    RUN_EXEC();
    BYTES("memory", 0, 12);
    SHAPE(memory, 7, 1, 2, 3, 4);
    SET_FILL();
    RUN_EXEC();
    BYTES("memory", 0, 12);
});

CASE(exec_fill_other_memory, {
    FILL_LOCALS;
    PINNED();
    SHAPE(memory, 5, 1, 4, 1, 0);
    ADD_FILL();
    INSTANTIATE();
    SHAPE(x, 1, 1, 4, 1, 0);
    SET_FILL();
    RUN_EXEC();
    BYTES("memory", 0, 4);
    VALUE("x", case_read_x(s));
    SHAPE(pinned, 9, 1, 4, 1, 0);
    SET_FILL();
    RUN_EXEC();
    VALUE("first byte of pinned", *(char *)s->pinned);
});

CASE(exec_fill_refused, {
    static char host[64];
    FILL_LOCALS;
    SHAPE(memory, 5, 1, 4, 1, 0);
    ADD_FILL();
    INSTANTIATE();
    SHAPE(memory, 6, 3, 1, 1, 0);
    SET_FILL();
    SHAPE(memory, 6, 1, 0, 1, 0);
    SET_FILL();
    SHAPE(memory, 6, 1, 4, 1, 0);
    LET(fill.dst = host);
    SET_FILL();
    ASK(cudaGraphExecMemsetNodeSetParams(s->exec, node, NULL));
    RUN_EXEC();
    BYTES("memory", 0, 5);
});

static const struct case_rule rules[] = {
    {&fill_elements, "Elements of one byte are for values of one byte: what a larger value has above is found, by or, "
                     "in the elements behind."},
    {&fill_elements_of_two, "So are elements of two bytes for values of two."},
    {&fill_elements_of_four, "Elements of four bytes take it all; the width counts elements."},
    {&fill_elements_of_other_sizes, "There are no elements of other sizes."},
    {&fill_node_rows, "The pitch is the distance of rows, in bytes."},
    {&fill_rows_that_overlap, "A pitch smaller than a row, none, and one that no element fits:"},
    {&fill_without_width, "A width or height of 0:"},
    {&fill_pitch_of_one_row, "A single row needs no pitch."},
    {&fill_nowhere, "A fill of no memory is refused."},
    {&fill_misaligned, "Elements that are not aligned to their size:"},
    {&fill_beyond_end, "A fill beyond the allocation's end:"},
    {&fill_pinned, "A node may fill pinned host memory."},
    {&fill_pageable, "Pageable memory:"},
    {&fill_node_set, "A node's parameters may be set again; what is refused changes nothing."},
    {&exec_fill_other_value, "In an executable graph, the value may change."},
    {&exec_fill_other_width, "The width:"},
    {&exec_fill_other_elements, "The size of elements:"},
    {&exec_fill_rows_to_line, "Rows to a single row:"},
    {&exec_fill_line_to_rows, "A single row to rows:"},
    {&exec_fill_other_rows, "The pitch, and the number of rows:"},
    {&exec_fill_other_memory, "Other memory, of the same kind and of another kind:"},
    {&exec_fill_refused, "What is refused changes nothing."},
};

const struct case_topic topic_memset_node =
    CASE_TOPIC("Memset nodes", "A memset node fills rows of elements of one, two or four bytes.", rules);
