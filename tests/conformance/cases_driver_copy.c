/* Conformance: copies by the driver. */
#include "case_memory.h"
#include "cases.h"

#include <string.h>

/* Its bytes count from 1. */
static unsigned char host[128];

static cudaError_t count_host(void)
{
    for (size_t i = 0; i < sizeof host; i++)
        host[i] = (unsigned char)(i + 1);
    return cudaSuccess;
}

#define PLACE()                                                                                                        \
    STEP_AS("/* host: 128 bytes, 1 to 128 */", count_host());                                                          \
    MAKE(64);                                                                                                          \
    const CUdeviceptr memory = (CUdeviceptr)s->memory

CASE(driver_copies, {
    PLACE();
    ASK_CU(cuMemcpyHtoD, 3020, memory, host, 4);
    ASK_CU(cuMemcpyDtoD, 3020, memory + 4, memory, 2);
    ASK_CU(cuMemcpyHtoDAsync, 3020, memory + 8, host + 4, 2, s->a);
    ASK_CU(cuMemcpyDtoDAsync, 3020, memory + 10, memory + 8, 2, s->a);
    BYTES("memory", s->memory, 12);
    ASK_CU(cuMemcpy, 4000, memory + 1, memory + 9, 1);
    STEP(cudaDeviceSynchronize());
    ASK_CU(cuMemcpyAsync, 4000, (CUdeviceptr)s->y, memory, 4, s->a);
    BYTES("y", s->y, 4);
    ASK_CU(cuMemcpyDtoH, 3020, host, memory + 2, 2);
    ASK_CU(cuMemcpyDtoHAsync, 3020, host + 2, memory + 2, 2, s->a);
    STEP(cudaStreamSynchronize(s->a));
    BYTES("host", host, 4);
});

CASE(driver_copies_of_nothing, {
    PLACE();
    ASK_CU(cuMemcpyHtoD, 3020, memory, host, 0);
    ASK_CU(cuMemcpyHtoD, 3020, 0, NULL, 0);
    ASK_CU(cuMemcpyDtoH, 3020, NULL, 0, 0);
    ASK_CU(cuMemcpyDtoD, 3020, 0, 0, 0);
    ASK_CU(cuMemcpy, 4000, 0, 0, 0);
    ASK_CU(cuMemcpyHtoDAsync, 3020, 0, NULL, 0, s->a);
    (void)memory;
});

CASE(driver_copies_refused, {
    PLACE();
    ASK_CU(cuMemcpyHtoD, 3020, 0, host, 4);
    ASK_CU(cuMemcpyHtoD, 3020, memory, NULL, 4);
    ASK_CU(cuMemcpyDtoH, 3020, NULL, memory, 4);
    ASK_CU(cuMemcpyDtoH, 3020, host, 0, 4);
    ASK_CU(cuMemcpyDtoD, 3020, memory, 0, 4);
    ASK_CU(cuMemcpyDtoD, 3020, 0, memory, 4);
    ASK_CU(cuMemcpy, 4000, 0, memory, 4);
    ASK_CU(cuMemcpyHtoD, 3020, memory, host, 65);
    ASK_CU(cuMemcpyDtoH, 3020, host, memory + 60, 5);
    ASK_CU(cuMemcpyDtoD, 3020, (CUdeviceptr)s->x, memory, 5);
    ASK_CU(cuMemcpyHtoDAsync, 3020, memory, NULL, 4, s->a);
    ASK_CU(cuMemcpyDtoHAsync, 3020, host, memory, 65, s->a);
    BYTES("memory", s->memory, 4);
});

CASE(driver_copies_by_unified_addresses, {
    PLACE();
    ASK_CU(cuMemcpyHtoD, 3020, (CUdeviceptr)s->y, host, 4);
    BYTES("y", s->y, 4);
    ASK_CU(cuMemcpyDtoD, 3020, memory, (CUdeviceptr)s->y, 4);
    BYTES("memory", s->memory, 4);
    ASK_CU(cuMemcpyDtoD, 3020, memory, (CUdeviceptr)host, 4);
    ASK_CU(cuMemcpyHtoD, 3020, (CUdeviceptr)host, s->y, 4);
    ASK_CU(cuMemcpy, 4000, memory + 4, (CUdeviceptr)host, 4);
    BYTES("memory", s->memory, 8);
});

/* ---- rows ----------------------------------------------------------------------------------------------------------
 */

static CUDA_MEMCPY2D rows_of(struct scene *s)
{
    return (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = host,
                           .srcPitch = 16,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = (CUdeviceptr)s->memory,
                           .dstPitch = 8,
                           .WidthInBytes = 3,
                           .Height = 2};
}
#define ROW_PARAMS()                                                                                                   \
    STEP_AS("/* p: 2 rows of 3 bytes, from host with a pitch of 16, to memory with a pitch of 8 */",                   \
            (p = rows_of(s), cudaSuccess))

CASE(driver_rows, {
    CUDA_MEMCPY2D p;
    PLACE();
    ROW_PARAMS();
    ASK_CU(cuMemcpy2D, 3020, &p);
    SET(p.srcXInBytes = 1, p.srcY = 1, p.dstXInBytes = 2, p.dstY = 2);
    ASK_CU(cuMemcpy2DUnaligned, 3020, &p);
    SET(p.dstY = 4);
    ASK_CU(cuMemcpy2DAsync, 3020, &p, s->a);
    ROWS("rows of 8", s->memory, 8, 5, 6);
    (void)memory;
});

CASE(driver_rows_pitch, {
    CUDA_MEMCPY2D p;
    PLACE();
    ROW_PARAMS();
    SET(p.srcPitch = 2);
    ASK_CU(cuMemcpy2D, 3020, &p);
    ASK_CU(cuMemcpy2DUnaligned, 3020, &p);
    ROW_PARAMS();
    SET(p.dstPitch = 2);
    ASK_CU(cuMemcpy2D, 3020, &p);
    ROW_PARAMS();
    SET(p.srcPitch = 0, p.dstPitch = 0);
    ASK_CU(cuMemcpy2D, 3020, &p);
    SET(p.Height = 1);
    ASK_CU(cuMemcpy2D, 3020, &p);
    ROW_PARAMS();
    SET(p.dstXInBytes = 6);
    ASK_CU(cuMemcpy2D, 3020, &p);
    SET(p.Height = 1);
    ASK_CU(cuMemcpy2D, 3020, &p);
    (void)memory;
});

CASE(driver_rows_of_nothing, {
    CUDA_MEMCPY2D p;
    PLACE();
    ROW_PARAMS();
    SET(p.WidthInBytes = 0);
    ASK_CU(cuMemcpy2D, 3020, &p);
    SET(p.srcHost = NULL);
    ASK_CU(cuMemcpy2D, 3020, &p);
    ROW_PARAMS();
    SET(p.Height = 0);
    ASK_CU(cuMemcpy2D, 3020, &p);
    ASK_CU(cuMemcpy2DAsync, 3020, &p, s->a);
    SET(p.srcPitch = 2);
    ASK_CU(cuMemcpy2D, 3020, &p);
    BYTES("memory", s->memory, 8);
    (void)memory;
});

CASE(driver_rows_refused, {
    CUDA_MEMCPY2D p;
    PLACE();
    ROW_PARAMS();
    SET(p.srcMemoryType = 0);
    ASK_CU(cuMemcpy2D, 3020, &p);
    SET(p.srcMemoryType = 99);
    ASK_CU(cuMemcpy2D, 3020, &p);
    ROW_PARAMS();
    SET(p.srcHost = NULL);
    ASK_CU(cuMemcpy2D, 3020, &p);
    ROW_PARAMS();
    SET(p.dstDevice = 0);
    ASK_CU(cuMemcpy2D, 3020, &p);
    ROW_PARAMS();
    SET(p.Height = 9);
    SET(p.srcPitch = 8);
    ASK_CU(cuMemcpy2D, 3020, &p);
    ASK_CU(cuMemcpy2DAsync, 3020, &p, s->a);
    BYTES("memory", s->memory, 8);
    (void)memory;
});

CASE(driver_rows_unified, {
    CUDA_MEMCPY2D p;
    PLACE();
    ROW_PARAMS();
    SET(p.srcMemoryType = CU_MEMORYTYPE_UNIFIED, p.srcDevice = (CUdeviceptr)host);
    ASK_CU(cuMemcpy2D, 3020, &p);
    ROWS("rows of 8", s->memory, 8, 4, 2);
    (void)memory;
});

/* ---- boxes ---------------------------------------------------------------------------------------------------------
 */

static CUDA_MEMCPY3D box_of(struct scene *s)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = host,
                           .srcPitch = 16,
                           .srcHeight = 2,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = (CUdeviceptr)s->memory,
                           .dstPitch = 8,
                           .dstHeight = 3,
                           .WidthInBytes = 3,
                           .Height = 2,
                           .Depth = 2};
}
#define BOX_PARAMS()                                                                                                   \
    STEP_AS("/* p: 3 * 2 * 2 bytes, from host with slices of 2 rows of 16, to memory with slices of 3 rows of 8 */",   \
            (p = box_of(s), cudaSuccess))

CASE(driver_boxes, {
    CUDA_MEMCPY3D p;
    PLACE();
    BOX_PARAMS();
    ASK_CU(cuMemcpy3D, 3020, &p);
    ROWS("rows of 8", s->memory, 8, 4, 6);
    SET(p.srcXInBytes = 1, p.srcY = 1, p.srcZ = 1, p.dstXInBytes = 2, p.Height = 1, p.Depth = 1);
    ASK_CU(cuMemcpy3DAsync, 3020, &p, s->a);
    ROWS("rows of 8", s->memory, 8, 5, 2);
    (void)memory;
});

CASE(driver_boxes_refused, {
    CUDA_MEMCPY3D p;
    PLACE();
    BOX_PARAMS();
    SET(p.srcMemoryType = 0);
    ASK_CU(cuMemcpy3D, 3020, &p);
    BOX_PARAMS();
    SET(p.srcPitch = 2);
    ASK_CU(cuMemcpy3D, 3020, &p);
    BOX_PARAMS();
    SET(p.srcHeight = 1);
    ASK_CU(cuMemcpy3D, 3020, &p);
    BOX_PARAMS();
    SET(p.dstHeight = 0);
    ASK_CU(cuMemcpy3D, 3020, &p);
    BOX_PARAMS();
    SET(p.dstZ = 3);
    ASK_CU(cuMemcpy3D, 3020, &p);
    BOX_PARAMS();
    SET(p.srcLOD = 1);
    ASK_CU(cuMemcpy3D, 3020, &p);
    BOX_PARAMS();
    SET(p.Depth = 0);
    ASK_CU(cuMemcpy3D, 3020, &p);
    SET(p.Depth = 1, p.WidthInBytes = 0);
    ASK_CU(cuMemcpy3DAsync, 3020, &p, s->a);
    (void)memory;
});

CASE(captured_driver_copies, {
    CUDA_MEMCPY2D p;
    PLACE();
    ROW_PARAMS();
    BEGIN(s->a, ThreadLocal);
    ASK_CU(cuMemcpy2DAsync, 3020, &p, s->a);
    ASK_CU(cuMemcpyDtoDAsync, 3020, memory + 4, memory, 2, s->a);
    ASK_CU(cuMemcpyHtoDAsync, 3020, memory, host, 0, s->a);
    END(s->a);
    NODE_TYPE();
    RUN_GRAPH();
    ROWS("rows of 8", s->memory, 8, 6, 2);
});

static const struct case_rule rules[] = {
    {&driver_copies, "Each way."},
    {&driver_copies_of_nothing, "Copies of no bytes."},
    {&driver_copies_refused, "From nowhere, to nowhere, and behind the end."},
    {&driver_copies_by_unified_addresses, "Pinned host memory, and other host memory, as memory of the device."},
    {&driver_rows, "Rows, from a position to a position."},
    {&driver_rows_pitch, "Rows must fit into their pitch, a single row, too; a pitch of 0 is taken."},
    {&driver_rows_of_nothing, "Rows of nothing."},
    {&driver_rows_refused, "Types of memory, pointers and sizes that are wrong."},
    {&driver_rows_unified, "An address that says itself what it is."},
    {&driver_boxes, "Boxes."},
    {&driver_boxes_refused, "Boxes that are wrong, or nothing."},
    {&captured_driver_copies, "In a capture."},
};

const struct case_topic topic_driver_copy = CASE_TOPIC("Copies by the driver", "`cuMemcpyHtoD` and its kin.", rules);
