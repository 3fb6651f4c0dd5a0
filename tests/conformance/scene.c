#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "scene.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "conformance_kernels.h"

void scene_step(cudaError_t error, const char *call, const char *file, int line)
{
    if (error)
        print_error("%s:%d: %s gives %s\n", file, line, call, cudaGetErrorName(error));
    _assert_true(!error, call, file, line);
}

void note(struct scene *s, int answer)
{
    assert_true(s->count < SCENE_ANSWERS_MAX);
    s->answers[s->count++] = answer;
}

void note_status(struct scene *s, cudaStream_t stream)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    STEP(cudaStreamIsCapturing(stream, &status));
    note(s, (int)status);
}

void note_end(struct scene *s, cudaStream_t stream)
{
    cudaGraph_t graph = NULL;
    cudaError_t error = cudaStreamEndCapture(stream, &graph);
    note(s, error);
    assert_true(!error == (graph != NULL));
    if (!graph)
        return;
    if (s->graph)
        STEP(cudaGraphDestroy(s->graph));
    s->graph = graph;
}

void begin(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    STEP(cudaStreamBeginCapture(stream, mode));
}

void add(struct scene *s, cudaStream_t stream)
{
    STEP(ck_add(s->x, 1, stream));
}

cudaGraph_t make_graph(struct scene *s, cudaStream_t stream)
{
    cudaGraph_t graph = NULL;
    begin(stream, THREAD_LOCAL);
    add(s, stream);
    STEP(cudaStreamEndCapture(stream, &graph));
    return graph;
}

void note_node_type(struct scene *s)
{
    cudaGraphNode_t node = NULL;
    size_t count = 1;
    enum cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
    STEP(cudaGraphGetNodes(s->graph, &node, &count));
    STEP(cudaGraphNodeGetType(node, &type));
    note(s, (int)type);
}

void fork_stream(struct scene *s, cudaStream_t from, cudaStream_t to)
{
    STEP(cudaEventRecord(s->e, from));
    STEP(cudaStreamWaitEvent(to, s->e, 0));
}

int read_x(struct scene *s)
{
    int value = 0;
    STEP(cudaDeviceSynchronize());
    STEP(cudaMemcpy(&value, s->x, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

int run_graph(struct scene *s, cudaGraph_t graph, cudaStream_t stream)
{
    cudaGraphExec_t exec = NULL;
    STEP(cudaDeviceSynchronize()); /* for what a case left on other streams */
    STEP(cudaMemset(s->x, 0, sizeof *s->x));
    STEP(cudaDeviceSynchronize());
    STEP(cudaGraphInstantiate(&exec, graph, 0));
    STEP(cudaGraphLaunch(exec, stream));
    STEP(cudaStreamSynchronize(stream));
    STEP(cudaGraphExecDestroy(exec));
    return read_x(s);
}

struct thread_call {
    cudaError_t (*call)(void *);
    void *argument;
    cudaError_t result;
};

static void *thread_main(void *data)
{
    struct thread_call *call = data;
    call->result = call->call(call->argument);
    return NULL;
}

cudaError_t in_thread(cudaError_t (*call)(void *), void *argument)
{
    struct thread_call made = {call, argument, cudaSuccess};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, thread_main, &made), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    return made.result;
}

/* ---- one case ------------------------------------------------------------------------------------------------ */

static void open_scene(struct scene *s)
{
    memset(s, 0, sizeof *s);
    STEP(cudaStreamCreateWithFlags(&s->a, cudaStreamNonBlocking));
    STEP(cudaStreamCreateWithFlags(&s->b, cudaStreamNonBlocking));
    STEP(cudaStreamCreateWithFlags(&s->c, cudaStreamNonBlocking));
    STEP(cudaStreamCreate(&s->blocking));
    STEP(cudaEventCreateWithFlags(&s->e, cudaEventDisableTiming));
    STEP(cudaEventCreateWithFlags(&s->f, cudaEventDisableTiming));
    STEP(cudaMalloc((void **)&s->x, sizeof *s->x));
    STEP(cudaMemset(s->x, 0, sizeof *s->x));
    STEP(cudaDeviceSynchronize());
}

static void end_if_capturing(cudaStream_t stream)
{
    cudaGraph_t graph = NULL;
    if (stream && cudaStreamEndCapture(stream, &graph) == cudaSuccess)
        STEP(cudaGraphDestroy(graph));
}

/* Whatever the case did: a stream can capture at once, run what it captured, and run plain work. */
static void check_usable(struct scene *s, cudaStream_t stream)
{
    cudaGraph_t graph = NULL;
    if (!stream)
        return;
    begin(stream, cudaStreamCaptureModeThreadLocal);
    STEP(ck_add(s->x, 5, stream));
    STEP(cudaStreamEndCapture(stream, &graph));
    assert_int_equal(run_graph(s, graph, stream), 5);
    STEP(cudaGraphDestroy(graph));
    STEP(ck_add(s->x, 2, stream));
    STEP(cudaStreamSynchronize(stream));
    assert_int_equal(read_x(s), 7);
}

static void close_scene(struct scene *s)
{
    cudaStream_t streams[] = {s->a, s->b, s->c, s->blocking};
    for (size_t i = 0; i < 4; i++)
        end_if_capturing(streams[i]);
    cudaGetLastError(); /* of the ends that found nothing to end */
    for (size_t i = 0; i < 4; i++) {
        check_usable(s, streams[i]);
        if (streams[i])
            STEP(cudaStreamDestroy(streams[i]));
    }
    if (s->graph)
        STEP(cudaGraphDestroy(s->graph));
    STEP(cudaEventDestroy(s->e));
    STEP(cudaEventDestroy(s->f));
    STEP(cudaFree(s->x));
    STEP(cudaGetLastError());
}

static int node_count(const struct scene *s)
{
    size_t count = 0;
    if (!s->graph)
        return NO_GRAPH;
    STEP(cudaGraphGetNodes(s->graph, NULL, &count));
    return (int)count;
}

static void compare(const struct conformance_case *c, const struct scene *s, enum cudaStreamCaptureStatus after,
                    int nodes)
{
    bool same = s->count == c->count && (int)after == c->after && nodes == c->nodes;
    for (int i = 0; i < s->count && i < c->count; i++)
        same = same && s->answers[i] == c->expected[i];
    if (same)
        return;
    for (int i = 0; i < s->count || i < c->count; i++)
        print_error("%s: answer %d: %d, expected %d\n", c->name, i, i < s->count ? s->answers[i] : -1,
                    i < c->count ? c->expected[i] : -1);
    fail_msg("%s: status after %d, expected %d; nodes %d, expected %d", c->name, (int)after, c->after, nodes, c->nodes);
}

static void check(const struct conformance_case *c)
{
    struct scene s;
    enum cudaStreamCaptureStatus after = cudaStreamCaptureStatusNone;
    open_scene(&s);
    c->run(&s);
    cudaGetLastError(); /* what the case provoked */
    if (s.a)
        STEP(cudaStreamIsCapturing(s.a, &after));
    int nodes = node_count(&s);
    close_scene(&s);
    compare(c, &s, after, nodes);
}

static void run_case(void **state)
{
    check(*state);
}

int scene_main(const char *name, const struct conformance_case *cases, size_t count)
{
    struct CMUnitTest *tests = calloc(count, sizeof *tests);
    if (!tests)
        return 1;
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){cases[i].name, run_case, NULL, NULL, (void *)(uintptr_t)&cases[i]};
    int failed = _cmocka_run_group_tests(name, tests, count, NULL, NULL);
    free(tests);
    return failed;
}
