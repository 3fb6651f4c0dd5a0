/* The driver's functions beside the runtime's: what one makes the other knows, and both answer alike. */
#include "tests/support/cuda_support.h"

#include <string.h>

#include "tests/support/kernels/graph_kernels.h"

DRIVER_ENTRY(cu_ctx_get_current, cuCtxGetCurrent, 4000);
DRIVER_ENTRY(cu_ctx_get_device, cuCtxGetDevice, 2000);
DRIVER_ENTRY(cu_ctx_set_current, cuCtxSetCurrent, 4000);
DRIVER_ENTRY(cu_device_attribute, cuDeviceGetAttribute, 2000);
DRIVER_ENTRY(cu_device_uuid, cuDeviceGetUuid, 11040);
DRIVER_ENTRY(cu_primary_retain, cuDevicePrimaryCtxRetain, 7000);
DRIVER_ENTRY(cu_primary_release, cuDevicePrimaryCtxRelease, 11000);
DRIVER_ENTRY(cu_default_pool, cuDeviceGetDefaultMemPool, 11020);
DRIVER_ENTRY(cu_event_create, cuEventCreate, 2000);
DRIVER_ENTRY(cu_event_record, cuEventRecord, 2000);
DRIVER_ENTRY(cu_event_query, cuEventQuery, 2000);
DRIVER_ENTRY(cu_event_destroy, cuEventDestroy, 4000);
DRIVER_ENTRY(cu_graph_add_child, cuGraphAddChildGraphNode, 10000);
DRIVER_ENTRY(cu_graph_add_host, cuGraphAddHostNode, 10000);
DRIVER_ENTRY(cu_graph_add_memcpy, cuGraphAddMemcpyNode, 10000);
DRIVER_ENTRY(cu_graph_add_memset, cuGraphAddMemsetNode, 10000);
DRIVER_ENTRY(cu_graph_add_node, cuGraphAddNode, 12030);
DRIVER_ENTRY(cu_graph_clone, cuGraphClone, 10000);
DRIVER_ENTRY(cu_graph_create, cuGraphCreate, 10000);
DRIVER_ENTRY(cu_graph_destroy, cuGraphDestroy, 10000);
DRIVER_ENTRY(cu_graph_edges, cuGraphGetEdges, 12030);
DRIVER_ENTRY(cu_graph_find, cuGraphNodeFindInClone, 10000);
DRIVER_ENTRY(cu_graph_launch, cuGraphLaunch, 10000);
DRIVER_ENTRY(cu_graph_nodes, cuGraphGetNodes, 10000);
DRIVER_ENTRY(cu_exec_destroy, cuGraphExecDestroy, 10000);
DRIVER_ENTRY(cu_exec_enable, cuGraphNodeSetEnabled, 11060);
DRIVER_ENTRY(cu_exec_set_memset, cuGraphExecMemsetNodeSetParams, 10020);
DRIVER_ENTRY(cu_exec_set_node, cuGraphExecNodeSetParams, 12020);
DRIVER_ENTRY(cu_exec_update, cuGraphExecUpdate, 12000);
DRIVER_ENTRY(cu_instantiate, cuGraphInstantiateWithFlags, 11040);
DRIVER_ENTRY(cu_memcpy_params, cuGraphMemcpyNodeGetParams, 10000);
DRIVER_ENTRY(cu_memset_params, cuGraphMemsetNodeGetParams, 10000);
DRIVER_ENTRY(cu_launch_host, cuLaunchHostFunc, 10000);
DRIVER_ENTRY(cu_launch_kernel, cuLaunchKernel, 4000);
DRIVER_ENTRY(cu_launch_kernel_ex, cuLaunchKernelEx, 11060);
DRIVER_ENTRY(cu_mem_alloc, cuMemAlloc, 3020);
DRIVER_ENTRY(cu_mem_alloc_async, cuMemAllocAsync, 11020);
DRIVER_ENTRY(cu_mem_alloc_from, cuMemAllocFromPoolAsync, 11020);
DRIVER_ENTRY(cu_mem_alloc_host, cuMemAllocHost, 3020);
DRIVER_ENTRY(cu_mem_alloc_pitch, cuMemAllocPitch, 3020);
DRIVER_ENTRY(cu_mem_free, cuMemFree, 3020);
DRIVER_ENTRY(cu_mem_free_async, cuMemFreeAsync, 11020);
DRIVER_ENTRY(cu_mem_free_host, cuMemFreeHost, 2000);
DRIVER_ENTRY(cu_copy, cuMemcpy, 4000);
DRIVER_ENTRY(cu_copy_2d, cuMemcpy2D, 3020);
DRIVER_ENTRY(cu_copy_down, cuMemcpyDtoH, 3020);
DRIVER_ENTRY(cu_copy_up_async, cuMemcpyHtoDAsync, 3020);
DRIVER_ENTRY(cu_fill_16, cuMemsetD16, 3020);
DRIVER_ENTRY(cu_fill_2d_32, cuMemsetD2D32, 3020);
DRIVER_ENTRY(cu_fill_32_async, cuMemsetD32Async, 3020);
DRIVER_ENTRY(cu_fill_8, cuMemsetD8, 3020);
DRIVER_ENTRY(cu_pointer_attribute, cuPointerGetAttribute, 4000);
DRIVER_ENTRY(cu_stream_begin, cuStreamBeginCapture, 10010);
DRIVER_ENTRY(cu_stream_create, cuStreamCreate, 2000);
DRIVER_ENTRY(cu_stream_destroy, cuStreamDestroy, 4000);
DRIVER_ENTRY(cu_stream_end, cuStreamEndCapture, 10000);
DRIVER_ENTRY(cu_stream_id, cuStreamGetId, 12000);
DRIVER_ENTRY(cu_stream_info, cuStreamGetCaptureInfo, 12030);
DRIVER_ENTRY(cu_stream_status, cuStreamIsCapturing, 10000);
DRIVER_ENTRY(cu_stream_synchronize, cuStreamSynchronize, 2000);
DRIVER_ENTRY(cu_stream_wait, cuStreamWaitEvent, 3020);
DRIVER_ENTRY(cu_exchange_mode, cuThreadExchangeStreamCaptureMode, 10010);
SHARED_MEMORY(int, x, 1024);

static CUstream stream;

static int new_stream(void **state)
{
    (void)state;
    OK(cudaMemset(x, 0, 1024 * sizeof *x));
    OK(cudaDeviceSynchronize()); /* the stream does not wait for the legacy stream */
    CU_OK(cu_stream_create(&stream, CU_STREAM_NON_BLOCKING));
    return 0;
}

static int end_stream(void **state)
{
    (void)state;
    CU_OK(cu_stream_destroy(stream));
    cudaGetLastError(); /* a failed test's */
    return 0;
}

#define HOSTCUDA_ENTRIES_TEST(name) TEST_F(name, new_stream, end_stream, void *state)

/* ---- both see one device ---------------------------------------------------------------------------------------- */

HOSTCUDA_ENTRIES_TEST(test_devices_and_contexts)
{
    CUcontext current = NULL, primary = NULL;
    CUdevice device = -1;
    CUuuid uuid;
    struct cudaDeviceProp properties;
    int major = 0;
    CU_OK(cu_ctx_get_current(&current));
    CU_OK(cu_ctx_get_device(&device));
    assert_int_equal(device, 0);
    CU_OK(cu_primary_retain(&primary, device));
    assert_ptr_equal(primary, current);
    CU_OK(cu_ctx_set_current(primary));
    CU_OK(cu_primary_release(device));
    OK(cudaGetDeviceProperties(&properties, device));
    CU_OK(cu_device_uuid(&uuid, device));
    assert_memory_equal(&uuid, &properties.uuid, sizeof uuid);
    CU_OK(cu_device_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    assert_int_equal(major, properties.major);
    CU_EXPECT(cu_device_uuid(&uuid, 1000), CUDA_ERROR_INVALID_DEVICE);
    CU_INVALID(cu_ctx_get_current(NULL));
}

/* Another host device in the process would count its streams and allocations anew. */
HOSTCUDA_ENTRIES_TEST(test_ids)
{
    unsigned long long by_driver = 0, by_runtime = 0, buffer[2] = {0};
    CUdeviceptr memory = 0;
    void *more = NULL;
    struct cudaPointerAttributes attributes;
    CU_OK(cu_stream_id(stream, &by_driver));
    OK(cudaStreamGetId(stream, &by_runtime));
    assert_int_equal(by_driver, by_runtime);
    CU_OK(cu_mem_alloc(&memory, 64));
    OK(cudaMalloc(&more, 64));
    CU_OK(cu_pointer_attribute(&buffer[0], CU_POINTER_ATTRIBUTE_BUFFER_ID, memory));
    CU_OK(cu_pointer_attribute(&buffer[1], CU_POINTER_ATTRIBUTE_BUFFER_ID, address_of(more)));
    assert_true(buffer[0] < buffer[1]);
    OK(cudaPointerGetAttributes(&attributes, (void *)(uintptr_t)memory));
    assert_int_equal(attributes.type, cudaMemoryTypeDevice);
    OK(cudaFree((void *)(uintptr_t)memory));
    CU_OK(cu_mem_free(address_of(more)));
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

HOSTCUDA_ENTRIES_TEST(test_memory)
{
    CUdeviceptr memory = 0;
    size_t pitch = 0;
    void *host = NULL;
    CUmemoryPool pool = NULL;
    CU_INVALID(cu_mem_alloc(&memory, 0)); /* the runtime gives NULL, and no error */
    OK(cudaMalloc(&host, 0));
    assert_null(host);
    CU_INVALID(cu_mem_free(address_of(&memory)));
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);

    CU_OK(cu_mem_alloc_host(&host, 64));
    *(int *)host = 41;
    CU_OK(cu_copy_up_async(address_of(x), host, sizeof(int), stream));
    CU_OK(cu_stream_synchronize(stream));
    *(int *)host = 0;
    CU_OK(cu_copy_down(host, address_of(x), sizeof(int)));
    assert_int_equal(*(int *)host, 41);
    CU_OK(cu_copy(address_of(x + 1), address_of(x), sizeof(int)));
    assert_int_equal(read_int(x + 1, stream), 41);
    CU_OK(cu_mem_free_host(host));

    CU_OK(cu_mem_alloc_pitch(&memory, &pitch, 100, 3, 4));
    assert_true(pitch >= 100 && pitch % 16 == 0);
    CU_OK(cu_mem_free(memory));
    CU_OK(cu_mem_alloc_async(&memory, 64, stream));
    CU_OK(cu_mem_free_async(memory, stream));
    CU_OK(cu_default_pool(&pool, 0));
    CU_OK(cu_mem_alloc_from(&memory, 64, pool, stream));
    OK(cudaFreeAsync((void *)(uintptr_t)memory, stream));
    CU_OK(cu_stream_synchronize(stream));
}

HOSTCUDA_ENTRIES_TEST(test_copies_and_fills)
{
    int rows[3][4], host[4] = {1, 2, 3, 4};
    CU_OK(cu_fill_8(address_of(x), 0x11, 4));
    CU_OK(cu_fill_16(address_of(x + 1), 0x2222, 2));
    CU_OK(cu_fill_32_async(address_of(x + 2), 0x33333333, 2, stream));
    assert_int_equal(read_int(x, stream), 0x11111111);
    assert_int_equal(read_int(x + 1, stream), 0x22222222);
    assert_int_equal(read_int(x + 3, stream), 0x33333333);
    CU_OK(cu_fill_2d_32(address_of(x), sizeof rows[0], 7, 2, 3));
    OK(cudaMemcpy(rows, x, sizeof rows, cudaMemcpyDeviceToHost));
    assert_int_equal(rows[2][1], 7);
    assert_int_not_equal(rows[0][2], 7);

    /* of 2 rows the second column, into the third */
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = host,
                          .srcXInBytes = sizeof(int),
                          .srcPitch = 2 * sizeof(int),
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = address_of(x),
                          .dstXInBytes = 2 * sizeof(int),
                          .dstPitch = sizeof rows[0],
                          .WidthInBytes = sizeof(int),
                          .Height = 2};
    CU_OK(cu_copy_2d(&copy));
    OK(cudaMemcpy(rows, x, sizeof rows, cudaMemcpyDeviceToHost));
    assert_int_equal(rows[0][2], 2);
    assert_int_equal(rows[1][2], 4);
    copy.dstPitch = 1; /* which the runtime calls an invalid pitch */
    CU_INVALID(cu_copy_2d(&copy));
}

/* ---- captures and graphs ----------------------------------------------------------------------------------------- */

/* *x becomes 9 + 5 + 5; calls is counted up. */
static CUgraph capture(int *calls)
{
    CUgraph graph = NULL;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    cuuint64_t by_driver = 0;
    unsigned long long by_runtime = 0;
    enum cudaStreamCaptureStatus runtime_status;
    cudaFunction_t function = function_of(gk_add_function());
    int value = 5;
    void *parameters[] = {&x, &value};
    const CUlaunchConfig config = {1, 1, 1, 1, 1, 1, .hStream = stream};
    CU_OK(cu_stream_begin(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CU_OK(cu_stream_info(stream, &status, &by_driver, NULL, NULL, NULL, NULL));
    OK(cudaStreamGetCaptureInfo(stream, &runtime_status, &by_runtime, NULL, NULL, NULL, NULL));
    assert_int_equal(status, runtime_status);
    assert_int_equal(by_driver, by_runtime);
    CU_OK(cu_fill_32_async(address_of(x), 9, 1, stream));
    CU_OK(cu_launch_kernel(function, 1, 1, 1, 1, 1, 1, 0, stream, parameters, NULL));
    CU_OK(cu_launch_kernel_ex(&config, function, parameters, NULL));
    CU_OK(cu_launch_host(stream, count_up, calls));
    CU_OK(cu_stream_end(stream, &graph));
    return graph;
}

HOSTCUDA_ENTRIES_TEST(test_capture)
{
    int calls = 0;
    GRAPH_OF(graph, capture(&calls));
    CUgraph clone = NULL;
    CUgraphNode nodes[4], copies[4], from[3], to[3], found = NULL;
    cudaGraphNode_t by_runtime[4];
    size_t count = 4, edges = 3;
    CUgraphExec exec = NULL;
    CU_OK(cu_graph_nodes(graph, nodes, &count));
    OK(cudaGraphGetNodes(graph, by_runtime, &count));
    assert_int_equal(count, 4);
    assert_memory_equal(nodes, by_runtime, sizeof nodes);
    CU_OK(cu_graph_edges(graph, from, to, NULL, &edges));
    assert_int_equal(edges, 3);
    assert_ptr_equal(from[0], nodes[0]);
    CU_OK(cu_graph_clone(&clone, graph));
    CU_OK(cu_graph_find(&found, nodes[2], clone));
    CU_OK(cu_graph_nodes(clone, copies, &count));
    assert_ptr_equal(found, copies[2]);

    CU_OK(cu_instantiate(&exec, graph, 0));
    CU_OK(cu_graph_launch(exec, stream));
    assert_int_equal(read_int(x, stream), 19);
    assert_int_equal(calls, 1);
    OK(cudaGraphLaunch(exec, stream));
    assert_int_equal(read_int(x, stream), 19);
    CU_OK(cu_exec_enable(exec, nodes[1], 0));
    CU_OK(cu_graph_launch(exec, stream));
    assert_int_equal(read_int(x, stream), 14);
    CUgraphExecUpdateResultInfo info;
    CU_OK(cu_exec_update(exec, clone, &info));
    assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    CU_OK(cu_exec_destroy(exec));
    CU_OK(cu_graph_destroy(clone));
}

/* A rule of captures that is broken through the driver spoils the capture, and is no error of the runtime's. */
HOSTCUDA_ENTRIES_TEST(test_rules)
{
    CUdeviceptr memory = 0;
    CUgraph graph = NULL;
    CUevent event = NULL;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CU_OK(cu_event_create(&event, CU_EVENT_DISABLE_TIMING));
    CU_OK(cu_event_record(event, stream));
    CU_OK(cu_stream_begin(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    CU_OK(cu_exchange_mode(&mode));
    assert_int_equal(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
    CU_OK(cu_mem_alloc(&memory, 64)); /* relaxed */
    CU_OK(cu_exchange_mode(&mode));
    CU_OK(cu_stream_status(stream, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CU_EXPECT(cu_stream_wait(stream, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    CU_OK(cu_stream_status(stream, &status));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    CU_EXPECT(cu_stream_end(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_null(graph);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    CU_OK(cu_stream_synchronize(stream));
    CU_OK(cu_event_query(event));
    CU_OK(cu_event_destroy(event));
    CU_OK(cu_mem_free(memory));
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

HOSTCUDA_ENTRIES_TEST(test_nodes)
{
    CUcontext context = NULL;
    CUgraph graph = NULL, child = NULL;
    CUgraphNode fill = NULL, copy = NULL, host = NULL, inner = NULL, any = NULL;
    CUgraphExec exec = NULL;
    int calls = 0;
    CU_OK(cu_ctx_get_current(&context));
    CU_OK(cu_graph_create(&graph, 0));
    CU_OK(cu_graph_create(&child, 0));
    CUDA_MEMSET_NODE_PARAMS fill_params = {address_of(x), 0, 6, sizeof(int), 1, 1}, fill_found;
    CU_OK(cu_graph_add_memset(&fill, graph, NULL, 0, &fill_params, context));
    struct cudaMemsetParams by_runtime;
    OK(cudaGraphMemsetNodeGetParams(fill, &by_runtime));
    assert_ptr_equal(by_runtime.dst, x);
    assert_int_equal(by_runtime.value, 6);
    CU_OK(cu_memset_params(fill, &fill_found));
    assert_int_equal(fill_found.elementSize, sizeof(int));

    CUDA_MEMCPY3D copy_params = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .srcDevice = address_of(x),
                                 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .dstDevice = address_of(x + 1),
                                 .WidthInBytes = sizeof(int),
                                 .Height = 1,
                                 .Depth = 1};
    CU_OK(cu_graph_add_memcpy(&copy, graph, &fill, 1, &copy_params, context));
    struct cudaMemcpy3DParms copy_found;
    OK(cudaGraphMemcpyNodeGetParams(copy, &copy_found));
    assert_ptr_equal(copy_found.dstPtr.ptr, x + 1);
    assert_int_equal(copy_found.kind, cudaMemcpyDeviceToDevice);
    memset(&copy_params, 0, sizeof copy_params);
    CU_OK(cu_memcpy_params(copy, &copy_params));
    assert_int_equal(copy_params.srcDevice, address_of(x));
    assert_int_equal(copy_params.WidthInBytes, sizeof(int));

    CUDA_HOST_NODE_PARAMS host_params = {count_up, &calls};
    CU_OK(cu_graph_add_host(&host, child, NULL, 0, &host_params));
    CU_OK(cu_graph_add_child(&inner, graph, &copy, 1, child));
    CUgraphNodeParams any_params = {.type = CU_GRAPH_NODE_TYPE_MEMSET};
    any_params.memset = (CUDA_MEMSET_NODE_PARAMS_v2){address_of(x + 2), 0, 8, sizeof(int), 1, 1, NULL};
    CU_OK(cu_graph_add_node(&any, graph, &copy, NULL, 1, &any_params));

    CU_OK(cu_instantiate(&exec, graph, 0));
    CU_OK(cu_graph_launch(exec, stream));
    assert_int_equal(read_int(x + 1, stream), 6);
    assert_int_equal(read_int(x + 2, stream), 8);
    assert_int_equal(calls, 1);
    fill_params.value = 60;
    CU_OK(cu_exec_set_memset(exec, fill, &fill_params, context));
    any_params.memset.value = 80;
    CU_OK(cu_exec_set_node(exec, any, &any_params));
    CU_OK(cu_graph_launch(exec, stream));
    assert_int_equal(read_int(x + 1, stream), 60);
    assert_int_equal(read_int(x + 2, stream), 80);
    CU_OK(cu_exec_destroy(exec));
    CU_OK(cu_graph_destroy(child));
    CU_OK(cu_graph_destroy(graph));
}

/* ---- per-thread default streams ---------------------------------------------------------------------------------- */

HOSTCUDA_ENTRIES_TEST(test_per_thread)
{
    PFN_cuStreamBeginCapture_v10010 begin;
    PFN_cuStreamEndCapture_v10000 end;
    PFN_cuMemsetD32Async_v3020 fill;
    PFN_cuMemsetD8_v3020 fill_now;
    PFN_cuGraphDestroy_v10000 destroy;
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    CUgraph graph = NULL;
    driver_entry("cuStreamBeginCapture", 10010, cudaEnablePerThreadDefaultStream, &begin);
    driver_entry("cuStreamEndCapture", 10000, cudaEnablePerThreadDefaultStream, &end);
    driver_entry("cuMemsetD32Async", 7000, cudaEnablePerThreadDefaultStream, &fill);
    driver_entry("cuMemsetD8", 7000, cudaEnablePerThreadDefaultStream, &fill_now);
    driver_entry("cuGraphDestroy", 10000, cudaEnablePerThreadDefaultStream, &destroy); /* has no stream: one form */
    assert_memory_equal(&destroy, &cu_graph_destroy, sizeof destroy);
    CU_OK(begin(NULL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(cudaStreamIsCapturing(cudaStreamPerThread, &status));
    assert_int_equal(status, cudaStreamCaptureStatusActive);
    CU_OK(fill(address_of(x), 1, 1, NULL));
    CU_OK(end(NULL, &graph));
    assert_int_equal(nodes_of(graph), 1);
    CU_OK(destroy(graph));
    CU_OK(fill_now(address_of(x), 3, sizeof(int)));
    assert_int_equal(read_int(x, stream), 0x03030303);
    /* the legacy default stream cannot capture */
    CU_EXPECT(cu_stream_begin(NULL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

/* ---- of the host device alone ------------------------------------------------------------------------------------ */

/* A call of the driver counts under its own name, as the program writes it. */
HOSTCUDA_ENTRIES_TEST(test_faults)
{
    CUdeviceptr memory = 0;
    void *more = NULL;
    skip_unless(hostcuda_fail, "no faults on a GPU");
    assert_int_equal(hostcuda_fail("cuMemAlloc@2=CUDA_ERROR_OUT_OF_MEMORY"), 0);
    hostcuda_record(1);
    OK(cudaMalloc(&more, 64));
    CU_OK(cu_mem_alloc(&memory, 64));
    CU_OK(cu_mem_free(memory));
    CU_EXPECT(cu_mem_alloc(&memory, 64), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cudaFree(more));
    hostcuda_record(0);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
    assert_int_equal(hostcuda_calls("cuMemAlloc"), 2);
    assert_int_equal(hostcuda_calls("cudaMalloc"), 1);
    assert_int_equal(hostcuda_fail(NULL), 0);
}

static void call_the_driver(void *user)
{
    *(CUresult *)user = cu_stream_synchronize(NULL);
}

/* From a host function nothing is permitted, and the call around it goes on as it was. */
HOSTCUDA_ENTRIES_TEST(test_host_function)
{
    CUresult inside = CUDA_SUCCESS;
    CU_OK(cu_launch_host(stream, call_the_driver, &inside));
    CU_OK(cu_stream_synchronize(stream));
    assert_int_equal(inside, CUDA_ERROR_NOT_PERMITTED);
    assert_int_equal(cudaPeekAtLastError(), cudaSuccess);
}

TEST_GROUP(make_shared, drop_shared);
