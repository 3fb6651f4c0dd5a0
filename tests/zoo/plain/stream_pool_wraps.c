/* Branches of a graph are captured one by one, each on the next stream of a pool of 32, while the capture that they are
 * for is open. Its own stream is from the pool, too: branch 32 gets it, and cannot begin.
 *
 * expect: cudaStreamBeginCapture already | cuStreamBeginCapture already | capturing already
 * culprit: cudaStreamBeginCapture
 * innocent: scale
 * source: pytorch/pytorch#187893, pytorch/pytorch#185836
 * symptom: error
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float), POOL = 32, BRANCHES = 40 };

static cudaStream_t next_stream(void)
{
    static cudaStream_t pool[POOL];
    static int next;
    cudaStream_t *stream = &pool[next++ % POOL];
    if (*stream == NULL)
        CHECK(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    return *stream;
}

/* Pool streams are for launches; the twin gives each capture a stream that nobody else has. */
static cudaStream_t stream_for_branch(void)
{
    cudaStream_t stream;
    if (!zoo.correct)
        return next_stream();
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    return stream;
}

static void add_branch(cudaStream_t parent, float *x)
{
    cudaStream_t stream = stream_for_branch();
    enum cudaStreamCaptureStatus status;
    const cudaGraphNode_t *last;
    cudaGraphNode_t node;
    cudaGraph_t graph, branch;
    size_t count;

    /* CULPRIT */
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CHECK(zoo_scale(x, x, -1, N, stream));
    CHECK(cudaStreamEndCapture(stream, &branch));
    CHECK(cudaStreamGetCaptureInfo(parent, &status, NULL, &graph, &last, NULL, &count));
    CHECK(cudaGraphAddChildGraphNode(&node, graph, last, count, branch));
    CHECK(cudaStreamUpdateCaptureDependencies(parent, &node, NULL, 1, cudaStreamSetCaptureDependencies));
    CHECK(cudaGraphDestroy(branch));
}

int main(int argc, char **argv)
{
    cudaStream_t stream;
    cudaGraphExec_t exec;
    cudaGraph_t graph;
    float *x;

    zoo_begin(argc, argv);
    stream = next_stream();
    CHECK(cudaMalloc((void **)&x, BYTES));
    CHECK(zoo_fill(x, 1, N, stream));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    for (int i = 0; i < BRANCHES; i++)
        add_branch(stream, x);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaGraphLaunch(exec, stream));
    return zoo_end(x, N, 1);
}
