/* cudaMallocPitch, cudaMalloc3D and cudaMemset3D: shapes, errors, and what a capture makes of them. */
#include "tests/support/cuda_support.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH = 100, HEIGHT = 5, DEPTH = 3 };

static const struct cudaExtent EXTENT = {WIDTH, HEIGHT, DEPTH};
SHARED_STREAM(stream, cudaStreamDefault);
DRIVER_ENTRY(alloc_pitch, cuMemAllocPitch, 3020);

static struct cudaPitchedPtr make_box(int value)
{
    struct cudaPitchedPtr box = {NULL, 0, 0, 0};
    OK(cudaMalloc3D(&box, EXTENT));
    OK(cudaMemset(box.ptr, value, box.pitch * HEIGHT * DEPTH));
    return box;
}

static void free_box(struct cudaPitchedPtr *box)
{
    OK(cudaFree(box->ptr));
}

#define BOX(name, value) OWN(struct cudaPitchedPtr, name, free_box, make_box(value))

/* ---- rows -------------------------------------------------------------------------------------------------------- */

TEST(test_rows)
{
    char *memory = NULL, host[HEIGHT][WIDTH], back[HEIGHT][WIDTH];
    size_t pitch = 0;
    OK(cudaMallocPitch((void **)&memory, &pitch, WIDTH, HEIGHT));
    assert_true(pitch >= WIDTH && pitch % 256 == 0);
    for (int i = 0; i < HEIGHT * WIDTH; i++)
        host[i / WIDTH][i % WIDTH] = (char)i;
    memset(back, 0, sizeof back);
    OK(cudaMemcpy2D(memory, pitch, host, WIDTH, WIDTH, HEIGHT, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(back, WIDTH, memory, pitch, WIDTH, HEIGHT, cudaMemcpyDeviceToHost));
    assert_memory_equal(back, host, sizeof host);
    OK(cudaMemset2D(memory, pitch, 7, pitch, HEIGHT)); /* the whole pitch is the program's */
    EXPECT_INVALID(cudaMemset2D(memory, pitch, 7, pitch, HEIGHT + 1));
    OK(cudaFree(memory));
}

TEST(test_rows_refused)
{
    void *memory = &memory;
    size_t pitch = 0;
    EXPECT_INVALID(cudaMallocPitch(NULL, &pitch, 1, 1));
    EXPECT_INVALID(cudaMallocPitch(&memory, NULL, 1, 1));
    EXPECT_INVALID(cudaMallocPitch(&memory, &pitch, SIZE_MAX, 1));
    EXPECT_CODE(cudaMallocPitch(&memory, &pitch, 1, SIZE_MAX), cudaErrorMemoryAllocation);
    OK(cudaMallocPitch(&memory, &pitch, 0, 1));
    assert_null(memory);
    memory = &memory;
    OK(cudaMallocPitch(&memory, &pitch, 1, 0));
    assert_null(memory);
}

/* The driver wants rows, and an element that a thread reads at once. */
TEST(test_rows_of_the_driver)
{
    static const unsigned wrong[] = {0, 7, 12, 17};
    CUdeviceptr memory = 0;
    size_t pitch = 0;
    CU_OK(alloc_pitch(&memory, &pitch, WIDTH, HEIGHT, 16));
    assert_true(pitch >= WIDTH && pitch % 256 == 0);
    OK(cudaFree((void *)(uintptr_t)memory));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CU_INVALID(alloc_pitch(&memory, &pitch, 1, 1, wrong[i]));
    CU_INVALID(alloc_pitch(&memory, &pitch, 0, 1, 4));
    CU_INVALID(alloc_pitch(&memory, &pitch, 1, 0, 4));
    CU_INVALID(alloc_pitch(NULL, &pitch, 1, 1, 4));
    CU_INVALID(alloc_pitch(&memory, NULL, 1, 1, 4));
    CU_INVALID(alloc_pitch(&memory, &pitch, SIZE_MAX, 1, 4));
    CU_EXPECT(alloc_pitch(&memory, &pitch, 1, SIZE_MAX, 4), CUDA_ERROR_OUT_OF_MEMORY);
}

/* ---- boxes ------------------------------------------------------------------------------------------------------- */

TEST(test_boxes)
{
    BOX(box, 0);
    assert_true(box.pitch >= WIDTH && box.pitch % 256 == 0);
    assert_int_equal(box.xsize, WIDTH);
    assert_int_equal(box.ysize, HEIGHT);
}

TEST(test_boxes_refused)
{
    struct cudaPitchedPtr box = {&box, 0, 0, 0};
    EXPECT_INVALID(cudaMalloc3D(NULL, EXTENT));
    EXPECT_INVALID(cudaMalloc3D(&box, ((struct cudaExtent){SIZE_MAX, 1, 1})));
    EXPECT_CODE(cudaMalloc3D(&box, ((struct cudaExtent){1, SIZE_MAX, 1})), cudaErrorMemoryAllocation);
    EXPECT_CODE(cudaMalloc3D(&box, ((struct cudaExtent){1, 1, SIZE_MAX})), cudaErrorMemoryAllocation);
    EXPECT_INVALID(cudaMalloc3D(&box, ((struct cudaExtent){SIZE_MAX, SIZE_MAX, SIZE_MAX})));
    OK(cudaMalloc3D(&box, ((struct cudaExtent){0, 1, 1})));
    assert_null(box.ptr);
    OK(cudaFree(box.ptr));
}

/* ---- fills ------------------------------------------------------------------------------------------------------- */

/* The bytes of the box that are `inside` within the extent and `outside` elsewhere. */
static bool has_box(const struct cudaPitchedPtr *box, struct cudaExtent extent, char inside, char outside)
{
    size_t bytes = box->pitch * HEIGHT * DEPTH;
    char *host = malloc(bytes);
    assert_non_null(host);
    OK(cudaMemcpy(host, box->ptr, bytes, cudaMemcpyDeviceToHost));
    bool good = true;
    for (size_t i = 0; i < bytes; i++) {
        size_t x = i % box->pitch, y = i / box->pitch % HEIGHT, z = i / box->pitch / HEIGHT;
        good &= host[i] == (x < extent.width && y < extent.height && z < extent.depth ? inside : outside);
    }
    free(host);
    return good;
}

TEST(test_fills)
{
    static const struct cudaExtent extents[] = {
        {WIDTH, HEIGHT, DEPTH}, {WIDTH, HEIGHT, 2}, {33, 2, DEPTH}, {1, 1, 1}, {WIDTH, HEIGHT, 1},
    };
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++) {
        BOX(box, 1);
        OK(cudaMemset3D(box, 0x102, extents[i]));
        assert_true(has_box(&box, extents[i], 2, 1));
        OK(cudaMemset3DAsync(box, 3, extents[i], stream));
        OK(cudaStreamSynchronize(stream));
        assert_true(has_box(&box, extents[i], 3, 1));
    }
}

static void expect_fill(struct cudaPitchedPtr box, struct cudaExtent extent, cudaError_t code)
{
    EXPECT_CODE(cudaMemset3D(box, 2, extent), code);
    EXPECT_CODE(cudaMemset3DAsync(box, 2, extent, stream), code);
}

TEST(test_fills_refused)
{
    BOX(box, 1);
    struct cudaPitchedPtr other = box;
    char *host = malloc(box.pitch * HEIGHT * DEPTH);
    expect_fill(box, (struct cudaExtent){SIZE_MAX, HEIGHT, DEPTH}, cudaErrorInvalidValue);
    expect_fill(box, (struct cudaExtent){WIDTH, SIZE_MAX, DEPTH}, cudaErrorInvalidValue);
    expect_fill(box, (struct cudaExtent){box.pitch + 1, HEIGHT, DEPTH}, cudaErrorInvalidValue);
    expect_fill(box, (struct cudaExtent){WIDTH, HEIGHT + 1, DEPTH}, cudaErrorInvalidValue);
    expect_fill(box, (struct cudaExtent){WIDTH, HEIGHT, DEPTH + 1}, cudaErrorInvalidValue);
    other.ptr = NULL;
    expect_fill(other, EXTENT, cudaErrorInvalidValue);
    other.ptr = host;
    expect_fill(other, EXTENT, cudaErrorInvalidValue);
    other.ptr = (char *)box.ptr + box.pitch * HEIGHT * DEPTH + 1;
    expect_fill(other, EXTENT, cudaErrorInvalidValue);
    expect_fill(other, (struct cudaExtent){0, 0, 0}, cudaSuccess);
    other = box;
    other.pitch = 1;
    expect_fill(other, EXTENT, cudaErrorInvalidValue);
    expect_fill(box, (struct cudaExtent){WIDTH, 0, DEPTH}, cudaSuccess);
    free(host);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static void expect_copy(const struct cudaMemcpy3DParms *copy, cudaError_t code)
{
    EXPECT_CODE(cudaMemcpy3D(copy), code);
    EXPECT_CODE(cudaMemcpy3DAsync(copy, stream), code);
}

/* The good copy, but for one member. */
#define EXPECT_COPY(member, value, code)                                                                               \
    do {                                                                                                               \
        struct cudaMemcpy3DParms copy = good;                                                                          \
        copy.member = value;                                                                                           \
        expect_copy(&copy, code);                                                                                      \
    } while (0)

TEST(test_copies_refused)
{
    const size_t too_much = (size_t)0x7fffffff + 1;
    BOX(from, 1);
    BOX(to, 2);
    const struct cudaMemcpy3DParms good = {
        .srcPtr = from, .dstPtr = to, .extent = EXTENT, .kind = cudaMemcpyDeviceToDevice};
    expect_copy(&good, cudaSuccess);
    EXPECT_COPY(srcPos.x, from.pitch - WIDTH + 1, cudaErrorInvalidValue); /* the row would reach into the next */
    EXPECT_COPY(dstPos.x, to.pitch - WIDTH + 1, cudaErrorInvalidValue);
    EXPECT_COPY(dstPos.y, 1, cudaErrorInvalidValue);
    EXPECT_COPY(srcPtr.pitch, WIDTH - 1, cudaErrorInvalidPitchValue);
    OK(cudaStreamSynchronize(stream));
    assert_true(has_box(&to, EXTENT, 1, 2));
    EXPECT_INVALID(cudaMemcpy2D(to.ptr, to.pitch, from.ptr, too_much, WIDTH, HEIGHT, cudaMemcpyDeviceToDevice));
    EXPECT_INVALID(cudaMemcpy2D(to.ptr, too_much, from.ptr, from.pitch, WIDTH, HEIGHT, cudaMemcpyDeviceToDevice));
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

/* Each is one call by its own name, whatever it is made of. */
TEST(test_faults)
{
    struct cudaPitchedPtr box = {NULL, 0, 0, 0};
    void *memory = NULL;
    size_t pitch = 0;
    skip_unless(hostcuda_fail, "calls fail on request on the host device only");
    assert_int_equal(hostcuda_fail("cudaMallocPitch@1=2,cudaMalloc3D@1=2,cudaMemset3D@1=1,cudaMemset3DAsync@2=1"), 0);
    hostcuda_record(1);
    EXPECT_CODE(cudaMallocPitch(&memory, &pitch, WIDTH, HEIGHT), cudaErrorMemoryAllocation);
    EXPECT_CODE(cudaMalloc3D(&box, EXTENT), cudaErrorMemoryAllocation);
    OK(cudaMalloc3D(&box, EXTENT));
    EXPECT_INVALID(cudaMemset3D(box, 1, EXTENT));
    OK(cudaMemset3DAsync(box, 1, EXTENT, stream));
    EXPECT_INVALID(cudaMemset3DAsync(box, 1, EXTENT, stream));
    OK(cudaMemset3D(box, 1, EXTENT));
    assert_int_equal(hostcuda_calls("cudaMemset3D"), 2);
    assert_int_equal(hostcuda_calls("cudaMemset3DAsync"), 2);
    assert_int_equal(hostcuda_calls("cudaMalloc3D"), 2);
    assert_int_equal(hostcuda_calls(NULL), 7);
    assert_int_equal(hostcuda_faults(), 4);
    hostcuda_record(0);
    assert_int_equal(hostcuda_fail(""), 0);
    OK(cudaFree(box.ptr));
}

/* ---- managed memory ---------------------------------------------------------------------------------------------- */

/* A device says whether it has any. */
TEST(test_managed_memory)
{
    int *memory = NULL, managed = 0;
    OK(cudaDeviceGetAttribute(&managed, cudaDevAttrManagedMemory, 0));
    EXPECT_CODE(cudaMallocManaged((void **)&memory, sizeof *memory, cudaMemAttachGlobal),
                managed ? cudaSuccess : cudaErrorNotSupported);
    EXPECT_INVALID(cudaMallocManaged(NULL, sizeof *memory, cudaMemAttachGlobal));
    EXPECT_INVALID(cudaMallocManaged((void **)&memory, sizeof *memory, 0));
    if (managed)
        OK(cudaFree(memory));
}

/* ---- captures ---------------------------------------------------------------------------------------------------- */

static void expect_no_graph(void)
{
    cudaGraph_t graph = NULL;
    EXPECT_CODE(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    assert_null(graph);
}

TEST(test_allocations_in_a_capture)
{
    void *memory = NULL;
    size_t pitch = 0;
    struct cudaPitchedPtr box;
    BEGIN_CAPTURE(stream);
    EXPECT_CODE(cudaMallocPitch(&memory, &pitch, WIDTH, HEIGHT), cudaErrorStreamCaptureUnsupported);
    expect_no_graph();
    BEGIN_CAPTURE(stream);
    EXPECT_CODE(cudaMalloc3D(&box, EXTENT), cudaErrorStreamCaptureUnsupported);
    expect_no_graph();
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    OK(cudaMallocPitch(&memory, &pitch, WIDTH, HEIGHT));
    CAPTURED(graph, stream);
    OK(cudaFree(memory));
}

TEST(test_fills_in_a_capture)
{
    BOX(box, 1);
    cudaGraphNode_t nodes[8];
    size_t count = 8;
    BEGIN_CAPTURE(stream);
    OK(cudaMemset3DAsync(box, 5, EXTENT, stream));
    CAPTURED(graph, stream);
    OK(cudaGraphGetNodes(graph, nodes, &count));
    assert_true(count >= 1);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(type_of(nodes[i]), cudaGraphNodeTypeMemset);
    assert_true(has_box(&box, EXTENT, 1, 1)); /* not yet */
    EXEC_OF(exec, graph);
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    assert_true(has_box(&box, EXTENT, 5, 1));
}

TEST_GROUP(make_shared, drop_shared);
