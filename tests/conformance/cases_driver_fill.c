/* Conformance: fills by the driver. */
#include "case_memory.h"
#include "cases.h"

/* memory: 64 bytes, as the driver takes it. */
#define PLACE()                                                                                                        \
    MAKE(64);                                                                                                          \
    const CUdeviceptr memory = (CUdeviceptr)s->memory

static char pageable[64];

CASE(driver_fill_elements, {
    PLACE();
    ASK_CU(cuMemsetD8, 3020, memory, 0x12, 3);
    ASK_CU(cuMemsetD16, 3020, memory + 4, 0x1234, 2);
    ASK_CU(cuMemsetD32, 3020, memory + 8, 0x12345678, 2);
    BYTES("memory", s->memory, 18);
    ASK_CU(cuMemsetD8Async, 3020, memory, 0x21, 3, s->a);
    ASK_CU(cuMemsetD16Async, 3020, memory + 4, 0x4321, 2, s->a);
    ASK_CU(cuMemsetD32Async, 3020, memory + 8, 0x87654321, 2, s->a);
    BYTES("memory", s->memory, 18);
});

CASE(driver_fill_alignment, {
    PLACE();
    ASK_CU(cuMemsetD16, 3020, memory + 1, 1, 2);
    ASK_CU(cuMemsetD32, 3020, memory + 1, 1, 2);
    ASK_CU(cuMemsetD32, 3020, memory + 2, 1, 2);
    ASK_CU(cuMemsetD16Async, 3020, memory + 1, 1, 2, s->a);
    ASK_CU(cuMemsetD32Async, 3020, memory + 2, 1, 2, s->a);
    ASK_CU(cuMemsetD16, 3020, memory + 1, 1, 0);
    ASK_CU(cuMemsetD2D16, 3020, memory + 1, 8, 1, 2, 2);
    ASK_CU(cuMemsetD2D32, 3020, memory + 2, 8, 1, 1, 2);
    BYTES("memory", s->memory, 8);
});

CASE(driver_fill_pitch_alignment, {
    PLACE();
    ASK_CU(cuMemsetD2D16, 3020, memory, 7, 1, 2, 2);
    ASK_CU(cuMemsetD2D32, 3020, memory, 6, 1, 1, 2);
    ASK_CU(cuMemsetD2D32, 3020, memory, 7, 1, 1, 1);
    ASK_CU(cuMemsetD2D32Async, 3020, memory, 6, 1, 1, 2, s->a);
});

CASE(driver_fill_nothing, {
    PLACE();
    ASK_CU(cuMemsetD8, 3020, memory, 1, 0);
    ASK_CU(cuMemsetD8, 3020, 0, 1, 0);
    ASK_CU(cuMemsetD32, 3020, memory, 1, 0);
    ASK_CU(cuMemsetD8Async, 3020, 0, 1, 0, s->a);
    ASK_CU(cuMemsetD2D8, 3020, memory, 8, 1, 0, 2);
    ASK_CU(cuMemsetD2D8, 3020, memory, 8, 1, 4, 0);
    ASK_CU(cuMemsetD2D8, 3020, 0, 8, 1, 0, 0);
    BYTES("memory", s->memory, 8);
});

CASE(driver_fill_refused, {
    PLACE();
    ASK_CU(cuMemsetD8, 3020, 0, 1, 4);
    ASK_CU(cuMemsetD8, 3020, (CUdeviceptr)pageable, 1, 4);
    ASK_CU(cuMemsetD8, 3020, memory, 1, 65);
    ASK_CU(cuMemsetD16, 3020, memory, 1, 33);
    ASK_CU(cuMemsetD32, 3020, memory + 60, 1, 2);
    ASK_CU(cuMemsetD8Async, 3020, 0, 1, 4, s->a);
    ASK_CU(cuMemsetD32Async, 3020, memory, 1, 17, s->a);
    BYTES("memory", s->memory, 8);
});

CASE(driver_fill_rows, {
    PLACE();
    ASK_CU(cuMemsetD2D8, 3020, memory, 8, 0x12, 3, 2);
    ASK_CU(cuMemsetD2D16, 3020, memory + 16, 8, 0x1234, 2, 2);
    ASK_CU(cuMemsetD2D32Async, 3020, memory + 32, 8, 0x12345678, 1, 2, s->a);
    ROWS("rows of 8", s->memory, 8, 5, 6);
});

CASE(driver_fill_rows_refused, {
    PLACE();
    ASK_CU(cuMemsetD2D8, 3020, memory, 3, 1, 4, 2);
    ASK_CU(cuMemsetD2D16, 3020, memory, 6, 1, 4, 2);
    ASK_CU(cuMemsetD2D32, 3020, memory, 0, 1, 2, 2);
    ASK_CU(cuMemsetD2D8, 3020, memory, 3, 1, 4, 1);
    ASK_CU(cuMemsetD2D32, 3020, memory, 0, 1, 2, 1);
    ASK_CU(cuMemsetD2D8, 3020, memory, 8, 1, 8, 9);
    ASK_CU(cuMemsetD2D8, 3020, 0, 8, 1, 4, 2);
    ASK_CU(cuMemsetD2D8Async, 3020, memory, 3, 1, 4, 2, s->a);
    BYTES("memory", s->memory, 9);
});

/* ---- in captures ---------------------------------------------------------------------------------------------------
 */

static void note_params(struct scene *s)
{
    cudaGraphNode_t node = NULL;
    size_t count = 1;
    struct cudaMemsetParams p = {0};
    cudaError_t error = s->graph ? cudaGraphGetNodes(s->graph, &node, &count) : cudaErrorInvalidValue;
    if (!error)
        error = cudaGraphMemsetNodeGetParams(node, &p);
    if (error)
        case_note(s, "the node", "%s", cudaGetErrorName(error));
    else
        case_note(s, "elementSize, value, width, height, pitch of the node", "%u, %#x, %zu, %zu, %zu", p.elementSize,
                  p.value, p.width, p.height, p.pitch);
}

CASE(captured_driver_fills, {
    PLACE();
    BEGIN(s->a, ThreadLocal);
    ASK_CU(cuMemsetD8Async, 3020, memory, 0x12, 3, s->a);
    END(s->a);
    note_params(s);
    BEGIN(s->a, ThreadLocal);
    ASK_CU(cuMemsetD16Async, 3020, memory, 0x1234, 2, s->a);
    END(s->a);
    note_params(s);
    BEGIN(s->a, ThreadLocal);
    ASK_CU(cuMemsetD2D32Async, 3020, memory, 8, 0x12345678, 1, 2, s->a);
    END(s->a);
    note_params(s);
    RUN_GRAPH();
    BYTES("memory", s->memory, 12);
});

CASE(captured_driver_fill_one_row, {
    PLACE();
    BEGIN(s->a, ThreadLocal);
    ASK_CU(cuMemsetD2D8Async, 3020, memory, 8, 1, 4, 1, s->a);
    END(s->a);
    note_params(s);
    BEGIN(s->a, ThreadLocal);
    ASK_CU(cuMemsetD2D8Async, 3020, memory, 4, 1, 4, 2, s->a);
    END(s->a);
    note_params(s);
});

CASE(captured_driver_fill_refused, {
    PLACE();
    BEGIN(s->a, ThreadLocal);
    ASK_CU(cuMemsetD16Async, 3020, memory + 1, 1, 2, s->a);
    STATUS(s->a);
    ASK_CU(cuMemsetD32Async, 3020, 0, 1, 2, s->a);
    STATUS(s->a);
    ASK_CU(cuMemsetD8Async, 3020, memory, 1, 65, s->a);
    STATUS(s->a);
    ASK_CU(cuMemsetD2D8Async, 3020, memory, 3, 1, 4, 2, s->a);
    STATUS(s->a);
    END(s->a);
});

CASE(captured_driver_fill_nothing, {
    PLACE();
    BEGIN(s->a, ThreadLocal);
    ASK_CU(cuMemsetD8Async, 3020, memory, 1, 0, s->a);
    ASK_CU(cuMemsetD2D8Async, 3020, memory, 8, 1, 0, 2, s->a);
    END(s->a);
});

static const struct case_rule rules[] = {
    {&driver_fill_elements, "Elements of 1, 2 and 4 bytes."},
    {&driver_fill_alignment, "The address must be a multiple of the element's size."},
    {&driver_fill_pitch_alignment, "And the pitch?"},
    {&driver_fill_nothing, "Fills of nothing."},
    {&driver_fill_refused, "No memory of the device, and elements behind its end."},
    {&driver_fill_rows, "Rows: the width counts elements, the pitch bytes."},
    {&driver_fill_rows_refused, "A pitch that is less than the width."},
    {&captured_driver_fills, "In a capture; without rows, the node has no pitch."},
    {&captured_driver_fill_one_row, "One row, and rows without a gap."},
    {&captured_driver_fill_refused, "Fills that are refused, captured."},
    {&captured_driver_fill_nothing, "Fills of nothing, captured."},
};

const struct case_topic topic_driver_fill = CASE_TOPIC("Fills by the driver", "`cuMemsetD8` and its kin.", rules);
