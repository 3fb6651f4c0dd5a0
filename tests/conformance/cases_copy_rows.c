/* Conformance: copies of rows and boxes, and from device to device. */
#include "case_memory.h"
#include "cases.h"

/* Its bytes count from 1. */
static unsigned char host[64];

static cudaError_t count_host(void)
{
    for (size_t i = 0; i < sizeof host; i++)
        host[i] = (unsigned char)(i + 1);
    return cudaSuccess;
}
#define HOST() STEP_AS("/* host: 64 bytes, 1 to 64 */", count_host())

CASE(copy_rows, {
    HOST();
    MAKE(64);
    ASK(cudaMemcpy2D(s->memory, 8, host, 16, 3, 2, cudaMemcpyHostToDevice));
    ROWS("rows of 8", s->memory, 8, 4, 3);
    ASK(cudaMemcpy2DAsync((char *)s->memory + 16, 8, s->memory, 8, 2, 2, cudaMemcpyDefault, s->a));
    ROWS("rows of 8", s->memory, 8, 4, 4);
});

CASE(copy_rows_pitch, {
    HOST();
    MAKE(64);
    ASK(cudaMemcpy2D(s->memory, 3, host, 8, 4, 2, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2D(s->memory, 8, host, 3, 4, 2, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2D(s->memory, 3, host, 3, 4, 1, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2D(s->memory, 0, host, 0, 4, 1, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2D(s->memory, 3, host, 8, 4, 0, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2D(s->memory, 0, host, 0, 0, 2, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2DAsync(s->memory, 3, host, 8, 4, 2, cudaMemcpyHostToDevice, s->a));
    BYTES("memory", s->memory, 8);
});

CASE(copy_rows_nothing, {
    HOST();
    MAKE(64);
    ASK(cudaMemcpy2D(s->memory, 8, host, 8, 0, 2, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2D(s->memory, 8, host, 8, 4, 0, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2D(NULL, 8, NULL, 8, 0, 2, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2D(NULL, 8, host, 8, 4, 0, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2D(s->memory, 8, host, 8, 0, 0, (enum cudaMemcpyKind)7));
    BYTES("memory", s->memory, 8);
});

CASE(copy_rows_refused, {
    HOST();
    MAKE(64);
    ASK(cudaMemcpy2D(NULL, 8, host, 8, 4, 2, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2D(s->memory, 8, NULL, 8, 4, 2, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2D(s->memory, 8, host, 8, 4, 2, (enum cudaMemcpyKind)7));
    ASK(cudaMemcpy2D(s->memory, 8, host, 8, 4, 2, cudaMemcpyDeviceToHost));
    ASK(cudaMemcpy2D(s->memory, 8, host, 8, 4, 2, cudaMemcpyDeviceToDevice));
    ASK(cudaMemcpy2D(s->memory, 16, host, 8, 8, 5, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2DAsync(s->memory, 8, NULL, 8, 4, 2, cudaMemcpyHostToDevice, s->a));
    ASK(cudaMemcpy2DAsync(s->memory, 8, host, 8, 4, 2, (enum cudaMemcpyKind)7, s->a));
    BYTES("memory", s->memory, 8);
});

CASE(copy_rows_to_the_end, {
    HOST();
    MAKE(64);
    ASK(cudaMemcpy2D((char *)s->memory + 8, 16, host, 16, 8, 4, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2D((char *)s->memory + 8, 16, host, 8, 8, 5, cudaMemcpyHostToDevice));
    ASK(cudaMemcpy2D((char *)s->memory + 8, 16, host, 16, 9, 4, cudaMemcpyHostToDevice));
});

/* ---- boxes ---------------------------------------------------------------------------------------------------------
 */

static struct cudaMemcpy3DParms from_host(struct scene *s)
{
    return (struct cudaMemcpy3DParms){
        .srcPtr = {host, 8, 8, 2}, .dstPtr = {s->memory, 8, 8, 2}, .extent = {3, 2, 2}, .kind = cudaMemcpyHostToDevice};
}
#define PARAMS()                                                                                                       \
    STEP_AS("/* p: 3 * 2 * 2 bytes, srcPtr = {host, 8, 8, 2}, dstPtr = {memory, 8, 8, 2} */",                          \
            (p = from_host(s), cudaSuccess))

CASE(copy_box, {
    struct cudaMemcpy3DParms p;
    HOST();
    MAKE(64);
    PARAMS();
    ASK(cudaMemcpy3D(&p));
    ROWS("rows of 8", s->memory, 8, 4, 5);
    SET(p.srcPos.x = 1, p.srcPos.y = 1, p.dstPos.z = 2, p.extent.height = 1);
    ASK(cudaMemcpy3DAsync(&p, s->a));
    ROWS("rows of 8", s->memory, 8, 4, 8);
});

CASE(copy_box_nothing, {
    struct cudaMemcpy3DParms p;
    HOST();
    MAKE(64);
    PARAMS();
    SET(p.extent.width = 0);
    ASK(cudaMemcpy3D(&p));
    PARAMS();
    SET(p.extent.height = 0);
    ASK(cudaMemcpy3D(&p));
    PARAMS();
    SET(p.extent.depth = 0);
    ASK(cudaMemcpy3D(&p));
    ASK(cudaMemcpy3DAsync(&p, s->a));
    SET(p.srcPtr.ptr = NULL);
    ASK(cudaMemcpy3D(&p));
    SET(p.kind = (enum cudaMemcpyKind)7);
    ASK(cudaMemcpy3D(&p));
    BYTES("memory", s->memory, 8);
});

CASE(copy_box_refused, {
    struct cudaMemcpy3DParms p;
    HOST();
    MAKE(64);
    PARAMS();
    SET(p.srcPtr.ptr = NULL);
    ASK(cudaMemcpy3D(&p));
    PARAMS();
    SET(p.dstPtr.ptr = NULL);
    ASK(cudaMemcpy3D(&p));
    ASK(cudaMemcpy3DAsync(&p, s->a));
    PARAMS();
    SET(p.kind = (enum cudaMemcpyKind)7);
    ASK(cudaMemcpy3D(&p));
    PARAMS();
    SET(p.kind = cudaMemcpyDeviceToHost);
    ASK(cudaMemcpy3D(&p));
    PARAMS();
    SET(p.kind = cudaMemcpyDeviceToDevice);
    ASK(cudaMemcpy3D(&p));
    BYTES("memory", s->memory, 8);
});

CASE(copy_box_sizes, {
    struct cudaMemcpy3DParms p;
    HOST();
    MAKE(64);
    PARAMS();
    SET(p.srcPtr.pitch = 2);
    ASK(cudaMemcpy3D(&p));
    PARAMS();
    SET(p.dstPtr.pitch = 2);
    ASK(cudaMemcpy3D(&p));
    ASK(cudaMemcpy3DAsync(&p, s->a));
    PARAMS();
    SET(p.srcPtr.xsize = 2);
    ASK(cudaMemcpy3D(&p));
    PARAMS();
    SET(p.srcPtr.ysize = 1);
    ASK(cudaMemcpy3D(&p));
    PARAMS();
    SET(p.dstPtr.ysize = 0);
    ASK(cudaMemcpy3D(&p));
    SET(p.extent.depth = 1);
    ASK(cudaMemcpy3D(&p));
});

CASE(copy_box_positions, {
    struct cudaMemcpy3DParms p;
    HOST();
    MAKE(64);
    PARAMS();
    SET(p.srcPos.x = 6);
    ASK(cudaMemcpy3D(&p));
    PARAMS();
    SET(p.dstPos.x = 6);
    ASK(cudaMemcpy3D(&p));
    PARAMS();
    SET(p.dstPos.y = 1);
    ASK(cudaMemcpy3D(&p));
    PARAMS();
    SET(p.dstPos.z = 3);
    ASK(cudaMemcpy3D(&p));
});

CASE(captured_rows, {
    struct cudaMemcpy3DParms p;
    HOST();
    MAKE(64);
    PARAMS();
    SET(p.dstPos.z = 2);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemcpy2DAsync(s->memory, 8, host, 16, 3, 2, cudaMemcpyHostToDevice, s->a));
    ASK(cudaMemcpy3DAsync(&p, s->a));
    END(s->a);
    NODE_TYPE();
    RUN_GRAPH();
    ROWS("rows of 8", s->memory, 8, 4, 7);
});

CASE(captured_rows_of_nothing, {
    struct cudaMemcpy3DParms p;
    HOST();
    MAKE(64);
    PARAMS();
    SET(p.extent.depth = 0);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemcpy2DAsync(s->memory, 8, host, 16, 0, 2, cudaMemcpyHostToDevice, s->a));
    ASK(cudaMemcpy3DAsync(&p, s->a));
    END(s->a);
});

CASE(captured_rows_refused, {
    struct cudaMemcpy3DParms p;
    HOST();
    MAKE(64);
    PARAMS();
    SET(p.srcPtr.pitch = 2);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemcpy2DAsync(s->memory, 2, host, 16, 3, 2, cudaMemcpyHostToDevice, s->a));
    STATUS(s->a);
    ASK(cudaMemcpy3DAsync(&p, s->a));
    STATUS(s->a);
    END(s->a);
});

/* ---- peers ---------------------------------------------------------------------------------------------------------
 */

CASE(copy_peer, {
    MAKE(64);
    STEP(cudaMemset(s->memory, 1, 4));
    ASK(cudaMemcpyPeer(s->x, 0, s->memory, 0, 4));
    BYTES("x", s->x, 4);
    ASK(cudaMemcpyPeer(s->x, 0, s->memory, 0, 0));
    ASK(cudaMemcpyPeer(s->x, 1000, s->memory, 0, 4));
    ASK(cudaMemcpyPeer(s->x, 0, s->memory, -1, 4));
    ASK(cudaMemcpyPeer(NULL, 0, s->memory, 0, 4));
    ASK(cudaMemcpyPeer(s->x, 0, NULL, 0, 4));
    ASK(cudaMemcpyPeer(s->x, 0, s->memory, 0, 5));
    ASK(cudaMemcpyPeerAsync(s->x, 1000, s->memory, 0, 4, s->a));
    ASK(cudaMemcpyPeerAsync(s->x, 0, NULL, 0, 4, s->a));
    ASK(cudaMemcpyPeerAsync(NULL, 0, NULL, 0, 0, s->a));
});

CASE(captured_peer, {
    MAKE(64);
    STEP(cudaMemset(s->memory, 1, 4));
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemcpyPeerAsync(s->x, 0, s->memory, 0, 4, s->a));
    STATUS(s->a);
    END(s->a);
    BEGIN(s->a, ThreadLocal);
    ASK(cudaMemcpyPeerAsync(s->x, 0, s->memory, 0, 0, s->a));
    STATUS(s->a);
    END(s->a);
});

static const struct case_rule rules[] = {
    {&copy_rows, "Rows are copied up to their width."},
    {&copy_rows_pitch, "A pitch that is less than the width, with one row, too; 0 is good for one row."},
    {&copy_rows_nothing, "Rows of no bytes, or no rows."},
    {&copy_rows_refused, "Pointers, directions and sizes that are wrong."},
    {&copy_rows_to_the_end, "The last row need not have the whole pitch."},
    {&copy_box, "A box goes from a position to a position; a slice is `pitch * ysize` bytes."},
    {&copy_box_nothing, "A box of nothing."},
    {&copy_box_refused, "Pointers and directions that are wrong."},
    {&copy_box_sizes, "Slices must have the rows of the box, where there are several; `xsize` does not count."},
    {&copy_box_positions, "Positions from which the copy leaves the row, the slice or the memory."},
    {&captured_rows, "In a capture, each is one memcpy node."},
    {&captured_rows_of_nothing, "Copies of nothing, captured."},
    {&captured_rows_refused, "Copies that are refused, captured."},
    {&copy_peer, "Copies between devices, here from the device to itself."},
    {&captured_peer, "They cannot be captured, but for a copy of nothing."},
};

const struct case_topic topic_copy_rows =
    CASE_TOPIC("Copies of rows and boxes", "`cudaMemcpy2D`, `cudaMemcpy3D` and `cudaMemcpyPeer`.", rules);
