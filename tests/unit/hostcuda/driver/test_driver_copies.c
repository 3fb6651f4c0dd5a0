/* The driver's copies and fills: cuMemcpy* and cuMemset*, at once, on a stream, refused, and captured. */
#include "tests/support/cuda_support.h"

#include <string.h>

DRIVER_ENTRY(cu_set_8, cuMemsetD8, 3020);
DRIVER_ENTRY(cu_set_16, cuMemsetD16, 3020);
DRIVER_ENTRY(cu_set_32, cuMemsetD32, 3020);
DRIVER_ENTRY(cu_set_8_async, cuMemsetD8Async, 3020);
DRIVER_ENTRY(cu_set_16_async, cuMemsetD16Async, 3020);
DRIVER_ENTRY(cu_set_32_async, cuMemsetD32Async, 3020);
DRIVER_ENTRY(cu_rows_8, cuMemsetD2D8, 3020);
DRIVER_ENTRY(cu_rows_16, cuMemsetD2D16, 3020);
DRIVER_ENTRY(cu_rows_32, cuMemsetD2D32, 3020);
DRIVER_ENTRY(cu_rows_8_async, cuMemsetD2D8Async, 3020);
DRIVER_ENTRY(cu_rows_16_async, cuMemsetD2D16Async, 3020);
DRIVER_ENTRY(cu_rows_32_async, cuMemsetD2D32Async, 3020);
DRIVER_ENTRY(cu_copy, cuMemcpy, 4000);
DRIVER_ENTRY(cu_copy_async, cuMemcpyAsync, 4000);
DRIVER_ENTRY(cu_up, cuMemcpyHtoD, 3020);
DRIVER_ENTRY(cu_up_async, cuMemcpyHtoDAsync, 3020);
DRIVER_ENTRY(cu_down, cuMemcpyDtoH, 3020);
DRIVER_ENTRY(cu_down_async, cuMemcpyDtoHAsync, 3020);
DRIVER_ENTRY(cu_across, cuMemcpyDtoD, 3020);
DRIVER_ENTRY(cu_across_async, cuMemcpyDtoDAsync, 3020);
DRIVER_ENTRY(cu_rows, cuMemcpy2D, 3020);
DRIVER_ENTRY(cu_rows_async, cuMemcpy2DAsync, 3020);
DRIVER_ENTRY(cu_rows_unaligned, cuMemcpy2DUnaligned, 3020);
DRIVER_ENTRY(cu_box, cuMemcpy3D, 3020);
DRIVER_ENTRY(cu_box_async, cuMemcpy3DAsync, 3020);
DRIVER_ENTRY(cu_memset_params, cuGraphMemsetNodeGetParams, 10000);

enum { BYTES = 1024, PITCH = 64, WIDTH = 24, HEIGHT = 4, DEPTH = 3 };

SHARED_STREAM(stream, cudaStreamDefault);
SHARED_MEMORY(char, x_memory, BYTES);
SHARED_MEMORY(char, y_memory, BYTES);
static CUdeviceptr x, y;
static unsigned char *pinned;

static int setup(void **state)
{
    make_shared(state);
    x = address_of(x_memory);
    y = address_of(y_memory);
    OK(cudaMallocHost((void **)&pinned, BYTES));
    return 0;
}

static int teardown(void **state)
{
    OK(cudaFreeHost(pinned));
    return drop_shared(state);
}

/* Bytes of x, once all work is done. */
static const unsigned char *contents(void)
{
    static unsigned char host[BYTES];
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(host, x_memory, BYTES, cudaMemcpyDeviceToHost));
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
    OK(cudaMemset(x_memory, 0, BYTES));
    OK(cudaDeviceSynchronize());
}

#define EXPECT_ROWS(call, ...)                                                                                         \
    do {                                                                                                               \
        CU_OK(call);                                                                                                   \
        expect_rows(__VA_ARGS__);                                                                                      \
    } while (0)

/* ---- fills ------------------------------------------------------------------------------------------------------- */

TEST(test_fills)
{
    EXPECT_ROWS(cu_set_8(x, 0x12, 7), 0x12, 1, BYTES, 7, 1);
    EXPECT_ROWS(cu_set_16(x, 0x1234, 7), 0x1234, 2, BYTES, 7, 1);
    EXPECT_ROWS(cu_set_32(x, 0x12345678, 7), 0x12345678, 4, BYTES, 7, 1);
    EXPECT_ROWS(cu_set_8_async(x, 0x12, 7, stream), 0x12, 1, BYTES, 7, 1);
    EXPECT_ROWS(cu_set_16_async(x, 0x1234, 7, stream), 0x1234, 2, BYTES, 7, 1);
    EXPECT_ROWS(cu_set_32_async(x, 0x12345678, 7, stream), 0x12345678, 4, BYTES, 7, 1);
    CU_OK(cu_set_32_async(x, 0, 0, stream));
}

TEST(test_fills_of_rows)
{
    EXPECT_ROWS(cu_rows_8(x, PITCH, 0x12, 5, HEIGHT), 0x12, 1, PITCH, 5, HEIGHT);
    EXPECT_ROWS(cu_rows_16(x, PITCH, 0x1234, 5, HEIGHT), 0x1234, 2, PITCH, 5, HEIGHT);
    EXPECT_ROWS(cu_rows_32(x, PITCH, 0x12345678, 5, HEIGHT), 0x12345678, 4, PITCH, 5, HEIGHT);
    EXPECT_ROWS(cu_rows_8_async(x, PITCH, 0x12, 5, HEIGHT, stream), 0x12, 1, PITCH, 5, HEIGHT);
    EXPECT_ROWS(cu_rows_16_async(x, PITCH, 0x1234, 5, HEIGHT, stream), 0x1234, 2, PITCH, 5, HEIGHT);
    EXPECT_ROWS(cu_rows_32_async(x, PITCH, 0x12345678, 5, HEIGHT, stream), 0x12345678, 4, PITCH, 5, HEIGHT);
}

static void expect_no_fill(CUdeviceptr memory, size_t count)
{
    CU_INVALID(cu_set_8(memory, 1, count));
    CU_INVALID(cu_set_16(memory, 1, count));
    CU_INVALID(cu_set_32(memory, 1, count));
    CU_INVALID(cu_set_8_async(memory, 1, count, stream));
    CU_INVALID(cu_set_16_async(memory, 1, count, stream));
    CU_INVALID(cu_set_32_async(memory, 1, count, stream));
}

TEST(test_fills_refused)
{
    static int plain[64];
    expect_no_fill(0, 16);
    expect_no_fill(address_of(plain), 16);
    expect_no_fill(x, BYTES + 1);
    CU_INVALID(cu_set_16(x + 1, 1, 4)); /* not aligned to an element */
    CU_INVALID(cu_set_32(x + 2, 1, 4));
    CU_INVALID(cu_rows_32(x + 2, PITCH, 1, 4, 2));
    CU_INVALID(cu_rows_8(x, 4, 1, 5, 2)); /* the pitch is less than a row */
    CU_INVALID(cu_rows_8(x, PITCH, 1, 5, BYTES / PITCH + 1));
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
    CU_OK(cu_up(x, pinned, BYTES));
    CU_OK(cu_across(y, x, BYTES));
    memset(pinned, 0, BYTES);
    CU_OK(cu_down(pinned, y, BYTES));
    expect_round();
    CU_OK(cu_set_8(y, 0, BYTES));
    CU_OK(cu_up_async(x, pinned, BYTES, stream));
    CU_OK(cu_across_async(y, x, BYTES, stream));
    CU_OK(cu_down_async(pinned, y, BYTES, stream));
    expect_round();
    CU_OK(cu_set_8(y, 0, BYTES));
    CU_OK(cu_copy(y, x, BYTES));
    memset(pinned, 0, BYTES);
    CU_OK(cu_copy_async(address_of(pinned), y, BYTES, stream));
    expect_round();
    CU_OK(cu_set_8(x, 0, BYTES));
}

TEST(test_copies_refused)
{
    CU_INVALID(cu_up(0, pinned, 16));
    CU_INVALID(cu_up(x, NULL, 16));
    CU_INVALID(cu_up_async(0, pinned, 16, stream));
    CU_INVALID(cu_up_async(x, NULL, 16, stream));
    CU_INVALID(cu_down(NULL, x, 16));
    CU_INVALID(cu_down(pinned, 0, 16));
    CU_INVALID(cu_across(0, x, 16));
    CU_INVALID(cu_across(y, 0, 16));
    CU_INVALID(cu_across(y, x, BYTES + 1));
    CU_INVALID(cu_copy(0, x, 16));
    CU_INVALID(cu_copy(x, 0, 16));
}

/* ---- rows and boxes ---------------------------------------------------------------------------------------------- */

static CUDA_MEMCPY2D rows_of(void)
{
    return (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
                           .srcHost = pinned,
                           .srcPitch = PITCH,
                           .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                           .dstDevice = x,
                           .dstPitch = PITCH,
                           .WidthInBytes = WIDTH,
                           .Height = HEIGHT};
}

TEST(test_rows)
{
    const CUDA_MEMCPY2D plain = rows_of();
    memset(pinned, 5, BYTES);
    EXPECT_ROWS(cu_rows(&plain), 5, 1, PITCH, WIDTH, HEIGHT);
    EXPECT_ROWS(cu_rows_async(&plain, stream), 5, 1, PITCH, WIDTH, HEIGHT);
    EXPECT_ROWS(cu_rows_unaligned(&plain), 5, 1, PITCH, WIDTH, HEIGHT);
}

/* With the member of that value. */
#define EXPECT_NO_ROWS(member, value)                                                                                  \
    do {                                                                                                               \
        CUDA_MEMCPY2D copy = rows_of();                                                                                \
        copy.member = value;                                                                                           \
        CU_INVALID(cu_rows(&copy));                                                                                    \
        CU_INVALID(cu_rows_async(&copy, stream));                                                                      \
    } while (0)

TEST(test_rows_refused)
{
    EXPECT_NO_ROWS(dstXInBytes, PITCH - WIDTH + 1);
    EXPECT_NO_ROWS(dstPitch, WIDTH - 1);
    EXPECT_NO_ROWS(srcPitch, (size_t)0x7fffffff + 1);
    EXPECT_NO_ROWS(srcHost, NULL);
    EXPECT_NO_ROWS(Height, BYTES / PITCH + 1);
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
    CUDA_MEMCPY3D copy = box_of(), wrong[] = {copy, copy, copy};
    memset(pinned, 6, BYTES);
    EXPECT_ROWS(cu_box(&copy), 6, 1, PITCH, WIDTH, HEIGHT * DEPTH);
    EXPECT_ROWS(cu_box_async(&copy, stream), 6, 1, PITCH, WIDTH, HEIGHT * DEPTH);
    wrong[0].dstXInBytes = PITCH - WIDTH + 1;
    wrong[1].srcPitch = WIDTH - 1;
    wrong[2].Depth = BYTES / PITCH / HEIGHT + 1;
    CU_INVALID(cu_box(&wrong[0]));
    CU_INVALID(cu_box(&wrong[1]));
    CU_INVALID(cu_box(&wrong[2]));
}

/* ---- captures ---------------------------------------------------------------------------------------------------- */

TEST(test_capture)
{
    const CUDA_MEMCPY2D copy = rows_of();
    cudaGraphNode_t nodes[3];
    size_t count = 3;
    CUDA_MEMSET_NODE_PARAMS params;
    BEGIN_CAPTURE(stream);
    CU_OK(cu_set_16_async(x, 0x0808, BYTES / 2, stream));
    CU_OK(cu_rows_32_async(x, PITCH, 0, PITCH / 4, BYTES / PITCH, stream));
    CU_OK(cu_rows_async(&copy, stream));
    CAPTURED(graph, stream);
    OK(cudaGraphGetNodes(graph, nodes, &count));
    assert_int_equal(count, 3);
    CU_OK(cu_memset_params(nodes[0], &params));
    assert_int_equal(params.elementSize, 2);
    assert_int_equal(params.value, 0x0808);
    assert_int_equal(params.width, BYTES / 2);
    CU_OK(cu_memset_params(nodes[1], &params));
    assert_int_equal(params.elementSize, 4);
    assert_int_equal(params.height, BYTES / PITCH);
    assert_int_equal(type_of(nodes[2]), cudaGraphNodeTypeMemcpy);
    EXEC_OF(exec, graph);
    memset(pinned, 9, BYTES);
    OK(cudaGraphLaunch(exec, stream));
    expect_rows(9, 1, PITCH, WIDTH, HEIGHT);
}

TEST_GROUP(setup, teardown);
