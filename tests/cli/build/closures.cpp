/* A graph is captured in a function that has returned when it is replayed. "value": its lambda holds values;
 * "reference": it refers to a local variable of that function, which is a mistake. */
#include <breakgraph/breakgraph.hpp>

#include <cstdio>
#include <cstring>

static int seen;

__attribute__((noinline)) static void capture(bg::graph &graph, cudaStream_t stream, bool by_reference)
{
    int number = 41;
    std::string text(100, 'x'); /* on the heap, and copied with the closure */
    bg::check(graph.capture(stream, [&](cudaStream_t s) {
        if (by_reference)
            bg::eager(s, "add", {}, [&](cudaStream_t) { seen += number; });
        else
            bg::eager(s, "add", {}, [=](cudaStream_t) { seen += number + (text.size() == 100 ? 0 : 1); });
    }));
}

int main(int count, char **arguments)
try {
    cudaStream_t stream = nullptr;
    bg::graph graph;
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess)
        return 3;
    capture(graph, stream, count > 1 && std::strcmp(arguments[1], "reference") == 0);
    for (int i = 0; i < 2; i++)
        bg::check(graph.replay(stream));
    graph.reset();
    std::printf("seen %d\n", seen);
    return cudaStreamDestroy(stream) != cudaSuccess;
} catch (const std::exception &e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
