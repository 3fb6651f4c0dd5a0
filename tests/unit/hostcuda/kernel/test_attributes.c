/* Attributes that programs ask for and set: of devices, of kernels, and of the nodes that launch them. */
#include "tests/support/cuda_support.h"

#include "tests/support/kernels/graph_kernels.h"

/* ---- devices ----------------------------------------------------------------------------------------------------- */

static int attribute(enum cudaDeviceAttr attr)
{
    int value = -1;
    OK(cudaDeviceGetAttribute(&value, attr, 0));
    return value;
}

TEST(test_devices)
{
    static const enum cudaDeviceAttr positive[] = {cudaDevAttrClockRate,
                                                   cudaDevAttrMemoryClockRate,
                                                   cudaDevAttrGlobalMemoryBusWidth,
                                                   cudaDevAttrMaxPitch,
                                                   cudaDevAttrTextureAlignment,
                                                   cudaDevAttrTexturePitchAlignment,
                                                   cudaDevAttrSurfaceAlignment,
                                                   cudaDevAttrMaxRegistersPerMultiprocessor,
                                                   cudaDevAttrMaxBlocksPerMultiprocessor,
                                                   cudaDevAttrMaxAccessPolicyWindowSize};
    static const enum cudaDeviceAttr any[] = {cudaDevAttrL2CacheSize,
                                              cudaDevAttrComputeMode,
                                              cudaDevAttrKernelExecTimeout,
                                              cudaDevAttrEccEnabled,
                                              cudaDevAttrPciBusId,
                                              cudaDevAttrPciDeviceId,
                                              cudaDevAttrPciDomainId,
                                              cudaDevAttrTccDriver,
                                              cudaDevAttrIsMultiGpuBoard,
                                              cudaDevAttrManagedMemory,
                                              cudaDevAttrConcurrentManagedAccess,
                                              cudaDevAttrHostNativeAtomicSupported,
                                              cudaDevAttrMemoryPoolSupportedHandleTypes};
    struct cudaDeviceProp properties;
    int value = -1;
    for (size_t i = 0; i < sizeof positive / sizeof *positive; i++)
        assert_true(attribute(positive[i]) > 0);
    for (size_t i = 0; i < sizeof any / sizeof *any; i++)
        assert_true(attribute(any[i]) >= 0);
    OK(cudaGetDeviceProperties(&properties, 0));
    assert_int_equal(attribute(cudaDevAttrMaxPitch), properties.memPitch);
    assert_int_equal(attribute(cudaDevAttrTexturePitchAlignment), properties.texturePitchAlignment);
    assert_int_equal(attribute(cudaDevAttrMaxAccessPolicyWindowSize), properties.accessPolicyMaxWindowSize);
    EXPECT_INVALID(cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr) - 1, 0));
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

TEST(test_kernels)
{
    struct cudaFuncAttributes attributes;
    const void *kernel = gk_multiply_function();
    OK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 1024));
    OK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 50));
    OK(cudaFuncGetAttributes(&attributes, kernel));
    assert_int_equal(attributes.maxDynamicSharedSizeBytes, 1024);
    assert_int_equal(attributes.preferredShmemCarveout, 50);
    assert_int_equal(attributes.maxThreadsPerBlock, 1024);
    OK(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, -1));
    OK(cudaFuncGetAttributes(&attributes, kernel));
    assert_int_equal(attributes.preferredShmemCarveout, -1);
}

TEST(test_kernels_refused)
{
    const enum cudaFuncAttribute shared = cudaFuncAttributeMaxDynamicSharedMemorySize;
    const enum cudaFuncAttribute carveout = cudaFuncAttributePreferredSharedMemoryCarveout;
    struct cudaFuncAttributes attributes;
    const void *kernel = gk_multiply_function();
    EXPECT_CODE(cudaFuncSetAttribute(NULL, carveout, 50), cudaErrorInvalidDeviceFunction);
    EXPECT_INVALID(cudaFuncSetAttribute(kernel, (enum cudaFuncAttribute) - 1, 50));
    EXPECT_INVALID(cudaFuncSetAttribute(kernel, shared, -1));
    EXPECT_INVALID(cudaFuncSetAttribute(kernel, carveout, -2));
    EXPECT_INVALID(cudaFuncSetAttribute(kernel, carveout, 101));
    EXPECT_INVALID(cudaFuncGetAttributes(NULL, kernel));
    EXPECT_CODE(cudaFuncGetAttributes(&attributes, NULL), cudaErrorInvalidDeviceFunction);
}

/* Setting one forgets the last error, as few calls do. */
TEST(test_kernels_clear_the_error)
{
    const enum cudaFuncAttribute carveout = cudaFuncAttributePreferredSharedMemoryCarveout;
    const void *kernel = gk_multiply_function();
    assert_int_equal(cudaFuncSetAttribute(kernel, carveout, 101), cudaErrorInvalidValue);
    assert_int_equal(cudaPeekAtLastError(), cudaErrorInvalidValue);
    OK(cudaFuncSetAttribute(kernel, carveout, -1));
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
}

DRIVER_ENTRY(get, cuFuncGetAttribute, 2020);
DRIVER_ENTRY(set, cuFuncSetAttribute, 9000);
SHARED_TEST(test_kernels_of_the_driver)
{
    cudaFunction_t function = function_of(gk_add_function());
    struct cudaFuncAttributes attributes;
    int value = 0;
    CU_OK(set(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 2048));
    CU_OK(get(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function));
    assert_int_equal(value, 2048);
    OK(cudaFuncGetAttributes(&attributes, gk_add_function()));
    assert_int_equal(attributes.maxDynamicSharedSizeBytes, 48 << 10); /* the runtime does not learn of it */
    CU_OK(get(&value, CU_FUNC_ATTRIBUTE_BINARY_VERSION, function));
    assert_int_equal(value, attributes.binaryVersion);
    CU_OK(get(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
    assert_int_equal(value, attributes.numRegs);
    assert_true(value > 0);
    CU_INVALID(get(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
    CU_INVALID(get(&value, (CUfunction_attribute)-1, function));
    CU_EXPECT(get(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL), CUDA_ERROR_INVALID_HANDLE);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static cudaGraph_t graph;
static cudaGraphNode_t node, other;
SHARED_MEMORY(int, x, 16);

static int make_nodes(void **state)
{
    make_shared(state);
    int value = 1;
    void *parameters[] = {&x, &value};
    const struct cudaKernelNodeParams params = {
        (void *)(uintptr_t)gk_add_function(), {1, 1, 1}, {1, 1, 1}, 0, parameters, NULL};
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddKernelNode(&node, graph, NULL, 0, &params));
    OK(cudaGraphAddKernelNode(&other, graph, &node, 1, &params));
    return 0;
}

static int drop_nodes(void **state)
{
    OK(cudaGraphDestroy(graph));
    return drop_shared(state);
}

static cudaLaunchAttributeValue window(float ratio, size_t bytes)
{
    const struct cudaAccessPolicyWindow window = {.base_ptr = x,
                                                  .num_bytes = bytes,
                                                  .hitRatio = ratio,
                                                  .hitProp = cudaAccessPropertyPersisting,
                                                  .missProp = cudaAccessPropertyStreaming};
    return (cudaLaunchAttributeValue){.accessPolicyWindow = window};
}

static void expect_window(cudaGraphNode_t asked, const cudaLaunchAttributeValue *wanted)
{
    cudaLaunchAttributeValue value = {0};
    OK(cudaGraphKernelNodeGetAttribute(asked, cudaLaunchAttributeAccessPolicyWindow, &value));
    const struct cudaAccessPolicyWindow *found = &value.accessPolicyWindow, *expected = &wanted->accessPolicyWindow;
    assert_ptr_equal(found->base_ptr, expected->base_ptr);
    assert_int_equal(found->num_bytes, expected->num_bytes);
    assert_true(found->hitRatio == expected->hitRatio);
    assert_int_equal(found->hitProp, expected->hitProp);
    assert_int_equal(found->missProp, expected->missProp);
}

TEST_F(test_nodes, make_nodes, drop_nodes, void *state)
{
    const cudaLaunchAttributeValue wanted = window(0.5f, 64);
    OWNED_CUDA_GRAPH(clone);
    cudaGraphNode_t cloned = NULL;
    OK(cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeAccessPolicyWindow, &wanted));
    expect_window(node, &wanted);
    OK(cudaGraphKernelNodeCopyAttributes(other, node));
    expect_window(other, &wanted);
    OK(cudaGraphClone(&clone, graph));
    OK(cudaGraphNodeFindInClone(&cloned, node, clone));
    expect_window(cloned, &wanted);
    EXEC_OF(exec, clone);
    OK(cudaGraphLaunch(exec, NULL));
    assert_int_equal(read_int(x, NULL), 2);
}

static cudaError_t set_window(float ratio, size_t bytes)
{
    const cudaLaunchAttributeValue value = window(ratio, bytes);
    return cudaGraphKernelNodeSetAttribute(node, cudaLaunchAttributeAccessPolicyWindow, &value);
}

TEST_F(test_nodes_refused, make_nodes, drop_nodes, void *state)
{
    const cudaLaunchAttributeID id = cudaLaunchAttributeAccessPolicyWindow;
    cudaGraphNode_t empty = NULL;
    cudaLaunchAttributeValue value = window(0.5f, 64);
    OK(cudaGraphAddEmptyNode(&empty, graph, NULL, 0));
    EXPECT_INVALID(cudaGraphKernelNodeSetAttribute(NULL, id, &value));
    EXPECT_INVALID(cudaGraphKernelNodeSetAttribute(empty, id, &value));
    EXPECT_INVALID(cudaGraphKernelNodeSetAttribute(node, (cudaLaunchAttributeID)-1, &value));
    EXPECT_INVALID(cudaGraphKernelNodeGetAttribute(NULL, id, &value));
    EXPECT_INVALID(cudaGraphKernelNodeGetAttribute(empty, id, &value));
    EXPECT_INVALID(cudaGraphKernelNodeGetAttribute(node, (cudaLaunchAttributeID)-1, &value));
    EXPECT_INVALID(set_window(0.5f, (size_t)attribute(cudaDevAttrMaxAccessPolicyWindowSize) + 1));
    EXPECT_INVALID(set_window(-0.5f, 64));
    EXPECT_INVALID(set_window(1.5f, 64));
    value.accessPolicyWindow.missProp = cudaAccessPropertyPersisting;
    EXPECT_INVALID(cudaGraphKernelNodeSetAttribute(node, id, &value));
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

static cudaError_t launch_with(cudaLaunchAttribute attribute, unsigned blocks)
{
    int value = 1;
    void *arguments[] = {&x, &value};
    const cudaLaunchConfig_t config = {
        .gridDim = {blocks, 1, 1}, .blockDim = {1, 1, 1}, .attrs = &attribute, .numAttrs = 1};
    return cudaLaunchKernelExC(&config, gk_add_function(), arguments);
}

static cudaLaunchAttribute all_at_once(void)
{
    return (cudaLaunchAttribute){.id = cudaLaunchAttributeCooperative, .val = {.cooperative = 1}};
}

static cudaLaunchAttribute clusters_of(unsigned blocks)
{
    return (cudaLaunchAttribute){.id = cudaLaunchAttributeClusterDimension, .val = {.clusterDim = {blocks, 1, 1}}};
}

SHARED_TEST(test_launches)
{
    const cudaLaunchAttribute unknown = {.id = (cudaLaunchAttributeID)99};
    OK(launch_with(all_at_once(), 1));
    OK(launch_with(clusters_of(1), 3));
    assert_true(read_int(x, NULL) >= 2); /* three blocks race */
    EXPECT_INVALID(launch_with(unknown, 1));
    EXPECT_CODE(launch_with(clusters_of(0), 1), cudaErrorInvalidClusterSize);
    EXPECT_CODE(launch_with(clusters_of(2), 3), cudaErrorInvalidClusterSize);
    EXPECT_CODE(launch_with(all_at_once(), 1 << 20), cudaErrorCooperativeLaunchTooLarge);
}

TESTS_ON_HOST_DEVICE("what blocks cannot do that run one after the other");

/* Blocks that would wait for each other for ever are not started. */
TEST(test_launches_refused)
{
    EXPECT_CODE(launch_with(all_at_once(), 2), cudaErrorNotSupported);
    EXPECT_CODE(launch_with(clusters_of(2), 4), cudaErrorNotSupported);
}
