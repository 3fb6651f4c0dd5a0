/* The driver's functions, fetched by name: kernels, and kernel nodes in both forms of parameters. */
#include "tests/support/test.h"
#include "tests/support/cuda_support.h"

#include <cudaTypedefs.h>
#include <string.h>

#include "tests/support/kernels/graph_kernels.h"
#include "tests/support/kernels/hostcuda_kernels.h"

static PFN_cuGetErrorName_v6000 error_name;
static PFN_cuGetErrorString_v6000 error_string;
static PFN_cuFuncGetName_v12030 function_name;
static PFN_cuFuncGetParamInfo_v12040 function_parameter;
static PFN_cuKernelGetName_v12030 kernel_name;
static PFN_cuKernelGetParamInfo_v12040 kernel_parameter;
static PFN_cuKernelGetFunction_v12000 kernel_function;
static PFN_cuGraphNodeGetType_v10000 node_type;
static PFN_cuGraphAddKernelNode_v12000 add_kernel_node;
static PFN_cuGraphKernelNodeGetParams_v12000 get_params;
static PFN_cuGraphKernelNodeSetParams_v12000 set_params;
static PFN_cuGraphExecKernelNodeSetParams_v12000 exec_set_params;
static PFN_cuGraphKernelNodeCopyAttributes_v11000 copy_attributes;
static PFN_cuLaunchKernel_v4000 launch_kernel;
static PFN_cuPointerGetAttribute_v4000 pointer_attribute;
static PFN_cuStreamGetCaptureInfo_v12030 capture_info;

static cudaStream_t stream; /* each test has its own: one that fails leaves no capture behind */
static int *x;

/* Of a struct gk_parameters as one buffer: without the padding behind. */
enum { PACKED_BYTES = offsetof(struct gk_parameters, value) + sizeof(int) };

static int new_stream(void **state)
{
    (void)state;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return 0;
}

static int end_stream(void **state)
{
    (void)state;
    OK(cudaStreamDestroy(stream));
    cudaGetLastError(); /* a failed test's */
    return 0;
}

static int setup(void **state)
{
    (void)state;
    x = device_memory(sizeof *x);
    driver_entry("cuGetErrorName", 6000, &error_name);
    driver_entry("cuGetErrorString", 6000, &error_string);
    driver_entry("cuFuncGetName", 12030, &function_name);
    driver_entry("cuFuncGetParamInfo", 12040, &function_parameter);
    driver_entry("cuKernelGetName", 12030, &kernel_name);
    driver_entry("cuKernelGetParamInfo", 12040, &kernel_parameter);
    driver_entry("cuKernelGetFunction", 12000, &kernel_function);
    driver_entry("cuGraphNodeGetType", 10000, &node_type);
    driver_entry("cuGraphAddKernelNode", 12000, &add_kernel_node);
    driver_entry("cuGraphKernelNodeGetParams", 12000, &get_params);
    driver_entry("cuGraphKernelNodeSetParams", 12000, &set_params);
    driver_entry("cuGraphExecKernelNodeSetParams", 12000, &exec_set_params);
    driver_entry("cuGraphKernelNodeCopyAttributes", 11000, &copy_attributes);
    driver_entry("cuLaunchKernel", 4000, &launch_kernel);
    driver_entry("cuPointerGetAttribute", 4000, &pointer_attribute);
    driver_entry("cuStreamGetCaptureInfo", 12030, &capture_info);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    OK(cudaFree(x));
    return 0;
}

#define HOSTCUDA_DRIVER_TEST(name) TEST_F(name, new_stream, end_stream, void *state)

/* ---- names ---------------------------------------------------------------------------------------------------- */

HOSTCUDA_DRIVER_TEST(test_entry_points)
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
    EXPECT_CODE(cudaGetDriverEntryPointByVersion("cuMemCreate", &address, 99000, cudaEnableDefault, &status),
                cudaErrorInvalidValue);
}

/* A GPU's runtime crashes of it. */
HOSTCUDA_DRIVER_TEST(test_entry_points_of_nothing)
{
    void *address = NULL;
    enum cudaDriverEntryPointQueryResult status = cudaDriverEntryPointSuccess;
    if (strcmp(BG_DEVICE_KIND, "host") != 0) {
        print_message("skipped: a GPU's runtime crashes\n");
        skip();
    }
    EXPECT_CODE(cudaGetDriverEntryPointByVersion(NULL, &address, 12000, cudaEnableDefault, &status),
                cudaErrorInvalidValue);
    EXPECT_CODE(cudaGetDriverEntryPointByVersion("cuInit", NULL, 12000, cudaEnableDefault, &status),
                cudaErrorInvalidValue);
}

/* The older form, by the runtime's own version; deprecated, and still called. */
HOSTCUDA_DRIVER_TEST(test_entry_point_of_the_runtime)
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

HOSTCUDA_DRIVER_TEST(test_get_proc_address)
{
    PFN_cuGetProcAddress_v12000 get = NULL;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    void *same = NULL, *other = NULL;
    driver_entry("cuGetProcAddress", 12000, &get);
    CU_OK(get("cuPointerGetAttribute", &same, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SUCCESS);
    assert_memory_equal(&same, &pointer_attribute, sizeof same);
    CU_OK(get("cuNoSuchThing", &other, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
    assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    assert_null(other);
}

HOSTCUDA_DRIVER_TEST(test_error_names)
{
    const char *text = NULL;
    CU_OK(error_name(CUDA_ERROR_INVALID_VALUE, &text));
    assert_string_equal(text, "CUDA_ERROR_INVALID_VALUE");
    CU_OK(error_string(CUDA_ERROR_INVALID_VALUE, &text));
    assert_string_equal(text, "invalid argument");
    CU_OK(error_name(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, &text));
    assert_string_equal(text, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED");
    CU_EXPECT(error_name((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    assert_null(text);
    CU_EXPECT(error_string((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    assert_null(text);
}

HOSTCUDA_DRIVER_TEST(test_start)
{
    PFN_cuInit_v2000 init = NULL;
    PFN_cuDriverGetVersion_v2020 get_version = NULL;
    PFN_cuDeviceGetCount_v2000 get_count = NULL;
    PFN_cuDeviceGet_v2000 get = NULL;
    int version = 0, count = 0, devices = 0;
    CUdevice device = -1;
    driver_entry("cuInit", 2000, &init);
    driver_entry("cuDriverGetVersion", 2020, &get_version);
    driver_entry("cuDeviceGetCount", 2000, &get_count);
    driver_entry("cuDeviceGet", 2000, &get);
    CU_OK(init(0));
    CU_EXPECT(init(7), CUDA_ERROR_INVALID_VALUE);
    CU_OK(get_version(&version));
    assert_true(version >= 13000);
    CU_OK(get_count(&count));
    OK(cudaGetDeviceCount(&devices));
    assert_int_equal(count, devices);
    CU_OK(get(&device, 0));
    CU_EXPECT(get(&device, count), CUDA_ERROR_INVALID_DEVICE);
}

/* ---- kernels -------------------------------------------------------------------------------------------------- */

HOSTCUDA_DRIVER_TEST(test_kernel_names)
{
    const char *text = NULL;
    cudaFunction_t function = NULL;
    cudaKernel_t kernel = NULL;
    OK(cudaGetFuncBySymbol(&function, gk_add_function()));
    CU_OK(function_name(&text, function));
    assert_non_null(strstr(text, "gk_add_kernel"));
    OK(cudaGetKernel(&kernel, gk_multiply_function()));
    CU_OK(kernel_name(&text, (CUkernel)kernel));
    assert_non_null(strstr(text, "gk_multiply_kernel"));
    CU_OK(kernel_function(&function, (CUkernel)kernel));
    CU_OK(function_name(&text, function));
    assert_non_null(strstr(text, "gk_multiply_kernel"));
}

/* double *out, char a, double b, short c, struct hk_pair d */
HOSTCUDA_DRIVER_TEST(test_parameter_places)
{
    static const size_t offsets[] = {0, 8, 16, 24, 32}, sizes[] = {8, 1, 8, 2, 16};
    cudaFunction_t function = NULL;
    cudaKernel_t kernel = NULL;
    size_t offset = 0, size = 0;
    double *out = device_memory(5 * sizeof *out);
    OK(hk_parameters(out, 1, 2, 3, (struct hk_pair){4, 5}, stream)); /* its first launch makes it known */
    OK(cudaStreamSynchronize(stream));
    OK(cudaFree(out));
    OK(cudaGetFuncBySymbol(&function, hk_parameters_function()));
    OK(cudaGetKernel(&kernel, hk_parameters_function()));
    for (size_t i = 0; i < 5; i++) {
        CU_OK(function_parameter(function, i, &offset, &size));
        assert_int_equal(offset, offsets[i]);
        assert_int_equal(size, sizes[i]);
        CU_OK(kernel_parameter((CUkernel)kernel, i, &offset, NULL));
        assert_int_equal(offset, offsets[i]);
    }
    CU_EXPECT(function_parameter(function, 5, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    CU_EXPECT(kernel_parameter((CUkernel)kernel, 5, &offset, &size), CUDA_ERROR_INVALID_VALUE);
}

/* ---- kernel nodes --------------------------------------------------------------------------------------------- */

static CUDA_KERNEL_NODE_PARAMS of_one_thread(const void *symbol, void **parameters, void **extra)
{
    CUDA_KERNEL_NODE_PARAMS params;
    cudaFunction_t function = NULL;
    OK(cudaGetFuncBySymbol(&function, symbol));
    memset(&params, 0, sizeof params);
    params.func = function;
    params.gridDimX = params.gridDimY = params.gridDimZ = 1;
    params.blockDimX = params.blockDimY = params.blockDimZ = 1;
    params.kernelParams = parameters;
    params.extra = extra;
    return params;
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
    cudaGraphExec_t exec = NULL;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    int value = run(exec, start);
    OK(cudaGraphExecDestroy(exec));
    return value;
}

HOSTCUDA_DRIVER_TEST(test_captured_node)
{
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    size_t count = 1;
    CUDA_KERNEL_NODE_PARAMS params;
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    const char *text = NULL;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(gk_add(x, 5, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphGetNodes(graph, &node, &count));
    CU_OK(node_type(node, &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_KERNEL);
    CU_OK(get_params(node, &params));
    CU_OK(params.func ? function_name(&text, params.func) : kernel_name(&text, params.kern));
    assert_non_null(strstr(text, "gk_add_kernel"));
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
    OK(cudaGraphDestroy(graph));
}

HOSTCUDA_DRIVER_TEST(test_packed_parameters)
{
    cudaGraph_t graph = NULL;
    CUgraphNode node = NULL;
    struct gk_parameters packed = {x, 7};
    size_t bytes = PACKED_BYTES;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    CUDA_KERNEL_NODE_PARAMS params = of_one_thread(gk_add_function(), NULL, extra), got;
    OK(cudaGraphCreate(&graph, 0));
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
    OK(cudaGraphDestroy(graph));
}

HOSTCUDA_DRIVER_TEST(test_both_forms_are_refused)
{
    cudaGraph_t graph = NULL;
    CUgraphNode node = NULL;
    struct gk_parameters packed = {x, 7};
    size_t bytes = PACKED_BYTES;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    void *parameters[] = {&packed.x, &packed.value};
    CUDA_KERNEL_NODE_PARAMS params = of_one_thread(gk_add_function(), parameters, extra);
    OK(cudaGraphCreate(&graph, 0));
    CU_EXPECT(add_kernel_node(&node, graph, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
    params.extra = NULL;
    params.gridDimX = 0;
    CU_EXPECT(add_kernel_node(&node, graph, NULL, 0, &params), CUDA_ERROR_INVALID_VALUE);
    OK(cudaGetLastError()); /* the runtime hears nothing of it */
    OK(cudaGraphDestroy(graph));
}

HOSTCUDA_DRIVER_TEST(test_launch_of_a_buffer)
{
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    cudaFunction_t function = NULL;
    cudaKernel_t kernel = NULL;
    size_t count = 1, bytes = PACKED_BYTES;
    CUDA_KERNEL_NODE_PARAMS params;
    struct gk_parameters packed = {x, 3};
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    OK(cudaGetFuncBySymbol(&function, gk_multiply_function()));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    CU_OK(launch_kernel(function, 1, 1, 1, 1, 1, 1, 0, stream, NULL, extra));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphGetNodes(graph, &node, &count));
    CU_OK(get_params(node, &params));
    assert_null(params.kernelParams);
    const struct gk_parameters *held = part_of(params.extra, CU_LAUNCH_PARAM_BUFFER_POINTER);
    assert_int_equal(held->value, 3);
    assert_int_equal(instantiate_and_run(graph, 5), 15);
    OK(cudaGraphDestroy(graph));
    /* outside a capture, and by the other handle */
    void *parameters[] = {&packed.x, &packed.value};
    OK(cudaGetKernel(&kernel, gk_multiply_function()));
    CU_OK(launch_kernel((CUfunction)kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
    assert_int_equal(read_int(x, stream), 45);
    CU_EXPECT(launch_kernel(function, 0, 1, 1, 1, 1, 1, 0, stream, parameters, NULL), CUDA_ERROR_INVALID_VALUE);
}

/* A buffer may be shorter than the parameters, not longer: the padding behind them is no part of them. */
HOSTCUDA_DRIVER_TEST(test_sizes_of_a_buffer)
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
    struct gk_parameters packed = {x, 3};
    size_t bytes = 0, count = 0;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    const CUDA_KERNEL_NODE_PARAMS params = of_one_thread(gk_add_function(), NULL, extra);
    CUDA_KERNEL_NODE_PARAMS got;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cudaGraph_t graph = NULL;
        CUgraphNode node = NULL;
        int before = read_int(x, stream), added = cases[i].launched ? 0 : 3;
        bytes = cases[i].bytes;
        CU_EXPECT(launch_kernel(params.func, 1, 1, 1, 1, 1, 1, 0, stream, NULL, extra), cases[i].launched);
        assert_int_equal(read_int(x, stream), before + added);
        OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        CU_EXPECT(launch_kernel(params.func, 1, 1, 1, 1, 1, 1, 0, stream, NULL, extra), cases[i].captured);
        OK(cudaStreamEndCapture(stream, &graph)); /* a refusal does not spoil it */
        OK(cudaGraphGetNodes(graph, NULL, &count));
        assert_int_equal(count, cases[i].captured ? 0 : 1);
        CU_EXPECT(add_kernel_node(&node, graph, NULL, 0, &params), cases[i].captured);
        if (node) {
            CU_OK(get_params(node, &got));
            assert_int_equal(*(size_t *)part_of(got.extra, CU_LAUNCH_PARAM_BUFFER_SIZE), bytes);
        }
        OK(cudaGraphDestroy(graph));
    }
}

/* Lists that say nothing, or half of it. */
HOSTCUDA_DRIVER_TEST(test_lists_without_a_buffer)
{
    struct gk_parameters packed = {x, 3};
    size_t bytes = PACKED_BYTES;
    void *parameters[] = {&packed.x, &packed.value};
    void *whole[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    void *empty[] = {CU_LAUNCH_PARAM_END};
    void *no_size[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_END};
    void *no_buffer[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    struct {
        void **parameters, **extra;
        CUresult expected;
    } cases[] = {
        {parameters, empty, CUDA_SUCCESS},           {parameters, whole, CUDA_ERROR_INVALID_VALUE},
        {NULL, empty, CUDA_ERROR_INVALID_VALUE},     {NULL, no_size, CUDA_ERROR_INVALID_VALUE},
        {NULL, no_buffer, CUDA_ERROR_INVALID_VALUE}, {NULL, NULL, CUDA_ERROR_INVALID_VALUE},
    };
    cudaFunction_t function = NULL;
    OK(cudaGetFuncBySymbol(&function, gk_add_function()));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int before = read_int(x, stream);
        CU_EXPECT(launch_kernel(function, 1, 1, 1, 1, 1, 1, 0, stream, cases[i].parameters, cases[i].extra),
                  cases[i].expected);
        assert_int_equal(read_int(x, stream), before + (cases[i].expected ? 0 : 3));
    }
}

/* A node tells both handles of a kernel of the program, and takes each in its own place only. */
HOSTCUDA_DRIVER_TEST(test_handles_of_a_node)
{
    cudaGraph_t graph = NULL;
    cudaKernel_t kernel = NULL;
    CUgraphNode node = NULL;
    int value = 4;
    void *parameters[] = {&x, &value};
    CUDA_KERNEL_NODE_PARAMS params = of_one_thread(gk_add_function(), parameters, NULL), got;
    const char *text = NULL;
    OK(cudaGetKernel(&kernel, gk_add_function()));
    OK(cudaGraphCreate(&graph, 0));
    params.func = NULL;
    params.kern = (CUkernel)kernel;
    CU_OK(add_kernel_node(&node, graph, NULL, 0, &params));
    CU_OK(get_params(node, &got));
    CU_OK(function_name(&text, got.func));
    assert_non_null(strstr(text, "gk_add_kernel"));
    CU_OK(kernel_name(&text, got.kern));
    assert_non_null(strstr(text, "gk_add_kernel"));
    assert_int_equal(instantiate_and_run(graph, 30), 34);
    params.func = (CUfunction)kernel;
    params.kern = NULL;
    CU_EXPECT(add_kernel_node(&node, graph, NULL, 0, &params), CUDA_ERROR_INVALID_HANDLE);
    params.func = NULL;
    CU_EXPECT(add_kernel_node(&node, graph, NULL, 0, &params), CUDA_ERROR_INVALID_HANDLE);
    OK(cudaGraphDestroy(graph));
}

HOSTCUDA_DRIVER_TEST(test_executable_node)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    CUgraphNode node = NULL;
    int value = 2;
    void *parameters[] = {&x, &value};
    CUDA_KERNEL_NODE_PARAMS params = of_one_thread(gk_multiply_function(), parameters, NULL);
    OK(cudaGraphCreate(&graph, 0));
    CU_OK(add_kernel_node(&node, graph, NULL, 0, &params));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    assert_int_equal(run(exec, 21), 42);
    value = 3;
    CU_OK(exec_set_params(exec, node, &params));
    assert_int_equal(run(exec, 21), 63);
    OK(cudaGraphExecDestroy(exec));
    assert_int_equal(instantiate_and_run(graph, 21), 42); /* the graph itself is as before */
    OK(cudaGraphDestroy(graph));
}

/* What a debugger does: each node alone, in a graph of its own. */
HOSTCUDA_DRIVER_TEST(test_one_node_alone)
{
    cudaGraph_t graph = NULL, alone = NULL;
    cudaGraphNode_t nodes[2];
    CUgraphNode copy = NULL;
    size_t count = 2;
    CUDA_KERNEL_NODE_PARAMS params;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(gk_add(x, 1, stream));
    OK(gk_add(x, 10, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphGetNodes(graph, nodes, &count));
    CU_OK(get_params(nodes[1], &params));
    OK(cudaGraphCreate(&alone, 0));
    CU_OK(add_kernel_node(&copy, alone, NULL, 0, &params));
    CU_OK(copy_attributes(copy, nodes[1]));
    OK(cudaGraphDestroy(graph));
    assert_int_equal(instantiate_and_run(alone, 0), 10);
    OK(cudaGraphDestroy(alone));
}

HOSTCUDA_DRIVER_TEST(test_other_nodes_have_no_kernel)
{
    cudaGraph_t graph = NULL;
    cudaGraphNode_t empty = NULL;
    CUDA_KERNEL_NODE_PARAMS params;
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_KERNEL;
    OK(cudaGraphCreate(&graph, 0));
    OK(cudaGraphAddEmptyNode(&empty, graph, NULL, 0));
    CU_OK(node_type(empty, &type));
    assert_int_equal(type, CU_GRAPH_NODE_TYPE_EMPTY);
    CU_EXPECT(get_params(empty, &params), CUDA_ERROR_INVALID_VALUE);
    OK(cudaGraphDestroy(graph));
}

/* What the driver says of a capture is what the runtime says. */
HOSTCUDA_DRIVER_TEST(test_capture_info)
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
    CU_EXPECT(capture_info(stream, NULL, NULL, NULL, NULL, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
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

TEST_GROUP(setup, teardown);
