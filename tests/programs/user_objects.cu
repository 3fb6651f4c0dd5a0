/* A graph owns the host memory that its host function reads: a user object frees it when the graph, its clone and its
 * executable graph are all gone, and not before. */
#include "program.h"

#include <atomic>
#include <chrono>
#include <thread>

struct numbers {
    int factor, calls;
};

static std::atomic<int> destroyed;
static int last_result;

static void CUDART_CB multiply(void *data)
{
    numbers *n = static_cast<numbers *>(data);
    last_result = ++n->calls * n->factor;
}

static void CUDART_CB destroy_numbers(void *data)
{
    delete static_cast<numbers *>(data);
    destroyed++;
}

/* The graph takes over the only reference. */
static cudaGraph_t make_graph(int factor)
{
    cudaGraph_t graph;
    cudaGraphNode_t node;
    cudaUserObject_t object;
    numbers *owned = new numbers{factor, 0};
    const cudaHostNodeParams params = {multiply, owned};
    CHECK(cudaUserObjectCreate(&object, owned, destroy_numbers, 1, cudaUserObjectNoDestructorSync));
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
    CHECK(cudaGraphAddHostNode(&node, graph, nullptr, 0, &params));
    return graph;
}

/* CUDA may call the destructor later, from a thread of its own. */
static void wait_until_destroyed(int count)
{
    for (int i = 0; destroyed != count && i < 10000; i++)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT(destroyed.load(), count);
    std::printf("destroyed: %d\n", count);
}

static void launch_and_print(cudaGraphExec_t exec, cudaStream_t stream, int wanted, int wanted_destroyed)
{
    launch_and_wait(exec, stream);
    EXPECT(last_result, wanted);
    EXPECT(destroyed.load(), wanted_destroyed);
    std::printf("result: %d\n", last_result);
}

int main()
{
    cudaStream_t stream = make_stream();
    cudaGraph_t clone, graph = make_graph(5);
    cudaUserObject_t object;
    CHECK(cudaGraphClone(&clone, graph));
    cudaGraphExec_t exec = instantiate(graph);
    launch_and_print(exec, stream, 5, 0);
    launch_and_print(exec, stream, 10, 0);
    CHECK(cudaGraphExecDestroy(exec));
    exec = instantiate(clone);
    launch_and_print(exec, stream, 15, 0);
    CHECK(cudaGraphExecDestroy(exec));
    wait_until_destroyed(1);

    /* The program keeps a reference of its own. */
    numbers *shared = new numbers{0, 0};
    graph = make_graph(6);
    CHECK(cudaUserObjectCreate(&object, shared, destroy_numbers, 1, cudaUserObjectNoDestructorSync));
    CHECK(cudaGraphRetainUserObject(graph, object, 2, 0));
    CHECK(cudaGraphReleaseUserObject(graph, object, 1));
    exec = instantiate(graph);
    launch_and_print(exec, stream, 6, 1);
    CHECK(cudaGraphExecDestroy(exec));
    wait_until_destroyed(2);
    shared->factor = 9;
    CHECK(cudaUserObjectRelease(object, 1));
    wait_until_destroyed(3);
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
