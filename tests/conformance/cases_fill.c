/* Conformance: fills. */
#include "case_memory.h"
#include "cases.h"

static char pageable[64];

CASE(fill_value, {
    MAKE(64);
    ASK(cudaMemset(s->memory, 0x105, 3));
    ASK(cudaMemset((char *)s->memory + 5, -1, 2));
    BYTES("memory", s->memory, 8);
});

CASE(fill_nothing, {
    MAKE(64);
    ASK(cudaMemset(s->memory, 1, 0));
    ASK(cudaMemset(NULL, 1, 0));
    ASK(cudaMemset(pageable, 1, 0));
    ASK(cudaMemset((char *)s->memory + 64, 1, 0));
    ASK(cudaMemsetAsync(s->memory, 1, 0, s->a));
    ASK(cudaMemsetAsync(NULL, 1, 0, s->a));
    BYTES("memory", s->memory, 2);
});

CASE(fill_refused, {
    MAKE(64);
    ASK(cudaMemset(NULL, 1, 1));
    ASK(cudaMemset(s->memory, 1, 65));
    ASK(cudaMemset((char *)s->memory + 60, 1, 5));
    ASK(cudaMemset((char *)s->memory + 60, 1, 4));
    ASK(cudaMemsetAsync(NULL, 1, 1, s->a));
    ASK(cudaMemsetAsync(s->memory, 1, 65, s->a));
    BYTES("memory", s->memory, 2);
});

CASE(fill_host_memory, {
    ASK(cudaMemset(s->y, 1, 4));
    BYTES("y", s->y, 4);
    ASK(cudaMemsetAsync(s->y, 2, 4, s->a));
    BYTES("y", s->y, 4);
    ASK(cudaMemset(s->y, 1, 5));
});

CASE(fill_pageable_memory, {
    ASK(cudaMemset(pageable, 1, 4));
    ASK(cudaMemsetAsync(pageable, 1, 4, s->a));
    ASK(cudaMemset2D(pageable, 8, 1, 4, 2));
});

CASE(fill_rows, {
    MAKE(64);
    ASK(cudaMemset2D(s->memory, 8, 0x102, 3, 2));
    ASK(cudaMemset2DAsync((char *)s->memory + 4, 16, 3, 2, 2, s->a));
    ROWS("rows of 8", s->memory, 8, 8, 4);
});

CASE(fill_rows_pitch, {
    MAKE(64);
    ASK(cudaMemset2D(s->memory, 3, 1, 4, 2));
    ASK(cudaMemset2D(s->memory, 0, 1, 4, 2));
    ASK(cudaMemset2D(s->memory, 4, 1, 4, 2));
    ASK(cudaMemset2D(s->memory, 3, 2, 4, 1));
    ASK(cudaMemset2D(s->memory, 0, 3, 2, 1));
    STEP(cudaDeviceSynchronize());
    ASK(cudaMemset2DAsync(s->memory, 3, 1, 4, 2, s->a));
    ASK(cudaMemset2DAsync(s->memory, 0, 4, 1, 1, s->a));
    BYTES("memory", s->memory, 10);
});

CASE(fill_rows_nothing, {
    MAKE(64);
    ASK(cudaMemset2D(s->memory, 8, 1, 0, 2));
    ASK(cudaMemset2D(s->memory, 8, 1, 4, 0));
    ASK(cudaMemset2D(NULL, 8, 1, 0, 2));
    ASK(cudaMemset2D(NULL, 8, 1, 4, 0));
    ASK(cudaMemset2D(s->memory, 3, 1, 4, 0));
    ASK(cudaMemset2D(NULL, 8, 1, 4, 2));
    ASK(cudaMemset2DAsync(NULL, 8, 1, 0, 2, s->a));
    ASK(cudaMemset2DAsync(NULL, 8, 1, 4, 2, s->a));
    BYTES("memory", s->memory, 8);
});

/* The last row needs no pitch. */
CASE(fill_rows_past, {
    MAKE(64);
    ASK(cudaMemset2D((char *)s->memory + 8, 16, 1, 8, 4));
    ASK(cudaMemset2D((char *)s->memory + 8, 16, 1, 9, 4));
    ASK(cudaMemset2D((char *)s->memory + 8, 16, 1, 8, 5));
    ASK(cudaMemset2D(s->memory, 65, 1, 4, 1));
    ASK(cudaMemset2D(s->memory, 65, 1, 4, 2));
});

static struct cudaPitchedPtr box_of(struct scene *s, size_t pitch, size_t xsize, size_t ysize)
{
    return (struct cudaPitchedPtr){s->memory, pitch, xsize, ysize};
}

/* A box that the program describes, and what to fill of it. */
#define BOX(pitch, xsize, ysize)                                                                                       \
    STEP_AS("box = {memory, " #pitch ", " #xsize ", " #ysize "};", (box = box_of(s, pitch, xsize, ysize), cudaSuccess))
#define EXTENT(width, height, depth)                                                                                   \
    STEP_AS("extent = {" #width ", " #height ", " #depth "};",                                                         \
            (extent = (struct cudaExtent){width, height, depth}, cudaSuccess))

CASE(fill_box, {
    struct cudaPitchedPtr box;
    struct cudaExtent extent;
    MAKE(64);
    BOX(8, 8, 3);
    EXTENT(3, 2, 2);
    ASK(cudaMemset3D(box, 0x105, extent));
    ROWS("rows of 8", s->memory, 8, 4, 6);
    EXTENT(1, 3, 2);
    ASK(cudaMemset3DAsync(box, 6, extent, s->a));
    ROWS("rows of 8", s->memory, 8, 4, 6);
});

CASE(fill_box_nothing, {
    struct cudaPitchedPtr box;
    struct cudaExtent extent;
    MAKE(64);
    BOX(8, 8, 3);
    EXTENT(0, 2, 2);
    ASK(cudaMemset3D(box, 1, extent));
    EXTENT(3, 0, 2);
    ASK(cudaMemset3D(box, 1, extent));
    EXTENT(3, 2, 0);
    ASK(cudaMemset3D(box, 1, extent));
    SET(box.ptr = NULL);
    ASK(cudaMemset3D(box, 1, extent));
    ASK(cudaMemset3DAsync(box, 1, extent, s->a));
    EXTENT(3, 2, 1);
    ASK(cudaMemset3D(box, 1, extent));
    BYTES("memory", s->memory, 8);
});

CASE(fill_box_sizes, {
    struct cudaPitchedPtr box;
    struct cudaExtent extent;
    MAKE(64);
    EXTENT(4, 2, 2);
    BOX(3, 8, 2);
    ASK(cudaMemset3D(box, 1, extent));
    BOX(8, 3, 2);
    ASK(cudaMemset3D(box, 2, extent));
    BOX(8, 8, 1);
    ASK(cudaMemset3D(box, 3, extent));
    BOX(8, 8, 0);
    ASK(cudaMemset3D(box, 4, extent));
    BOX(8, 8, 4);
    ASK(cudaMemset3D(box, 5, extent));
    ROWS("rows of 8", s->memory, 8, 5, 6);
    BOX(8, 8, 7);
    ASK(cudaMemset3D(box, 6, extent));
    EXTENT(4, 1, 1);
    BOX(8, 8, 0);
    ASK(cudaMemset3D(box, 7, extent));
    BOX(0, 0, 0);
    ASK(cudaMemset3D(box, 8, extent));
    ROWS("rows of 8", s->memory, 8, 5, 6);
});

/* ---- in captures ---------------------------------------------------------------------------------------------------
 */

CASE(captured_fills, {
    MAKE(64);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemsetAsync(s->memory, 1, 3, s->a));
    ASK(cudaMemset2DAsync((char *)s->memory + 4, 8, 2, 2, 2, s->a));
    END(s->a);
    NODE_TYPE();
    BYTES("memory", s->memory, 8);
    RUN_GRAPH();
    ROWS("rows of 8", s->memory, 8, 8, 2);
});

CASE(captured_fill_nothing, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemsetAsync(s->x, 1, 0, s->a));
    ASK(cudaMemset2DAsync(s->x, 4, 1, 0, 1, s->a));
    ASK(cudaMemset2DAsync(s->x, 4, 1, 1, 0, s->a));
    END(s->a);
});

CASE(captured_fill_refused, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemsetAsync(NULL, 1, 4, s->a));
    STATUS(s->a);
    ASK(cudaMemsetAsync(s->x, 1, 5, s->a));
    STATUS(s->a);
    ASK(cudaMemset2DAsync(s->x, 1, 1, 2, 2, s->a));
    STATUS(s->a);
    END(s->a);
});

CASE(captured_fill_pinned, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemsetAsync(s->y, 1, 4, s->a));
    END(s->a);
    RUN_GRAPH();
    BYTES("y", s->y, 4);
});

CASE(captured_fill_pageable, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemsetAsync(pageable, 1, 4, s->a));
    STATUS(s->a);
    END(s->a);
});

CASE(captured_fill_box, {
    struct cudaPitchedPtr box;
    struct cudaExtent extent;
    MAKE(64);
    BOX(8, 8, 3);
    EXTENT(3, 2, 2);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemset3DAsync(box, 5, extent, s->a));
    END(s->a);
    NODE_TYPE();
    RUN_GRAPH();
    ROWS("rows of 8", s->memory, 8, 4, 6);
});

CASE(captured_fill_slice, {
    struct cudaPitchedPtr box;
    struct cudaExtent extent;
    MAKE(64);
    BOX(8, 8, 3);
    EXTENT(3, 2, 1);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemset3DAsync(box, 5, extent, s->a));
    END(s->a);
    BOX(8, 8, 2);
    EXTENT(8, 2, 3);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemset3DAsync(box, 6, extent, s->a));
    END(s->a);
    EXTENT(8, 0, 3);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemset3DAsync(box, 7, extent, s->a));
    END(s->a);
});

CASE(captured_fill_at_once, {
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemset(s->x, 1, 4));
    STATUS(s->a);
    END(s->a);
    BYTES("x", s->x, 4);
});

static const struct case_rule rules[] = {
    {&fill_value, "A fill takes the low byte of the value."},
    {&fill_nothing, "A fill of no bytes."},
    {&fill_refused, "No memory, and bytes behind its end."},
    {&fill_host_memory, "Pinned host memory can be filled."},
    {&fill_pageable_memory, "Other host memory cannot."},
    {&fill_rows, "Rows are filled up to their width."},
    {&fill_rows_pitch, "A pitch that is less than the width: with one row, it does not matter."},
    {&fill_rows_nothing, "Rows of no bytes, or no rows."},
    {&fill_rows_past, "The last row need not have the whole pitch."},
    {&fill_box, "Slices of a box begin `pitch * ysize` after each other."},
    {&fill_box_nothing, "A box of nothing."},
    {&fill_box_sizes, "A slice must have as many rows as are filled of it; `xsize` does not count."},
    {&captured_fills, "A fill becomes a memset node, by rows too."},
    {&captured_fill_nothing, "Fills of nothing, captured."},
    {&captured_fill_refused, "A fill that is refused, captured."},
    {&captured_fill_pinned, "Pinned memory, captured."},
    {&captured_fill_pageable, "Other host memory, captured."},
    {&captured_fill_box, "What a captured fill of a box becomes."},
    {&captured_fill_slice, "One node for each slice, but one for all where every byte of them is filled."},
    {&captured_fill_at_once, "`cudaMemset` while a non-blocking stream captures."},
};

const struct case_topic topic_fill =
    CASE_TOPIC("Fills", "`cudaMemset`, and its forms for rows and boxes, at once, on streams and in captures.", rules);
