/* The driver's functions, fetched by name: kernels, and kernel nodes in both forms of parameters. */
#include "tests/support/cuda_support.h"

#include <string.h>

#include "tests/support/kernels/graph_kernels.h"
#include "tests/support/kernels/hostcuda_kernels.h"

DRIVER_ENTRY(error_name, cuGetErrorName, 6000);
DRIVER_ENTRY(error_string, cuGetErrorString, 6000);
DRIVER_ENTRY(function_name, cuFuncGetName, 12030);
DRIVER_ENTRY(function_parameter, cuFuncGetParamInfo, 12040);
DRIVER_ENTRY(kernel_name, cuKernelGetName, 12030);
DRIVER_ENTRY(kernel_parameter, cuKernelGetParamInfo, 12040);
DRIVER_ENTRY(kernel_function, cuKernelGetFunction, 12000);
DRIVER_ENTRY(node_type, cuGraphNodeGetType, 10000);
DRIVER_ENTRY(add_kernel_node, cuGraphAddKernelNode, 12000);
DRIVER_ENTRY(get_params, cuGraphKernelNodeGetParams, 12000);
DRIVER_ENTRY(set_params, cuGraphKernelNodeSetParams, 12000);
DRIVER_ENTRY(exec_set_params, cuGraphExecKernelNodeSetParams, 12000);
DRIVER_ENTRY(copy_attributes, cuGraphKernelNodeCopyAttributes, 11000);
DRIVER_ENTRY(launch_kernel, cuLaunchKernel, 4000);
DRIVER_ENTRY(pointer_attribute, cuPointerGetAttribute, 4000);
DRIVER_ENTRY(capture_info, cuStreamGetCaptureInfo, 12030);
SHARED_MEMORY(int, x, 1);
/* Each test has its own: one that fails leaves no capture behind. */
SHARED_STREAM(stream, cudaStreamNonBlocking);

/* Of a struct gk_parameters as one buffer: without the padding behind. */
enum { PACKED_BYTES = offsetof(struct gk_parameters, value) + sizeof(int) };

/* ---- names ---------------------------------------------------------------------------------------------------- */

SHARED_TEST(test_entry_points)
{
    void *address = &address;
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSuccess;
    OK(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &address, 12000, cudaEnableDefault, &status));
    assert_null(address);
    assert_int_equal(status, cudaDriverEntryPointSymbolNotFound);
    OK(cudaGetDriverEntryPointByVersion("cuMemCreate", &address, 10000, cudaEnableDefault, &status));
    assert_null(address);
    assert_int_equal(status, cudaDriverEntryPointVersionNotSufficent);
    OK(cudaGetDriverEntryPointByVersion("cuMemCreate", &address, 10020, cudaEnableLegacyStream, NULL));
    assert_non_null(address);
    EXPECT_INVALID(cudaGetDriverEntryPointByVersion("cuMemCreate", &address, 99000, cudaEnableDefault, &status));
}

/* A GPU's runtime crashes of it. */
SHARED_TEST(test_entry_points_of_nothing)
{
    void *address = NULL;
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSuccess;
    skip_unless(on_host_device(), "a GPU's runtime crashes");
    EXPECT_INVALID(cudaGetDriverEntryPointByVersion(NULL, &address, 12000, cudaEnableDefault, &status));
    EXPECT_INVALID(cudaGetDriverEntryPointByVersion("cuInit", NULL, 12000, cudaEnableDefault, &status));
}

/* The older form, by the runtime's own version; deprecated, and still called. */
SHARED_TEST(test_entry_point_of_the_runtime)
{
    void *address = NULL;
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSymbolNotFound;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    OK(cudaGetDriverEntryPoint("cuPointerGetAttribute", &address, cudaEnableDefault, &status));
#pragma GCC diagnostic pop
    assert_int_equal(status, cudaDriverEntryPointSuccess);
    assert_memory_equal(&address, &pointer_attribute, sizeof address);
}

DRIVER_ENTRY(get_address, cuGetProcAddress, 12000);
SHARED_TEST(test_get_proc_address)
{
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    void *same = NULL, *other = NULL;
    CU_OK(get_address("cuPointerGetAttribute", &same, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
    assert_memory_equal(&same, &pointer_attribute, sizeof same);
    CU_OK(get_address("cuNoSuchThing", &other, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    assert_null(other);
}

SHARED_TEST(test_error_names)
{
    const char *text = NULL;
    CU_OK(error_name(CUDA_ERROR_INVALID_VALUE, &text));
    assert_string_equal(text, "CUDA_ERROR_INVALID_VALUE");
    CU_OK(error_string(CUDA_ERROR_INVALID_VALUE, &text));
    assert_string_equal(text, "invalid argument");
    CU_OK(error_name(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, &text));
    assert_string_equal(text, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED");
    CU_INVALID(error_name((CUresult)12345, &text));
    assert_null(text);
    CU_INVALID(error_string((CUresult)12345, &text));
    assert_null(text);
}

DRIVER_ENTRY(init, cuInit, 2000);
DRIVER_ENTRY(get_version, cuDriverGetVersion, 2020);
DRIVER_ENTRY(get_count, cuDeviceGetCount, 2000);
DRIVER_ENTRY(get, cuDeviceGet, 2000);
SHARED_TEST(test_start)
{
    int version = 0, count = 0, devices = 0;
    CUdevice device = -1;
    CU_OK(init(0));
    CU_INVALID(init(7));
    CU_OK(get_version(&version));
    assert_true(version >= 13000);
    CU_OK(get_count(&count));
    OK(cudaGetDeviceCount(&devices));
    assert_int_equal(count, devices);
    CU_OK(get(&device, 0));
    CU_EXPECT(get(&device, count), CUDA_ERROR_INVALID_DEVICE);
}

/* What the function says of the kernel, which has the name in it. */
#define EXPECT_NAME(function, kernel, name)                                                                            \
    do {                                                                                                               \
        const char *text = NULL;                                                                                       \
        CU_OK(function(&text, kernel));                                                                                \
        assert_non_null(strstr(text, name));                                                                           \
    } while (0)

static CUkernel kernel_of(const void *symbol)
{
    cudaKernel_t kernel = NULL;
    OK(cudaGetKernel(&kernel, symbol));
    return (CUkernel)kernel;
}

/* ---- kernels -------------------------------------------------------------------------------------------------- */

SHARED_TEST(test_kernel_names)
{
    cudaFunction_t function = NULL;
    CUkernel kernel = kernel_of(gk_multiply_function());
    EXPECT_NAME(function_name, function_of(gk_add_function()), "gk_add_kernel");
    EXPECT_NAME(kernel_name, kernel, "gk_multiply_kernel");
    CU_OK(kernel_function(&function, kernel));
    EXPECT_NAME(function_name, function, "gk_multiply_kernel");
}

/* double *out, char a, double b, short c, struct hk_pair d */
SHARED_TEST(test_parameter_places)
{
    static const size_t offsets[] = {0, 8, 16, 24, 32}, sizes[] = {8, 1, 8, 2, 16};
    size_t offset = 0, size = 0;
    DEVICE_MEMORY(double, out, 5);
    OK(hk_parameters(out, 1, 2, 3, (struct hk_pair){4, 5}, stream)); /* its first launch makes it known */
    OK(cudaStreamSynchronize(stream));
    cudaFunction_t function = function_of(hk_parameters_function());
    CUkernel kernel = kernel_of(hk_parameters_function());
    for (size_t i = 0; i < 5; i++) {
        CU_OK(function_parameter(function, i, &offset, &size));
        assert_int_equal(offset, offsets[i]);
        assert_int_equal(size, sizes[i]);
        CU_OK(kernel_parameter(kernel, i, &offset, NULL));
        assert_int_equal(offset, offsets[i]);
    }
    CU_INVALID(function_parameter(function, 5, &offset, &size));
    CU_INVALID(kernel_parameter(kernel, 5, &offset, &size));
}

/* ---- kernel nodes --------------------------------------------------------------------------------------------- */

static CUDA_KERNEL_NODE_PARAMS of_one_thread(const void *symbol, void **parameters, void **extra)
{
    return (CUDA_KERNEL_NODE_PARAMS){function_of(symbol), 1, 1, 1, 1, 1, 1, 0, parameters, extra, NULL, NULL};
}

/* The parameters, and the same as one buffer of so many bytes. */
#define PACKED(number, count)                                                                                          \
    struct gk_parameters packed = {x, number};                                                                         \
    size_t bytes = count;                                                                                              \
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END}

static CUresult launch_one(CUfunction function, void **parameters, void **extra)
{
    return launch_kernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, extra);
}

/* What follows that key in the form of one buffer, whose parts may come in any order. */
static void *part_of(void **extra, const void *key)
{
    assert_non_null(extra);
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2)
        if (*extra == key)
            return extra[1];
    fail_msg("%p is not in the list", key);
    return NULL;
}

/* Runs the graph once on *x = start. */
static int run(cudaGraphExec_t exec, int start)
{
    OK(cudaMemcpy(x, &start, sizeof start, cudaMemcpyHostToDevice));
    OK(cudaGraphLaunch(exec, stream));
    return read_int(x, stream);
}

static int instantiate_and_run(cudaGraph_t graph, int start)
{
    EXEC_OF(exec, graph);
    return run(exec, start);
}

SHARED_TEST(test_captured_node)
{
    CUDA_KERNEL_NODE_PARAMS params;
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    BEGIN_CAPTURE(stream);
    OK(gk_add(x, 5, stream));
    CAPTURED(graph, stream);
    cudaGraphNode_t node = only_node(graph);
    CU_OK(node_type(node, &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_KERNEL);
    CU_OK(get_params(node, &params));
    if (params.func)
        EXPECT_NAME(function_name, params.func, "gk_add_kernel");
    else
        EXPECT_NAME(kernel_name, params.kern, "gk_add_kernel");
    assert_int_equal(params.gridDimX, 1);
    assert_int_equal(params.blockDimZ, 1);
    assert_null(params.extra);
    assert_ptr_equal(*(int **)params.kernelParams[0], x);
    assert_int_equal(*(int *)params.kernelParams[1], 5);
    int value = 6;
    void *changed[] = {params.kernelParams[0], &value};
    params.kernelParams = changed;
    CU_OK(set_params(node, &params));
    assert_int_equal(instantiate_and_run(graph, 100), 106);
}

SHARED_TEST(test_packed_parameters)
{
    CUgraphNode node = NULL;
    PACKED(7, PACKED_BYTES);
    CUDA_KERNEL_NODE_PARAMS params = of_one_thread(gk_add_function(), NULL, extra), got;
    NEW_GRAPH(graph);
    CU_OK(add_kernel_node(&node, graph, NULL, 0, &params));
    packed.value = 8; /* the node has its own copy */
    CU_OK(get_params(node, &got));
    assert_null(got.kernelParams);
    const struct gk_parameters *held = part_of(got.extra, CU_LAUNCH_PARAM_BUFFER_POINTER);
    assert_ptr_equal(held->x, x);
    assert_int_equal(held->value, 7);
    assert_int_equal(*(size_t *)part_of(got.extra, CU_LAUNCH_PARAM_BUFFER_SIZE), PACKED_BYTES);
    assert_int_equal(instantiate_and_run(graph, 1), 8);
    CU_OK(set_params(node, &params));
    assert_int_equal(instantiate_and_run(graph, 1), 9);
}

SHARED_TEST(test_both_forms_are_refused)
{
    CUgraphNode node = NULL;
    PACKED(7, PACKED_BYTES);
    void *parameters[] = {&packed.x, &packed.value};
    CUDA_KERNEL_NODE_PARAMS params = of_one_thread(gk_add_function(), parameters, extra);
    NEW_GRAPH(graph);
    CU_INVALID(add_kernel_node(&node, graph, NULL, 0, &params));
    params.extra = NULL;
    params.gridDimX = 0;
    CU_INVALID(add_kernel_node(&node, graph, NULL, 0, &params));
    OK(cudaGetLastError()); /* the runtime hears nothing of it */
}

SHARED_TEST(test_launch_of_a_buffer)
{
    cudaFunction_t function = function_of(gk_multiply_function());
    CUDA_KERNEL_NODE_PARAMS params;
    PACKED(3, PACKED_BYTES);
    BEGIN_CAPTURE(stream);
    CU_OK(launch_one(function, NULL, extra));
    CAPTURED(graph, stream);
    CU_OK(get_params(only_node(graph), &params));
    assert_null(params.kernelParams);
    const struct gk_parameters *held = part_of(params.extra, CU_LAUNCH_PARAM_BUFFER_POINTER);
    assert_int_equal(held->value, 3);
    assert_int_equal(instantiate_and_run(graph, 5), 15);
    /* outside a capture, and by the other handle */
    void *parameters[] = {&packed.x, &packed.value};
    CU_OK(launch_one((CUfunction)kernel_of(gk_multiply_function()), parameters, NULL));
    assert_int_equal(read_int(x, stream), 45);
    CU_INVALID(launch_kernel(function, 0, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
}

/* A buffer may be shorter than the parameters, not longer: the padding behind them is no part of them. */
SHARED_TEST(test_sizes_of_a_buffer)
{
    static const struct {
        size_t bytes;
        CUresult launched, captured;
    } cases[] = {
        {0, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE},
        {PACKED_BYTES - 1, CUDA_SUCCESS, CUDA_SUCCESS},
        {PACKED_BYTES, CUDA_SUCCESS, CUDA_SUCCESS},
        {PACKED_BYTES + 1, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_INVALID_VALUE},
        {sizeof(struct gk_parameters), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_INVALID_VALUE},
    };
    PACKED(3, 0);
    const CUDA_KERNEL_NODE_PARAMS params = of_one_thread(gk_add_function(), NULL, extra);
    CUDA_KERNEL_NODE_PARAMS got;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CUgraphNode node = NULL;
        int before = read_int(x, stream), added = cases[i].launched ? 0 : 3;
        bytes = cases[i].bytes;
        CU_EXPECT(launch_one(params.func, NULL, extra), cases[i].launched);
        assert_int_equal(read_int(x, stream), before + added);
        BEGIN_CAPTURE(stream);
        CU_EXPECT(launch_one(params.func, NULL, extra), cases[i].captured);
        CAPTURED(graph, stream); /* a refusal does not spoil it */
        assert_int_equal(nodes_of(graph), cases[i].captured ? 0 : 1);
        CU_EXPECT(add_kernel_node(&node, graph, NULL, 0, &params), cases[i].captured);
        if (node) {
            CU_OK(get_params(node, &got));
            assert_int_equal(*(size_t *)part_of(got.extra, CU_LAUNCH_PARAM_BUFFER_SIZE), bytes);
        }
    }
}

/* Lists that say nothing, or half of it. */
SHARED_TEST(test_lists_without_a_buffer)
{
    PACKED(3, PACKED_BYTES);
    void *parameters[] = {&packed.x, &packed.value};
    void *empty[] = {CU_LAUNCH_PARAM_END};
    void *no_size[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_END};
    void *no_buffer[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    struct {
        void **parameters, **extra;
        CUresult expected;
    } cases[] = {
        {parameters, empty, CUDA_SUCCESS},           {parameters, extra, CUDA_ERROR_INVALID_VALUE},
        {NULL, empty, CUDA_ERROR_INVALID_VALUE},     {NULL, no_size, CUDA_ERROR_INVALID_VALUE},
        {NULL, no_buffer, CUDA_ERROR_INVALID_VALUE}, {NULL, NULL, CUDA_ERROR_INVALID_VALUE},
    };
    cudaFunction_t function = function_of(gk_add_function());
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int before = read_int(x, stream);
        CU_EXPECT(launch_one(function, cases[i].parameters, cases[i].extra), cases[i].expected);
        assert_int_equal(read_int(x, stream), before + (cases[i].expected ? 0 : 3));
    }
}

/* A node tells both handles of a kernel of the program, and takes each in its own place only. */
SHARED_TEST(test_handles_of_a_node)
{
    CUkernel kernel = kernel_of(gk_add_function());
    CUgraphNode node = NULL;
    int value = 4;
    void *parameters[] = {&x, &value};
    CUDA_KERNEL_NODE_PARAMS params = of_one_thread(gk_add_function(), parameters, NULL), got;
    NEW_GRAPH(graph);
    params.func = NULL;
    params.kern = kernel;
    CU_OK(add_kernel_node(&node, graph, NULL, 0, &params));
    CU_OK(get_params(node, &got));
    EXPECT_NAME(function_name, got.func, "gk_add_kernel");
    EXPECT_NAME(kernel_name, got.kern, "gk_add_kernel");
    assert_int_equal(instantiate_and_run(graph, 30), 34);
    params.func = (CUfunction)kernel;
    params.kern = NULL;
    CU_EXPECT(add_kernel_node(&node, graph, NULL, 0, &params), CUDA_ERROR_INVALID_HANDLE);
    params.func = NULL;
    CU_EXPECT(add_kernel_node(&node, graph, NULL, 0, &params), CUDA_ERROR_INVALID_HANDLE);
}

SHARED_TEST(test_executable_node)
{
    CUgraphNode node = NULL;
    int value = 2;
    void *parameters[] = {&x, &value};
    CUDA_KERNEL_NODE_PARAMS params = of_one_thread(gk_multiply_function(), parameters, NULL);
    NEW_GRAPH(graph);
    CU_OK(add_kernel_node(&node, graph, NULL, 0, &params));
    EXEC_OF(exec, graph);
    assert_int_equal(run(exec, 21), 42);
    value = 3;
    CU_OK(exec_set_params(exec, node, &params));
    assert_int_equal(run(exec, 21), 63);
    assert_int_equal(instantiate_and_run(graph, 21), 42); /* the graph itself is as before */
}

/* What a debugger does: each node alone, in a graph of its own. */
SHARED_TEST(test_one_node_alone)
{
    cudaGraph_t graph = NULL;
    cudaGraphNode_t nodes[2];
    CUgraphNode copy = NULL;
    size_t count = 2;
    CUDA_KERNEL_NODE_PARAMS params;
    BEGIN_CAPTURE(stream);
    OK(gk_add(x, 1, stream));
    OK(gk_add(x, 10, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphGetNodes(graph, nodes, &count));
    CU_OK(get_params(nodes[1], &params));
    NEW_GRAPH(alone);
    CU_OK(add_kernel_node(&copy, alone, NULL, 0, &params));
    CU_OK(copy_attributes(copy, nodes[1]));
    OK(cudaGraphDestroy(graph));
    assert_int_equal(instantiate_and_run(alone, 0), 10);
}

SHARED_TEST(test_other_nodes_have_no_kernel)
{
    cudaGraphNode_t empty = NULL;
    CUDA_KERNEL_NODE_PARAMS params;
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL;
    NEW_GRAPH(graph);
    OK(cudaGraphAddEmptyNode(&empty, graph, NULL, 0));
    CU_OK(node_type(empty, &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_EMPTY);
    CU_INVALID(get_params(empty, &params));
}

/* What the driver says of a capture is what the runtime says. */
SHARED_TEST(test_capture_info)
{
    CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    enum cudaStreamCaptureStatus expected;
    const CUgraphNode *nodes = NULL;
    const cudaGraphNode_t *expected_nodes = NULL;
    unsigned long long expected_id = 0;
    cuuint64_t id = 0;
    size_t count = 0, expected_count = 0;
    cudaGraph_t graph = NULL, expected_graph = NULL;
    CU_OK(capture_info(stream, &capturing, &id, NULL, NULL, NULL, NULL));
    assert_int_equal(capturing, CU_STREAM_CAPTURE_STATUS_NONE);
    CU_INVALID(capture_info(stream, NULL, NULL, NULL, NULL, NULL, NULL));
    BEGIN_CAPTURE(stream);
    OK(gk_add(x, 1, stream));
    CU_OK(capture_info(stream, &capturing, &id, &graph, &nodes, NULL, &count));
    OK(cudaStreamGetCaptureInfo(stream, &expected, &expected_id, &expected_graph, &expected_nodes, NULL,
                                &expected_count));
    assert_int_equal(capturing, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    assert_int_equal(id, expected_id);
    assert_ptr_equal(graph, expected_graph);
    assert_int_equal(count, 1);
    assert_int_equal(expected_count, 1);
    assert_ptr_equal(nodes[0], expected_nodes[0]);
    assert_int_not_equal(cudaStreamSynchronize(stream), cudaSuccess); /* invalidates it */
    cudaGetLastError();
    CU_OK(capture_info(stream, &capturing, NULL, NULL, NULL, NULL, NULL));
    assert_int_equal(capturing, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    assert_int_equal(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
    cudaGetLastError();
}
