/* The runtime's functions as a program calls them that is compiled with CUDA 12's headers alone: without the edges'
 * data. */
#include "tests/support/cuda_support.h"

#if CUDART_VERSION < 13000
/* What include/cuda12 has made of the toolkit's names. */
#undef cudaEventElapsedTime
#undef cudaGraphAddDependencies
#undef cudaGraphAddNode
#undef cudaGraphGetEdges
#undef cudaGraphNodeGetDependencies
#undef cudaGraphNodeGetDependentNodes
#undef cudaGraphRemoveDependencies
#undef cudaStreamGetCaptureInfo
#define cudaStreamGetCaptureInfo cudaStreamGetCaptureInfo_v2
#undef cudaStreamUpdateCaptureDependencies

TEST(test_edges)
{
    struct cudaGraphNodeParams empty = {.type = cudaGraphNodeTypeEmpty};
    cudaGraphNode_t first = NULL, second = NULL, from = NULL, to = NULL, found = NULL;
    size_t count = 1;
    NEW_GRAPH(graph);
    OK(cudaGraphAddNode(&first, graph, NULL, 0, &empty));
    OK(cudaGraphAddNode(&second, graph, &first, 1, &empty));
    OK(cudaGraphGetEdges(graph, &from, &to, &count));
    assert_int_equal(count, 1);
    assert_ptr_equal(from, first);
    assert_ptr_equal(to, second);
    OK(cudaGraphNodeGetDependencies(second, &found, &count));
    assert_ptr_equal(found, first);
    OK(cudaGraphNodeGetDependentNodes(first, &found, &count));
    assert_ptr_equal(found, second);
    OK(cudaGraphRemoveDependencies(graph, &first, &second, 1));
    OK(cudaGraphGetEdges(graph, NULL, NULL, &count));
    assert_int_equal(count, 0);
    OK(cudaGraphAddDependencies(graph, &second, &first, 1));
    OK(cudaGraphNodeGetDependencies(first, NULL, &count));
    assert_int_equal(count, 1);
}

TEST(test_captures)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    OWNED_STREAM(stream);
    cudaGraph_t graph = NULL;
    cudaGraphNode_t node = NULL;
    const cudaGraphNode_t *after = NULL;
    size_t count = 7;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    BEGIN_CAPTURE(stream);
    OK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &after, &count));
    assert_int_equal(status, cudaStreamCaptureStatusActive);
    assert_int_equal(count, 0);
    OK(cudaGraphAddEmptyNode(&node, graph, NULL, 0));
    OK(cudaStreamUpdateCaptureDependencies(stream, &node, 1, cudaStreamSetCaptureDependencies));
    OK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &after, &count));
    assert_int_equal(count, 1);
    assert_ptr_equal(after[0], node);
    CAPTURED(ended, stream);
}

TEST(test_others)
{
    struct cudaDeviceProp properties;
    OWNED_EVENT(start);
    OWNED_EVENT(end);
    float ms = -1;
    int version = 0;
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&end));
    OK(cudaEventRecord(start, NULL));
    OK(cudaEventRecord(end, NULL));
    OK(cudaEventSynchronize(end));
    OK(cudaEventElapsedTime(&ms, start, end));
    assert_true(ms >= 0);
    OK(cudaGetDeviceProperties(&properties, 0));
    assert_true(properties.clockRate > 0 && properties.memoryClockRate > 0);
    OK(cudaRuntimeGetVersion(&version));
    assert_int_equal(version, CUDART_VERSION);
}
#else
#define SKIPPED_TEST(name)                                                                                             \
    TEST(name)                                                                                                         \
    {                                                                                                                  \
        print_message("skipped: the headers are not those of CUDA 12\n");                                              \
        skip();                                                                                                        \
    }
SKIPPED_TEST(test_edges)
SKIPPED_TEST(test_captures)
SKIPPED_TEST(test_others)
#endif
