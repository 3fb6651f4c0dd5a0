/* The driver's copies and fills: cuMemcpy* and cuMemset*, at once, on a stream, refused, and captured. */
#include "tests/support/test.h"
#include "tests/support/cuda_support.h"

#include <cudaTypedefs.h>
#include <stdbool.h>
#include <string.h>

/* X(member, function, version) */
#define ENTRIES(X)                                                                                                     \
    X(set_8, cuMemsetD8, 3020)                                                                                         \
    X(set_16, cuMemsetD16, 3020)                                                                                       \
    X(set_32, cuMemsetD32, 3020)                                                                                       \
    X(set_8_async, cuMemsetD8Async, 3020)                                                                              \
    X(set_16_async, cuMemsetD16Async, 3020)                                                                            \
    X(set_32_async, cuMemsetD32Async, 3020)                                                                            \
    X(rows_8, cuMemsetD2D8, 3020)                                                                                      \
    X(rows_16, cuMemsetD2D16, 3020)                                                                                    \
    X(rows_32, cuMemsetD2D32, 3020)                                                                                    \
    X(rows_8_async, cuMemsetD2D8Async, 3020)                                                                           \
    X(rows_16_async, cuMemsetD2D16Async, 3020)                                                                         \
    X(rows_32_async, cuMemsetD2D32Async, 3020)                                                                         \
    X(copy, cuMemcpy, 4000)                                                                                            \
    X(copy_async, cuMemcpyAsync, 4000)                                                                                 \
    X(up, cuMemcpyHtoD, 3020)                                                                                          \
    X(up_async, cuMemcpyHtoDAsync, 3020)                                                                               \
    X(down, cuMemcpyDtoH, 3020)                                                                                        \
    X(down_async, cuMemcpyDtoHAsync, 3020)                                                                             \
    X(across, cuMemcpyDtoD, 3020)                                                                                      \
    X(across_async, cuMemcpyDtoDAsync, 3020)                                                                           \
    X(rows, cuMemcpy2D, 3020)                                                                                          \
    X(rows_async, cuMemcpy2DAsync, 3020)                                                                               \
    X(rows_unaligned, cuMemcpy2DUnaligned, 3020)                                                                       \
    X(box, cuMemcpy3D, 3020)                                                                                           \
    X(box_async, cuMemcpy3DAsync, 3020)                                                                                \
    X(memset_params, cuGraphMemsetNodeGetParams, 10000)

static struct {
#define MEMBER(member, function, version) PFN_##function##_v##version member;
    ENTRIES(MEMBER)
#undef MEMBER
} cu;

enum { BYTES = 1024, PITCH = 64, WIDTH = 24, HEIGHT = 4, DEPTH = 3 };

static CUstream stream;
static CUdeviceptr x, y;
static unsigned char *pinned;

static int setup(void **state)
{
    (void)state;
#define FETCH(member, function, version) driver_entry(#function, version, &cu.member);
    ENTRIES(FETCH)
#undef FETCH
    x = (CUdeviceptr)(uintptr_t)device_memory(BYTES);
    y = (CUdeviceptr)(uintptr_t)device_memory(BYTES);
    OK(cudaMallocHost((void **)&pinned, BYTES));
    OK(cudaStreamCreate(&stream));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeHost(pinned));
    OK(cudaFree((void *)(uintptr_t)x));
    OK(cudaFree((void *)(uintptr_t)y));
    return 0;
}

/* Bytes of x, once all work is done. */
static const unsigned char *contents(void)
{
    static unsigned char host[BYTES];
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(host, (void *)(uintptr_t)x, BYTES, cudaMemcpyDeviceToHost));
    return host;
}

/* x holds the element `bytes` long in the first `width` of each of `height` rows, and 0 elsewhere. */
static void expect_rows(unsigned value, size_t bytes, size_t pitch, size_t width, size_t height)
{
    const unsigned char *found = contents();
    for (size_t i = 0; i < BYTES; i++) {
        size_t row = i / pitch, column = i % pitch;
        bool inside = row < height && column < width * bytes;
        assert_int_equal(found[i], inside ? value >> 8 * (column % bytes) & 255 : 0);
    }
    OK(cudaMemset((void *)(uintptr_t)x, 0, BYTES));
    OK(cudaDeviceSynchronize());
}

/* ---- fills ------------------------------------------------------------------------------------------------------- */

TEST(test_fills)
{
    CU_OK(cu.set_8(x, 0x12, 7));
    expect_rows(0x12, 1, BYTES, 7, 1);
    CU_OK(cu.set_16(x, 0x1234, 7));
    expect_rows(0x1234, 2, BYTES, 7, 1);
    CU_OK(cu.set_32(x, 0x12345678, 7));
    expect_rows(0x12345678, 4, BYTES, 7, 1);
    CU_OK(cu.set_8_async(x, 0x12, 7, stream));
    expect_rows(0x12, 1, BYTES, 7, 1);
    CU_OK(cu.set_16_async(x, 0x1234, 7, stream));
    expect_rows(0x1234, 2, BYTES, 7, 1);
    CU_OK(cu.set_32_async(x, 0x12345678, 7, stream));
    expect_rows(0x12345678, 4, BYTES, 7, 1);
    CU_OK(cu.set_32_async(x, 0, 0, stream));
}

TEST(test_fills_of_rows)
{
    CU_OK(cu.rows_8(x, PITCH, 0x12, 5, HEIGHT));
    expect_rows(0x12, 1, PITCH, 5, HEIGHT);
    CU_OK(cu.rows_16(x, PITCH, 0x1234, 5, HEIGHT));
    expect_rows(0x1234, 2, PITCH, 5, HEIGHT);
    CU_OK(cu.rows_32(x, PITCH, 0x12345678, 5, HEIGHT));
    expect_rows(0x12345678, 4, PITCH, 5, HEIGHT);
    CU_OK(cu.rows_8_async(x, PITCH, 0x12, 5, HEIGHT, stream));
    expect_rows(0x12, 1, PITCH, 5, HEIGHT);
    CU_OK(cu.rows_16_async(x, PITCH, 0x1234, 5, HEIGHT, stream));
    expect_rows(0x1234, 2, PITCH, 5, HEIGHT);
    CU_OK(cu.rows_32_async(x, PITCH, 0x12345678, 5, HEIGHT, stream));
    expect_rows(0x12345678, 4, PITCH, 5, HEIGHT);
}

static void expect_no_fill(CUdeviceptr memory, size_t count)
{
    CU_EXPECT(cu.set_8(memory, 1, count), CUDA_ERROR_INVALID_VALUE);
    CU_EXPECT(cu.set_16(memory, 1, count), CUDA_ERROR_INVALID_VALUE);
    CU_EXPECT(cu.set_32(memory, 1, count), CUDA_ERROR_INVALID_VALUE);
    CU_EXPECT(cu.set_8_async(memory, 1, count, stream), CUDA_ERROR_INVALID_VALUE);
    CU_EXPECT(cu.set_16_async(memory, 1, count, stream), CUDA_ERROR_INVALID_VALUE);
    CU_EXPECT(cu.set_32_async(memory, 1, count, stream), CUDA_ERROR_INVALID_VALUE);
}

TEST(test_fills_refused)
{
    static int plain[64];
    expect_no_fill(0, 16);
    expect_no_fill((CUdeviceptr)(uintptr_t)plain, 16);
    expect_no_fill(x, BYTES + 1);
    CU_EXPECT(cu.set_16(x + 1, 1, 4), CUDA_ERROR_INVALID_VALUE); /* not aligned to an element */
    CU_EXPECT(cu.set_32(x + 2, 1, 4), CUDA_ERROR_INVALID_VALUE);
    CU_EXPECT(cu.rows_32(x + 2, PITCH, 1, 4, 2), CUDA_ERROR_INVALID_VALUE);
    CU_EXPECT(cu.rows_8(x, 4, 1, 5, 2), CUDA_ERROR_INVALID_VALUE); /* the pitch is less than a row */
    CU_EXPECT(cu.rows_8(x, PITCH, 1, 5, BYTES / PITCH + 1), CUDA_ERROR_INVALID_VALUE);
    expect_rows(0, 1, BYTES, 0, 0);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static void fill_pinned(void)
{
    for (int i = 0; i < BYTES; i++)
        pinned[i] = (unsigned char)(i * 7);
}

static void expect_round(void)
{
    unsigned char back[BYTES];
    OK(cudaStreamSynchronize(stream));
    memcpy(back, pinned, BYTES);
    fill_pinned();
    assert_memory_equal(back, pinned, BYTES);
}

TEST(test_copies)
{
    fill_pinned();
    CU_OK(cu.up(x, pinned, BYTES));
    CU_OK(cu.across(y, x, BYTES));
    memset(pinned, 0, BYTES);
    CU_OK(cu.down(pinned, y, BYTES));
    expect_round();
    CU_OK(cu.set_8(y, 0, BYTES));
    CU_OK(cu.up_async(x, pinned, BYTES, stream));
    CU_OK(cu.across_async(y, x, BYTES, stream));
    CU_OK(cu.down_async(pinned, y, BYTES, stream));
    expect_round();
    CU_OK(cu.set_8(y, 0, BYTES));
    CU_OK(cu.copy(y, x, BYTES));
    memset(pinned, 0, BYTES);
    CU_OK(cu.copy_async((CUdeviceptr)(uintptr_t)pinned, y, BYTES, stream));
    expect_round();
    CU_OK(cu.set_8(x, 0, BYTES));
}

TEST(test_copies_refused)
{
    CU_EXPECT(cu.up(0, pinned, 16), CUDA_ERROR_INVALID_VALUE);
    CU_EXPECT(cu.up(x, NULL, 16), CUDA_ERROR_INVALID_VALUE);
    CU_EXPECT(cu.up_async(0, pinned, 16, stream), CUDA_ERROR_INVALID_VALUE);
    CU_EXPECT(cu.up_async(x, NULL, 16, stream), CUDA_ERROR_INVALID_VALUE);
    CU_EXPECT(cu.down(NULL, x, 16), CUDA_ERROR_INVALID_VALUE);
    CU_EXPECT(cu.down(pinned, 0, 16), CUDA_ERROR_INVALID_VALUE);
    CU_EXPECT(cu.across(0, x, 16), CUDA_ERROR_INVALID_VALUE);
    CU_EXPECT(cu.across(y, 0, 16), CUDA_ERROR_INVALID_VALUE);
    CU_EXPECT(cu.across(y, x, BYTES + 1), CUDA_ERROR_INVALID_VALUE);
    CU_EXPECT(cu.copy(0, x, 16), CUDA_ERROR_INVALID_VALUE);
    CU_EXPECT(cu.copy(x, 0, 16), CUDA_ERROR_INVALID_VALUE);
}

/* ---- rows and boxes ---------------------------------------------------------------------------------------------- */

static CUDA_MEMCPY2D rows_of(size_t into)
{
    return (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = pinned,
                           .srcPitch = PITCH,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = x,
                           .dstXInBytes = into,
                           .dstPitch = PITCH,
                           .WidthInBytes = WIDTH,
                           .Height = HEIGHT};
}

TEST(test_rows)
{
    const CUDA_MEMCPY2D plain = rows_of(0);
    memset(pinned, 5, BYTES);
    CU_OK(cu.rows(&plain));
    expect_rows(5, 1, PITCH, WIDTH, HEIGHT);
    CU_OK(cu.rows_async(&plain, stream));
    expect_rows(5, 1, PITCH, WIDTH, HEIGHT);
    CU_OK(cu.rows_unaligned(&plain));
    expect_rows(5, 1, PITCH, WIDTH, HEIGHT);
}

static void expect_no_rows(const CUDA_MEMCPY2D *copy)
{
    CU_EXPECT(cu.rows(copy), CUDA_ERROR_INVALID_VALUE);
    CU_EXPECT(cu.rows_async(copy, stream), CUDA_ERROR_INVALID_VALUE);
}

TEST(test_rows_refused)
{
    CUDA_MEMCPY2D copy = rows_of(PITCH - WIDTH + 1);
    expect_no_rows(&copy);
    copy = rows_of(0);
    copy.dstPitch = WIDTH - 1;
    expect_no_rows(&copy);
    copy = rows_of(0);
    copy.srcPitch = (size_t)0x7fffffff + 1;
    expect_no_rows(&copy);
    copy = rows_of(0);
    copy.srcHost = NULL;
    expect_no_rows(&copy);
    copy = rows_of(0);
    copy.Height = BYTES / PITCH + 1;
    expect_no_rows(&copy);
}

static CUDA_MEMCPY3D box_of(void)
{
    return (CUDA_MEMCPY3D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = pinned,
                           .srcPitch = PITCH,
                           .srcHeight = HEIGHT,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = x,
                           .dstPitch = PITCH,
                           .dstHeight = HEIGHT,
                           .WidthInBytes = WIDTH,
                           .Height = HEIGHT,
                           .Depth = DEPTH};
}

TEST(test_boxes)
{
    CUDA_MEMCPY3D copy = box_of();
    memset(pinned, 6, BYTES);
    CU_OK(cu.box(&copy));
    expect_rows(6, 1, PITCH, WIDTH, HEIGHT * DEPTH);
    CU_OK(cu.box_async(&copy, stream));
    expect_rows(6, 1, PITCH, WIDTH, HEIGHT * DEPTH);
    copy.dstXInBytes = PITCH - WIDTH + 1;
    CU_EXPECT(cu.box(&copy), CUDA_ERROR_INVALID_VALUE);
    copy = box_of();
    copy.srcPitch = WIDTH - 1;
    CU_EXPECT(cu.box(&copy), CUDA_ERROR_INVALID_VALUE);
    copy = box_of();
    copy.Depth = BYTES / PITCH / HEIGHT + 1;
    CU_EXPECT(cu.box(&copy), CUDA_ERROR_INVALID_VALUE);
}

/* ---- captures ---------------------------------------------------------------------------------------------------- */

TEST(test_capture)
{
    const CUDA_MEMCPY2D copy = rows_of(0);
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t nodes[3];
    size_t count = 3;
    enum cudaGraphNodeType type;
    CUDA_MEMSET_NODE_PARAMS params;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CU_OK(cu.set_16_async(x, 0x0808, BYTES / 2, stream));
    CU_OK(cu.rows_32_async(x, PITCH, 0, PITCH / 4, BYTES / PITCH, stream));
    CU_OK(cu.rows_async(&copy, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 3);
    CU_OK(cu.memset_params(nodes[0], &params));
    assert_int_equal(params.elementSize, 2);
    assert_int_equal(params.value, 0x0808);
    assert_int_equal(params.width, BYTES / 2);
    CU_OK(cu.memset_params(nodes[1], &params));
    assert_int_equal(params.elementSize, 4);
    assert_int_equal(params.height, BYTES / PITCH);
    OK(cudaGraphNodeGetType(nodes[2], &type));
    assert_int_equal(type, cudaGraphNodeTypeMemcpy);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    memset(pinned, 9, BYTES);
    OK(cudaGraphLaunch(exec, stream));
    expect_rows(9, 1, PITCH, WIDTH, HEIGHT);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
}

TEST_GROUP(setup, teardown);
