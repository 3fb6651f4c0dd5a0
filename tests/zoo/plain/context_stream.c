/* A part of a model runs in a context with fewer multiprocessors, which has a stream of its own. Leaving the context
 * lets the outer stream wait, but does not make it the current one again: the capture ends on the context's stream.
 *
 * expect: cudaStreamEndCapture another stream | cudaStreamEndCapture origin | cudaStreamEndCapture unmatched
 * culprit: cudaStreamEndCapture
 * innocent: scale#0
 * source: pytorch/pytorch#170317
 * symptom: error
 * needs: - */
#include "tests/zoo/zoo.h"

enum { N = 64, BYTES = N * sizeof(float) };

typedef struct model {
    float *x, *hidden, *y;
} model;

static cudaStream_t current; /* on which all work is launched */
static struct {
    cudaStream_t stream, outer;
    cudaEvent_t entered, left;
} context;

static void enter(void)
{
    context.outer = current;
    CHECK(cudaEventRecord(context.entered, context.outer));
    CHECK(cudaStreamWaitEvent(context.stream, context.entered, 0));
    current = context.stream;
}

static void leave(void)
{
    CHECK(cudaEventRecord(context.left, context.stream));
    CHECK(cudaStreamWaitEvent(context.outer, context.left, 0));
    if (zoo.correct)
        current = context.outer;
}

static void forward(const model *m)
{
    enter();
    CHECK(zoo_scale(m->hidden, m->x, 2, N, current));
    leave();
    CHECK(zoo_add(m->y, m->hidden, m->x, N, current));
}

static void capture(const model *m, cudaGraphExec_t *exec)
{
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(current, cudaStreamCaptureModeGlobal));
    forward(m);
    /* CULPRIT */
    CHECK(cudaStreamEndCapture(current, &graph));
    CHECK(cudaGraphInstantiate(exec, graph, 0));
    CHECK(cudaGraphDestroy(graph));
}

int main(int argc, char **argv)
{
    cudaGraphExec_t exec;
    model m;

    zoo_begin(argc, argv);
    current = zoo.stream;
    context.stream = zoo.side;
    CHECK(cudaEventCreateWithFlags(&context.entered, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&context.left, cudaEventDisableTiming));
    CHECK(cudaMalloc((void **)&m.x, BYTES));
    CHECK(cudaMalloc((void **)&m.hidden, BYTES));
    CHECK(cudaMalloc((void **)&m.y, BYTES));
    CHECK(zoo_fill(m.x, 1, N, zoo.stream));
    capture(&m, &exec);
    CHECK(cudaGraphLaunch(exec, zoo.stream));
    return zoo_end(m.y, N, 3);
}
