/* Conformance: how much dynamic shared memory a kernel may have, and how many blocks of it fit on a multiprocessor. */
#include "cases.h"
#include "conformance_kernels.h"

/* ---- what is set and what comes back ----------------------------------------------------------------------------- */

static struct cudaFuncAttributes found;
static char no_kernel_here[4096];

static cudaError_t set_bytes(int bytes)
{
    return cudaFuncSetAttribute(ck_use_shared_function(), cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}
#define SHOWN(bytes) "cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, " #bytes ")"
#define SET(bytes)   STEP_AS(SHOWN(bytes), set_bytes(bytes))

static int driver_bytes(struct scene *s)
{
    PFN_cuFuncGetAttribute_v2020 get = NULL;
    cudaFunction_t function = NULL;
    int value = -1;
    if (!case_driver(s, "cuFuncGetAttribute", 2020, &get) ||
        cudaGetFuncBySymbol(&function, ck_use_shared_function()) != cudaSuccess ||
        get(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function) != CUDA_SUCCESS)
        return -1;
    return value;
}

static CUresult set_by_driver(struct scene *s, int bytes)
{
    PFN_cuFuncSetAttribute_v9000 set = NULL;
    cudaFunction_t function = NULL;
    if (!case_driver(s, "cuFuncSetAttribute", 9000, &set) ||
        cudaGetFuncBySymbol(&function, ck_use_shared_function()) != cudaSuccess)
        return CUDA_ERROR_UNKNOWN;
    return set(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
}

/* By the runtime and by the driver. */
#define GET()                                                                                                          \
    do {                                                                                                               \
        STEP_AS("cudaFuncGetAttributes(&found, kernel)", cudaFuncGetAttributes(&found, ck_use_shared_function()));     \
        VALUE("maxDynamicSharedSizeBytes", found.maxDynamicSharedSizeBytes);                                           \
        VALUE("CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES", driver_bytes(s));                                     \
    } while (0)
#define ASK_SET(bytes)                                                                                                 \
    do {                                                                                                               \
        ASK_AS(SHOWN(bytes), set_bytes(bytes));                                                                        \
        GET();                                                                                                         \
    } while (0)
#define ASK_SET_CU(bytes)                                                                                              \
    do {                                                                                                               \
        if (!case_ask_cu(s,                                                                                            \
                         "cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, " #bytes ")",  \
                         set_by_driver(s, bytes)))                                                                     \
            return;                                                                                                    \
        GET();                                                                                                         \
    } while (0)
/* A launch of the kernel with so much. */
#define ASK_USE(bytes) ASK_AS("kernel<<<1, 1, " #bytes ", a>>>(x)", ck_use_shared(s->x, bytes, s->a))

CASE(shared_set, {
    ASK_SET(0);
    ASK_SET(1);
    ASK_SET(1024);
    ASK_SET(2048);
    ASK_SET(49151);
    ASK_SET(49152);
    ASK_SET(49153);
    ASK_SET(65536);
    ASK_SET(1024);
    SET(0);
});

CASE(shared_set_out_of_range, {
    int most = 0;
    ASK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    VALUE("most", most);
    ASK_SET(most);
    ASK_SET(most + 1);
    ASK_SET(-1);
    ASK_SET(0x7fffffff);
    SET(0);
});

CASE(shared_set_by_driver, {
    SET(0);
    ASK_SET_CU(0);
    ASK_SET_CU(1);
    ASK_SET_CU(1024);
    ASK_SET_CU(2048);
    ASK_SET_CU(49152);
    ASK_SET_CU(49153);
    ASK_SET_CU(65536);
    ASK_SET_CU(2048);
    SET(0);
});

CASE(shared_set_by_driver_out_of_range, {
    SET(0);
    ASK_SET_CU(232448);
    ASK_SET_CU(232449);
    ASK_SET_CU(-1);
    ASK_SET_CU(0x7fffffff);
    SET(0);
});

CASE(shared_set_and_used, {
    SET(65536);
    ASK_USE(4);
    ASK_USE(49152);
    ASK_USE(65536);
    VALUE("x", case_read_x(s));
    SET(0);
});

CASE(shared_set_to_less_and_used, {
    SET(1024);
    ASK_USE(1024);
    VALUE("x", case_read_x(s));
    SET(0);
});

CASE(shared_most_used, {
    int most = 0;
    STEP(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    SET(most);
    ASK_USE((size_t)most);
    ASK_USE((size_t)most + 1);
    VALUE("x", case_read_x(s));
    SET(0);
});

CASE(shared_set_and_captured, {
    SET(65536);
    BEGIN(s->a, ThreadLocal);
    ASK_USE(65536);
    END(s->a);
    SET(1024);
    ASK(cudaGraphInstantiate(&s->exec, s->graph, 0));
    SET(0);
});

/* A kernel for which no other case sets anything. Of the other one, the driver was told too (shared_set_by_driver), and
 * then CUDA lets launches have what the runtime no longer allows. */
static cudaError_t allow_scale(int bytes)
{
    return cudaFuncSetAttribute(ck_scale_function(), cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

static cudaError_t launch_scale(struct scene *s, size_t bytes)
{
    int factor = 2;
    void *arguments[] = {&s->x, &s->x, &factor};
    return cudaLaunchKernel(ck_scale_function(), (dim3){1, 1, 1}, (dim3){1, 1, 1}, arguments, bytes, s->a);
}
#define ASK_ALLOW(bytes)                                                                                               \
    ASK_AS("cudaFuncSetAttribute(scale, cudaFuncAttributeMaxDynamicSharedMemorySize, " #bytes ")", allow_scale(bytes))
#define ASK_SCALE(bytes) ASK_AS("scale<<<1, 1, " #bytes ", a>>>(x)", launch_scale(s, bytes))

CASE(shared_allowed_once, {
    ASK_ALLOW(1024);
    ASK_SCALE(49152);
    ASK_SCALE(49153);
    ASK_ALLOW(65536);
    ASK_SCALE(65536);
    ASK_SCALE(65537);
    ASK_SCALE(81920);
    ASK_ALLOW(1024);
    ASK_SCALE(65536);
    ASK_SCALE(81920);
});

static const struct case_rule set_rules[] = {
    {&shared_allowed_once, "A launch may have what was allowed last, even where that is less than 48 KiB."},
    {&shared_set, "What a program allows a kernel, and what comes back."},
    {&shared_set_out_of_range, "No more than the device has can be allowed."},
    {&shared_set_by_driver,
     "The same by the driver. The runtime does not learn of it: it tells what was set through it."},
    {&shared_set_by_driver_out_of_range, "And out of range."},
    {&shared_set_and_used, "A launch may have what is allowed."},
    {&shared_set_to_less_and_used, "As much as is allowed, where that is less than 48 KiB."},
    {&shared_most_used, "A launch may have all that the device has."},
    {&shared_set_and_captured, "What is allowed counts when a launch is captured."},
};

const struct case_topic topic_shared = CASE_TOPIC(
    "Dynamic shared memory", "`cudaFuncAttributeMaxDynamicSharedMemorySize`, and launches that need it.", set_rules);

/* ---- occupancy --------------------------------------------------------------------------------------------------- */

static int blocks_of(int threads, size_t bytes)
{
    int blocks = -1;
    cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, ck_add_function(), threads, bytes);
    return error ? -(int)error : blocks;
}
#define BLOCKS(threads, bytes) VALUE("blocks of " #threads " threads with " #bytes " bytes", blocks_of(threads, bytes))

CASE(blocks_by_threads, {
    BLOCKS(1, 0);
    BLOCKS(32, 0);
    BLOCKS(33, 0);
    BLOCKS(64, 0);
    BLOCKS(65, 0);
    BLOCKS(96, 0);
    BLOCKS(128, 0);
    BLOCKS(256, 0);
    BLOCKS(768, 0);
    BLOCKS(1024, 0);
});

CASE(blocks_by_memory, {
    BLOCKS(128, 1);
    BLOCKS(128, 6144);
    BLOCKS(128, 7168);
    BLOCKS(128, 13312);
    BLOCKS(128, 13568);
    BLOCKS(128, 13569);
    BLOCKS(128, 16384);
    BLOCKS(128, 32768);
    BLOCKS(128, 49152);
    BLOCKS(128, 49153);
    BLOCKS(1024, 49152);
});

CASE(blocks_that_cannot_be, {
    const void *kernel = ck_add_function();
    int blocks = 77;
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 0, 0));
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, -1, 0));
    VALUE("blocks", blocks);
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 1025, 0));
    VALUE("blocks", blocks);
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 128, 49153));
    VALUE("blocks", blocks);
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 128, (size_t)1 << 40));
    VALUE("blocks", blocks);
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(NULL, kernel, 128, 0));
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, NULL, 128, 0));
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, no_kernel_here, 128, 0));
});

CASE(blocks_flags, {
    const void *kernel = ck_add_function();
    int blocks = 77;
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, kernel, 128, 0, 0));
    VALUE("blocks", blocks);
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, kernel, 128, 0, 1));
    VALUE("blocks", blocks);
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, kernel, 128, 0, 2));
    ASK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, kernel, 128, 0, 3));
});

CASE(blocks_by_driver, {
    const void *kernel = ck_add_function();
    cudaFunction_t function = NULL;
    int blocks = 77;
    STEP(cudaGetFuncBySymbol(&function, kernel));
    ASK_CU(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, &blocks, function, 128, 0);
    VALUE("blocks", blocks);
    ASK_CU(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, &blocks, function, 0, 0);
    ASK_CU(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, &blocks, function, 1025, 0);
    VALUE("blocks", blocks);
    ASK_CU(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, NULL, function, 128, 0);
    ASK_CU(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, &blocks, NULL, 128, 0);
});

/* What there is for each of so many blocks, and how many blocks fit with as much, and with a byte more. */
static void available(struct scene *s, const char *what, int blocks, int threads)
{
    size_t bytes = 0;
    cudaError_t error = cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, ck_add_function(), blocks, threads);
    if (error)
        case_note(s, what, "%s", cudaGetErrorName(error));
    else
        case_note(s, what, "%zu bytes: %d blocks; a byte more: %d blocks", bytes, blocks_of(threads, bytes),
                  blocks_of(threads, bytes + 1));
}
#define AVAILABLE(blocks, threads)                                                                                     \
    available(s, "memory for " #blocks " blocks of " #threads " threads", blocks, threads)

CASE(memory_for_blocks, {
    AVAILABLE(1, 128);
    AVAILABLE(2, 128);
    AVAILABLE(3, 128);
    AVAILABLE(4, 128);
    AVAILABLE(5, 128);
    AVAILABLE(7, 128);
    AVAILABLE(8, 128);
    AVAILABLE(12, 128);
    AVAILABLE(15, 128);
    AVAILABLE(16, 128);
    AVAILABLE(1, 1024);
    AVAILABLE(2, 1024);
    AVAILABLE(32, 32);
});

CASE(memory_for_blocks_that_cannot_be, {
    const void *kernel = ck_add_function();
    size_t bytes = 77;
    ASK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, 0, 128));
    ASK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, -1, 128));
    ASK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, 17, 128));
    ASK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, 33, 32));
    ASK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, 1, 0));
    ASK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, 1, -1));
    ASK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, 1, 1025));
    ASK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, NULL, 1, 128));
    VALUE("bytes", bytes);
});

static const struct case_rule occupancy_rules[] = {
    {&blocks_by_threads, "How many blocks fit, by their threads."},
    {&blocks_by_memory, "And by their dynamic shared memory."},
    {&blocks_that_cannot_be, "Blocks that no launch could have. The number of bytes counts by its lower 32 bits."},
    {&blocks_flags, "The flags."},
    {&blocks_by_driver, "The same by the driver."},
    {&memory_for_blocks,
     "How much dynamic shared memory there is for each of some blocks: all of it divided evenly, in steps of 128 "
     "bytes. What each block needs besides is not taken off, so that fewer may fit."},
    {&memory_for_blocks_that_cannot_be, "The same for blocks that do not fit."},
};

const struct case_topic topic_occupancy = CASE_TOPIC(
    "Occupancy", "How many blocks run at once on a multiprocessor of compute capability 9.0.", occupancy_rules);
